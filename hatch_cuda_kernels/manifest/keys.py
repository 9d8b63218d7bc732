"""The keys of a manifest, one table for each mapping, which the reader, the JSON Schema and the reference share."""

from __future__ import annotations

import ast
import inspect
import os
import re
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import fields
from itertools import pairwise
from typing import Any, Final

from hatch_cuda_kernels.arch import ComputeCapability, parse_version
from hatch_cuda_kernels.environment import SIZE_PATTERN, parse_size
from hatch_cuda_kernels.errors import InputError, suggest
from hatch_cuda_kernels.manifest.kinds import (
    ARCHES,
    BOOLEAN,
    CPP_TEXT,
    HEADER,
    HEADERS_GLOB,
    IDENTIFIER,
    INCLUDE,
    LIBRARY,
    MACRO_VALUE,
    ONE_SOURCE,
    PACKAGE,
    SOURCE,
    STUBS,
    Item,
    Key,
    Kind,
    RefusedError,
    Spot,
    Table,
    choice,
    integer,
    items_of,
    list_of,
    map_of,
    table,
    text,
    wrong_type,
)
from hatch_cuda_kernels.manifest.model import FRONT_ENDS, PACKINGS, StatedRule
from hatch_cuda_kernels.manifest.modules import ENTRY_NAME, MOST_INSTANCES, name_modules
from hatch_cuda_kernels.manifest.yaml_text import Scalar, Sequence
from hatch_cuda_kernels.names import normalize_name, placeholders
from hatch_cuda_kernels.options import CppStd, HostCode, NvrtcOptions, extra_refusal, macro_name
from hatch_cuda_kernels.store import ExpressionError, LaunchRule, canonical, placeholders_of, python_text, split_sizes

_SIZE_TEXT: Final = {"type": ["integer", "string"], "minimum": 0}
_EXPRESSIONS: Final = ("grid", "block", "shared_mem")
_ATTRIBUTES: Final = ("cluster", "cooperative", "pdl", "priority", "carveout")
_MOST_THREADS: Final = (1 << 31) - 1


def _expression(read: Callable[[str], Any], spot: Spot) -> Any:  # what ``read`` returns
    node = spot.node
    if not isinstance(node, Scalar) or node.tag not in {"int", "str"} or not node.text:
        raise wrong_type("an integer or an expression such as 'ceil_div(n, 256)'", spot)
    try:
        return read(node.text)
    except ExpressionError as error:
        for problem in error.problems:
            spot.report(problem)
        return None


def _up_to_three(one: Kind, alone: Callable[[Spot], tuple[Any, ...] | None]) -> Kind:
    items = items_of(one, unique=False)

    def read(spot: Spot) -> tuple[Any, ...] | None:
        if not isinstance(spot.node, Sequence):
            return alone(spot)
        values = tuple(item.value for item in items.read(spot))
        if not 1 <= len(spot.node.items) <= 3:
            raise RefusedError("one to three sizes belong here")
        return values if len(values) == len(spot.node.items) else None

    return Kind(read, {"anyOf": [one.schema, {"type": "array", "items": one.schema, "maxItems": 3}]})


def _placed(kind: Kind) -> Kind:

    def read(spot: Spot) -> Item | None:
        value = kind.read(spot)
        return None if value is None else Item(value, spot)

    return Kind(read, kind.schema)


