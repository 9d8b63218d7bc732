"""The keys of a manifest, one table a mapping: the reader, the JSON Schema and the reference all come from here."""

from __future__ import annotations

import re
from dataclasses import fields
from typing import Final

from hatch_cuda_kernels.arch import ComputeCapability
from hatch_cuda_kernels.extra import extra_refusal
from hatch_cuda_kernels.manifest.arches import ARCHES
from hatch_cuda_kernels.manifest.instances import MOST_INSTANCES
from hatch_cuda_kernels.manifest.kinds import (
    BOOLEAN,
    CPP_TEXT,
    IDENTIFIER,
    Item,
    Key,
    Kind,
    Table,
    choice,
    integer,
    items_of,
    list_of,
    map_of,
    table,
    text,
)
from hatch_cuda_kernels.manifest.launch import LAUNCH, RULES
from hatch_cuda_kernels.manifest.macros import DEFINE, DEFINE_FROM, VARIABLE, with_macros
from hatch_cuda_kernels.manifest.module_names import ENTRY_NAME, name_modules
from hatch_cuda_kernels.manifest.paths import FOLDER, HEADER, HEADERS_GLOB, LIBRARY, ONE_SOURCE, SOURCE, STUBS
from hatch_cuda_kernels.manifest.sizes import SIZE
from hatch_cuda_kernels.manifest.spot import RefusedError, Spot, wrong_type
from hatch_cuda_kernels.manifest.yaml_tree import Scalar
from hatch_cuda_kernels.options import CppStd, HostCode, NvrtcOptions
from hatch_cuda_kernels.versions import parse_version

__all__ = ["FRONT_ENDS", "MANIFEST", "PACKINGS", "TABLES"]

FRONT_ENDS: Final = ("per-arch", "lto", "ptx")
PACKINGS: Final = ("auto", "none", "solid")

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
_MATRIX: Final = map_of(list_of(CPP_TEXT, least=1), keys=IDENTIFIER, key_words="an axis name (a C identifier)")


def _read_schema(spot: Spot) -> int:
    if not isinstance(spot.node, Scalar) or (spot.node.tag, spot.node.text) != ("int", "1"):
        raise wrong_type("1, the version of the format that this package reads", spot)
    return 1


#: The kinds of NvrtcOptions' fields, by name or else by type. A new flag of type bool needs no entry.
_OPTION_KINDS: Final[dict[str, Kind]] = {
    "bool": BOOLEAN,
    "bool | None": BOOLEAN,
    "std": choice(CppStd),
    "maxrregcount": integer(1, 255),
    "include": list_of(FOLDER),
    "define": DEFINE,
    "pre_include": list_of(HEADER),
    "extra": list_of(text("a flag", _flag), unique=False),
    "host_only": list_of(text("a C++ name, or a header as <name>")),
    "host_code": choice(HostCode),
}

OPTIONS: Final[Table] = {
    option.name: Key(_OPTION_KINDS.get(option.name) or _OPTION_KINDS[str(option.type)])  # described by NvrtcOptions
    for option in fields(NvrtcOptions)
} | {"define_from": Key(DEFINE_FROM, "Macros whose values come from elsewhere; they are part of the key.")}
_WITH_MACROS: Final = with_macros(table("options", OPTIONS))

MODULE: Final[Table] = {
    "source": Key(
        SOURCE,
        'CUDA C++ file; every extern "C" kernel in it is found by itself. With a * here and in the name of the module,'
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
    "matrix": Key(_MATRIX, "Values of the placeholders in instances, as C++ text; all combinations are compiled."),
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

SUPPORTS: Final[Table] = {
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
    table("module", MODULE), keys=ENTRY_NAME, key_words="a module name (letters, digits, _ and -, or a *)", least=1
)


def _read_modules(spot: Spot) -> dict[str, Item]:
    return name_modules(_MODULES.read(spot))


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
    "modules": Key(Kind(_read_modules, _MODULES.schema), "The modules by name.", "list at least one module"),
    "supports": Key(
        table("supports", SUPPORTS), "A promise that the build proves; if it cannot, it fails and names the gap."
    ),
    "stubs": Key(STUBS, "A .pyi file with the kernels' names and types, which a build keeps up to date."),
    "max_wheel_size": Key(
        SIZE, "Maximum size of the wheel, in bytes or as text such as '5 MB'; a larger one fails the build."
    ),
}

#: Every mapping with known keys, by the name that other tables refer to.
TABLES: Final[dict[str, Table]] = {
    "manifest": MANIFEST,
    "module": MODULE,
    "options": OPTIONS,
    "variable": VARIABLE,
    "launch": LAUNCH,
    "supports": SUPPORTS,
}
