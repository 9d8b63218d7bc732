"""Template arguments as a manifest spells them: outside all namespaces, where NVRTC looks their names up."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.source.library_names import enumerators

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from hatch_cuda_kernels.host_code.items import Outline, OutlineItem

__all__ = ["names_of_namespaces", "qualified"]

_ALIAS: Final = re.compile(r"\busing\s+(\w+)\s*=|\btypedef\s[^(){}]*?(\w+)\s*;")
_OPEN_ENUM: Final = re.compile(r"enum\s+(?!class\b|struct\b)")
_NESTED: Final = re.compile(r"(?<![\w:])(?:[A-Za-z_]\w*::)+[A-Za-z_]\w*")
_NAME: Final = re.compile(r"(?<!::)(?<![\w.])[A-Za-z_]\w*")


def names_of_namespaces(outlines: Iterable[Outline]) -> Mapping[str, frozenset[str]]:
    """Return the types, aliases, constants and enumerators declared outside classes, with their namespaces."""
    found: dict[str, set[str]] = defaultdict(set)
    for outline in outlines:
        for item in outline.items:
            for name in _names(item, outline) if item.class_name is None else ():
                found[name].add(item.namespace)
    return {name: frozenset(namespaces) for name, namespaces in found.items()}


def _names(item: OutlineItem, outline: Outline) -> Iterator[str]:
    declared = item.declaration
    if declared.kind == "other":
        alias = _ALIAS.search(outline.source.text, item.start, item.end)
        yield from [alias[1] or alias[2]] if alias else []
    elif declared.kind == "type" or (declared.kind == "variable" and declared.is_const):
        yield declared.name
        text = outline.source.text[item.start : item.end]
        yield from enumerators(text) if _OPEN_ENUM.match(text) else ()


def qualified(spelled: Iterable[str], kernel: str, names: Mapping[str, frozenset[str]]) -> tuple[str, ...]:
    """Return a kernel's template arguments with the namespaces of what is declared in those that it is in itself.

    A name with part of its namespaces, or none, as where it is launched, gets the rest if only one declaration can be
    meant.
    """
    inside = kernel.split("::")[:-1]
    around = ["::".join(inside[:count]) for count in range(len(inside), -1, -1)]

    def full(found: re.Match[str]) -> str:
        known = names.get(found[0], frozenset())
        only = next(iter(known)) if len(known) == 1 else ""
        namespace = next((one for one in around if one in known), only)
        return f"{namespace}::{found[0]}" if namespace else found[0]

    def whole(found: re.Match[str]) -> str:
        parts = found[0].split("::")
        for at in range(len(parts) - 1, 0, -1):
            inner, rest = "::".join(parts[:at]), "::".join(parts[at:])
            fitting = {one for one in names.get(parts[at], ()) if f"::{one}".endswith(f"::{inner}")}
            if len(fitting) == 1:
                return f"{fitting.pop()}::{rest}"
        return found[0]

    return tuple(_NESTED.sub(whole, _NAME.sub(full, part)) for part in spelled)