_EXPRESSION: Final = Kind(lambda spot: _expression(canonical, spot), _SIZE_TEXT)
_SIZES: Final = _placed(_up_to_three(_EXPRESSION, lambda spot: _expression(split_sizes, spot)))
_COUNT: Final = integer(1, _MOST_THREADS)
_CLUSTER: Final = _up_to_three(_COUNT, lambda spot: (_COUNT.read(spot),))
LAUNCH: Final[Table] = {
    "grid": Key(_SIZES, "Blocks: one to three integers or expressions of the arguments.", "state how many blocks"),
    "block": Key(_SIZES, "Threads of a block, in the same way.", "state how many threads a block has"),
    "shared_mem": Key(_placed(_EXPRESSION), "Bytes of dynamic shared memory: an integer or an expression."),
    "cluster": Key(_CLUSTER, "Blocks of a cluster: one to three integers."),
    "cooperative": Key(BOOLEAN, "Whether all blocks run at the same time."),
    "pdl": Key(BOOLEAN, "Programmatic dependent launch: it may start before the previous kernel has ended."),
    "priority": Key(integer(-1000, 1000), "As for streams: lower numbers first."),
    "carveout": Key(integer(0, 100), "Preferred part of the L1 cache that is shared memory, in percent."),
}
RULES: Final = map_of(table("launch", LAUNCH), keys=re.compile(r"[^\x00-\x1f\x7f]+"), key_words="a kernel's name")


def check_placeholders(module: Mapping[str, Any]) -> None:
    """Note what is wrong with the placeholders of a module's rules: each must be an axis of integers in its pattern."""
    patterns = {normalize_name(item.value): item.value for item in module.get("instances") or ()}
    matrix: Mapping[str, Item] = module.get("matrix") or {}
    for kernel, rule in (module.get("launch") or {}).items():
        known = placeholders(kernel)
        if known and normalize_name(kernel) not in patterns:
            rule.spot.report(f"no instance is written {kernel!r}{suggest(kernel, patterns.values())}")
        stated = rule.value or {}
        for sizes in (stated[key] for key in _EXPRESSIONS if stated.get(key) is not None):
            for size in sizes.value if isinstance(sizes.value, tuple) else (sizes.value,):
                for name in sorted(placeholders_of(size)):
                    _check_placeholder(name, kernel, known, matrix, sizes.spot)


def _check_placeholder(name: str, kernel: str, known: tuple[str, ...], matrix: Mapping[str, Item], spot: Spot) -> None:
    if name not in known:
        fix = suggest(name, known, "; name the rule after a pattern under instances that has it")
        spot.report(f"unknown placeholder {{{name}}} in a rule for {kernel!r}{fix}")
        return
    axis = matrix[name].value if name in matrix else None
    for value in axis or ():
        try:
            python_text(value, {}, {})
        except ExpressionError:
            spot.report(f"{{{name}}} may be {value!r}, which is not an integer")


def launch_rules(module: Mapping[str, Any]) -> tuple[StatedRule, ...]:
    """Return a valid module's rules, with the places of what they state."""
    rules = []
    for kernel, item in (module.get("launch") or {}).items():
        values: dict[str, Any] = item.value
        rule = LaunchRule(
            kernel=kernel,
            grid=values["grid"].value,
            block=values["block"].value,
            shared_mem=values["shared_mem"].value if "shared_mem" in values else "0",
            attributes={name: values[name] for name in _ATTRIBUTES if name in values},
        )
        places: dict[str, str] = {key: values[key].spot.where for key in _EXPRESSIONS if key in values}
        rules.append(StatedRule(rule=rule, where=item.spot.where, places=places))
    return tuple(rules)


_BYTES: Final = r"[1-9][0-9]{0,14}"
_SCHEMA: Final = [
    {"type": "integer", "minimum": 1, "maximum": 10**15 - 1},
    {"type": "string", "pattern": f"^{re.sub('[?]P<[a-z]+>', '?:', SIZE_PATTERN)}$"},
]


def _read_size(spot: Spot) -> int:
    node = spot.node
    pattern = {"int": _BYTES, "str": SIZE_PATTERN}.get(node.tag) if isinstance(node, Scalar) else None
    if pattern is None or not isinstance(node, Scalar) or not re.fullmatch(pattern, node.text):
        raise wrong_type("a number of bytes, or text such as '5 MB' or '5 MiB'", spot)
    return parse_size(node.text)


