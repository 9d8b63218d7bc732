"""The manifest's JSON Schema, for editors: made from the reader's own tables, so that the two agree."""

from __future__ import annotations

import ast
import inspect
import textwrap
from dataclasses import fields
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from hatch_cuda_kernels.manifest.keys import TABLES
from hatch_cuda_kernels.options import NvrtcOptions

if TYPE_CHECKING:
    from hatch_cuda_kernels.manifest.kinds import Key, Table


def manifest_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of ``kernels.yaml``.

    It accepts what the reader accepts and refuses most of what the reader refuses; it cannot check files, releases and
    placeholders. Options are described by the docstrings under the fields of NvrtcOptions.
    """
    definitions = {name: _table_schema(keys) for name, keys in TABLES.items()}
    for name, extra in _option_notes().items():
        definitions["options"]["properties"][name] |= extra
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "kernels.yaml",
        "description": "What hatch-cuda-kernels compiles while a wheel is built.",
        **definitions.pop("manifest"),
        "$defs": definitions,
    }


def _table_schema(keys: Table) -> dict[str, Any]:
    pairs = [(name, key.instead) for name, key in keys.items() if key.instead]
    schema = {
        "type": "object",
        "properties": {name: _key_schema(key) for name, key in keys.items()},
        "required": [name for name, key in keys.items() if key.required and not key.instead],
        "additionalProperties": False,
    }
    return schema | ({"allOf": [{"oneOf": [{"required": [one]} for one in pair]} for pair in pairs]} if pairs else {})


def _key_schema(key: Key) -> dict[str, Any]:
    return key.kind.schema | ({"description": key.doc} if key.doc else {})


def _option_notes() -> dict[str, dict[str, Any]]:
    notes: dict[str, dict[str, Any]] = {name: {"description": doc} for name, doc in field_docs(NvrtcOptions).items()}
    for option in fields(NvrtcOptions):
        if isinstance(option.default, bool | str):
            notes.setdefault(option.name, {})["default"] = option.default
    return notes


def field_docs(cls: type) -> dict[str, str]:
    """Return the docstrings under a class's fields by name; none if the source is not installed."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(cls)))
    except OSError:
        return {}
    docs = {}
    for statement, below in pairwise(next(ast.iter_child_nodes(tree)).body):  # type: ignore[attr-defined]
        match statement, below:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                docs[name] = inspect.cleandoc(text)
    return docs