_SIZE: Final = Kind(_read_size, {"anyOf": _SCHEMA})
_VERSION: Final = "{version}"
_PARAMETERS: Final = r" *(?:[A-Za-z_][A-Za-z0-9_]* *(?:, *[A-Za-z_][A-Za-z0-9_]* *)*(?:, *\.\.\. *)?|\.\.\. *)?"
_MACRO: Final = re.compile(rf"{IDENTIFIER.pattern}(?:\({_PARAMETERS}\))?")
_MACROS: Final = map_of(MACRO_VALUE, keys=_MACRO, key_words="a macro such as NAME or NAME(x, y)")


def _read_define(spot: Spot) -> tuple[tuple[str, str | None], ...]:
    known: dict[str, str] = {}
    macros = []
    for name, item in _MACROS.read(spot).items():
        first = known.setdefault(macro_name(name), name)
        if first != name:
            item.spot.report(f"{first} is a macro of the same name")
        value = None if item.value is None else item.value.value
        if value is not None and _VERSION in value:
            try:
                value = value.replace(_VERSION, spot.reading.version())
            except InputError as refusal:
                item.value.spot.report(str(refusal))
        macros += [] if item.value is None else [(name, value)]
    return tuple(macros)


def _variable(_: Spot, name: str) -> str:
    value = os.environ.get(name)
    if value is None:
        raise RefusedError(f"the environment has no variable {name!r}; set it, to nothing perhaps")
    if not value.isprintable():
        raise RefusedError(f"the environment's variable {name!r} is not one line of plain text")
    return value


_VARIABLE: Final[Table] = {
    "env": Key(
        text("the name of a variable", _variable, pattern=IDENTIFIER.pattern),
        "The environment's variable that holds the value, when the manifest is read.",
        "name a variable of the environment",
    )
}
_VARIABLES: Final = map_of(table("variable", _VARIABLE), keys=IDENTIFIER, key_words="a macro's name (a C identifier)")
_DEFINE: Final = Kind(_read_define, _MACROS.schema)


def _with_macros(options: Kind) -> Kind:
    """Return the kind of options whose ``define`` has the macros of ``define_from``, too."""

    def read(spot: Spot) -> dict[str, Any]:
        values: dict[str, Any] = options.read(spot)
        stated, found = values.get("define") or (), values.pop("define_from", None) or {}
        read = tuple((name, item.value["env"]) for name, item in found.items() if item.value and "env" in item.value)
        known = {macro_name(name) for name, _ in stated}
        for name, _ in read:
            if name in known:
                spot.report(f"{name} is under define and under define_from; leave one of them out")
        return values | {"define": (*stated, *read)} if read else values

    return Kind(read, options.schema)


_RELEASE: Final = r"12\.9|13\.(?:0|[1-9][0-9]?)"
#: Their NVRTC refuses --frandom-seed, without which images differ from run to run.
_UNSEEDED: Final = re.compile(r"12\.[0-8]")
_DRIVER: Final = r"[1-9][0-9]\.(?:0|[1-9][0-9]?)"
_CAPABILITY: Final = r"[1-9][0-9]*\.[0-9]"


def _release(_: Spot, value: str) -> tuple[int, int]:
    if _UNSEEDED.fullmatch(value):
        raise RefusedError(f"NVRTC of CUDA {value} refuses an option that builds need; of CUDA 12, only 12.9 works")
    if not re.fullmatch(_RELEASE, value):
        raise RefusedError(f"{value!r} is not a CUDA release this package compiles with; write 12.9, 13.0 or newer")
    return parse_version(value)


def _driver(_: Spot, value: str) -> tuple[int, int]:
    if not re.fullmatch(_DRIVER, value):
        raise RefusedError(f"{value!r} is not a CUDA version; write it like '13.0'")
    return parse_version(value)


def _device(_: Spot, value: str) -> ComputeCapability:
    try:
        return ComputeCapability.parse(value)
    except ValueError as error:
        raise RefusedError(str(error)) from None


def _flag(_: Spot, value: str) -> str:
    refusal = extra_refusal(value)
    if refusal is not None:
        raise RefusedError(refusal)
    return value


_SPILL_BYTES: Final = integer(0, 999_999_999)
_CHUNK: Final = integer(1, MOST_INSTANCES)
_NAMES: Final = items_of(text("a C++ name"))
_COMBINATION: Final = map_of(CPP_TEXT, keys=IDENTIFIER, key_words="an axis name (a C identifier)", least=1)
_MATRIX: Final = map_of(list_of(CPP_TEXT, least=1), keys=IDENTIFIER, key_words="an axis name (a C identifier)")
#: The kinds of NvrtcOptions' fields, by name or else by type. A new flag of type bool needs no entry.
_OPTION_KINDS: Final[dict[str, Kind]] = {
    "bool": BOOLEAN,
    "bool | None": BOOLEAN,
    "std": choice(CppStd),
    "maxrregcount": integer(1, 255),
    "include": list_of(INCLUDE),
    "define": _DEFINE,
    "pre_include": list_of(HEADER),
    "extra": list_of(text("a flag", _flag), unique=False),
    "host_only": list_of(text("a C++ name, or a header as <name>")),
    "host_code": choice(HostCode),
}

_OPTIONS: Final[Table] = {
    option.name: Key(_OPTION_KINDS.get(option.name) or _OPTION_KINDS[str(option.type)])  # described by NvrtcOptions
    for option in fields(NvrtcOptions)
} | {
    "define_from": Key(_VARIABLES, "Macros whose values are read from the environment; the values are part of the key.")
}
_WITH_MACROS: Final = _with_macros(table("options", _OPTIONS))

_MODULE: Final[Table] = {
    "source": Key(
        SOURCE,
        'CUDA C++ file; every extern "C" kernel in it is found. With a * here and in the name of the module,'
        " each file is one.",
        "name the file to compile, or list several under sources",
        instead="sources",
    ),
    "sources": Key(
        list_of(ONE_SOURCE, least=1),
        "CUDA C++ files in place of source: compiled apart, and linked into one image. Names are looked for in all.",
    ),
    "libraries": Key(
        list_of(LIBRARY),
        "Device libraries to link: cudadevrt, CUDA's device runtime for launches in device code, or files (.ltoir,"
        " .fatbin, .cubin, .ptx, .a, .o).",
    ),
    "kernels": Key(_NAMES, "Kernels that must be in the image, else the build fails."),
    "instances": Key(_NAMES, "Name expressions to instantiate; {NAME} stands for each value of a matrix axis."),
    "matrix": Key(
        _MATRIX,
        "Values of the placeholders in instances and in the module's name, as C++ text; all combinations are compiled."
        " With {NAME} in the module's name, each combination is a module, and its macros may have {NAME}, too.",
    ),
    "exclude": Key(
        items_of(_COMBINATION, unique=False),
        "Combinations of the axes in the module's name to leave out: those that have all values of an item.",
    ),
    "combinations": Key(
        items_of(_COMBINATION, unique=False),
        "Combinations of the axes in the module's name besides those of the matrix: each states all these axes.",
    ),
    "chunk": Key(
        _CHUNK,
        "Maximum number of instances in one program, so that more cores share them. Default: all are one program.",
    ),
    "globals": Key(_NAMES, "__constant__ and __device__ variables the host sets."),
    "headers": Key(
        list_of(HEADERS_GLOB),
        "Patterns for headers that macros name in includes; of the matches, those are taken that macros can spell.",
    ),
    "arches": Key(ARCHES, "Architectures of this module, in place of the manifest's."),
    "options": Key(_WITH_MACROS, "Options of this module, over the manifest's."),
    "front_end": Key(
        choice(FRONT_ENDS),
        "per-arch (default): one front-end run an architecture. lto, ptx: one at the lowest architecture, finished for"
        " each from LTO-IR by nvJitLink or from PTX by ptxas.",
    ),
    "max_spill_bytes": Key(_SPILL_BYTES, "Spill limit of this module, in place of the manifest's."),
    "packing": Key(choice(PACKINGS), "How this module's images are stored, in place of the manifest's."),
    "launch": Key(RULES, "How kernels are launched, so that a call needs no brackets: by kernel, template or pattern."),
}

_SUPPORTS: Final[Table] = {
    "devices": Key(
        items_of(text("a compute capability such as '9.0'", _device, pattern=_CAPABILITY), least=1),
        "Compute capabilities every kernel must run on.",
        'list compute capabilities, such as ["9.0"]',
    ),
    "driver": Key(
        text("a CUDA version such as '13.0'", _driver, pattern=_DRIVER),
        "Oldest CUDA driver API the wheel must work on without JIT.",
    ),
}
_MODULES: Final = map_of(
    table("module", _MODULE),
    keys=ENTRY_NAME,
    key_words="a module name (letters, digits, _ and -, a *, or an {AXIS})",
    least=1,
)


def _read_schema(spot: Spot) -> int:
    if not isinstance(spot.node, Scalar) or (spot.node.tag, spot.node.text) != ("int", "1"):
        raise wrong_type("1, the version of the format that this package reads", spot)
    return 1


MANIFEST: Final[Table] = {
    "schema": Key(Kind(_read_schema, {"const": 1}), "Version of this format.", "write schema: 1"),
    "cuda": Key(
        text("a CUDA release such as '13.0'", _release, pattern=_RELEASE),
        "Toolkit release that compiles. Default: the oldest 13.x that knows every architecture listed.",
    ),
    "arches": Key(ARCHES, "What every module is compiled for. Default: all-major."),
    "options": Key(_WITH_MACROS, "NVRTC options of every module."),
    "max_spill_bytes": Key(
        _SPILL_BYTES, "Maximum bytes of spill stores and loads per thread of any kernel; more fail the build."
    ),
    "packing": Key(
        choice(PACKINGS),
        "How images are stored. none: each in a file. solid: those of a module packed together. auto (default): solid"
        " for modules of 32 KiB and more.",
    ),
    "modules": Key(
        Kind(lambda spot: name_modules(_MODULES.read(spot)), _MODULES.schema),
        "The modules by name.",
        "list at least one module",
    ),
    "supports": Key(
        table("supports", _SUPPORTS), "A promise that the build proves; if it cannot, it fails and names the gap."
    ),
    "stubs": Key(STUBS, "A .pyi file with the kernels' names and types, which a build keeps up to date."),
    "max_wheel_size": Key(
        _SIZE, "Maximum size of the wheel, in bytes or as text such as '5 MB'; a larger one fails the build."
    ),
}

#: Every mapping with known keys, by the name that other tables refer to.
TABLES: Final[dict[str, Table]] = {
    "manifest": MANIFEST,
    "module": _MODULE,
    "options": _OPTIONS,
    "variable": _VARIABLE,
    "package": PACKAGE,
    "launch": LAUNCH,
    "supports": _SUPPORTS,
}


def manifest_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of ``kernels.yaml``.

    It accepts what the reader accepts, and refuses most of what the reader refuses, but it cannot check files.
    """
    definitions = {name: _table_schema(keys) for name, keys in TABLES.items()}
    options = definitions["options"]["properties"]
    for name, doc in field_docs(NvrtcOptions).items():
        options[name] |= {"description": doc}
    for option in fields(NvrtcOptions):
        options[option.name] |= {"default": option.default} if isinstance(option.default, bool | str) else {}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "kernels.yaml",
        "description": "What hatch-cuda-kernels compiles while a wheel is built.",
        **definitions.pop("manifest"),
        "$defs": definitions,
    }


def _table_schema(keys: Table) -> dict[str, Any]:
    pairs = [(name, key.instead) for name, key in keys.items() if key.instead]
    described = {name: {"description": key.doc} if key.doc else {} for name, key in keys.items()}
    schema = {
        "type": "object",
        "properties": {name: key.kind.schema | described[name] for name, key in keys.items()},
        "required": [name for name, key in keys.items() if key.required and not key.instead],
        "additionalProperties": False,
    }
    return schema | ({"allOf": [{"oneOf": [{"required": [one]} for one in pair]} for pair in pairs]} if pairs else {})


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
