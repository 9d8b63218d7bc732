"""Flags that are passed through to the compilers: which ones, told apart by the stage of a compile that they act on.

A flag is taken only where it is known what it does: it must reach every image, on whichever route the image is made,
and let nothing into a compile that the key does not cover. Sources: NVRTC, "Supported Compile Options", and
``ptxas --help``; each flag here was tried with 12.9 and 13.0.
"""

from __future__ import annotations

import difflib
import re
from typing import Final, Literal, NamedTuple

__all__ = ["assembler_flags", "extra_refusal", "optimizer_flags"]

Stage = Literal["front end", "optimizer", "assembler"]

_SWITCH: Final = r"true|false"
_NONE: Final = ""
_NUMBERS: Final = r"[0-9]+(?:,[0-9]+)*"
_LEVEL: Final = r"0|min|mid|max"


class _Known(NamedTuple):
    stage: Stage
    value: str
    """Pattern of the whole value; empty for a flag that takes none."""


def _known(stage: Stage, flags: dict[str, str]) -> dict[str, _Known]:
    return {name: _Known(stage, value) for names, value in flags.items() for name in names.split()}


#: NVRTC's spellings; it does not know every flag with one dash and with two.
_NVRTC: Final[dict[str, _Known]] = {
    **_known(
        "front end",
        {
            "-restrict --restrict": _NONE,
            "-device-int128 --device-int128 -device-float128 --device-float128": _NONE,
            "-builtin-move-forward --builtin-move-forward": _SWITCH,
            "-builtin-initializer-list --builtin-initializer-list": _SWITCH,
            "-minimal --minimal": _NONE,
            "-w --disable-warnings": _NONE,
            "-err-no --display-error-number -no-err-no --no-display-error-number": _NONE,
            "-brief-diag --brief-diagnostics": _SWITCH,
            "-diag-error --diag-error -diag-suppress --diag-suppress -diag-warn --diag-warn": _NUMBERS,
        },
    ),
    **_known(
        "optimizer",
        {
            "-extra-device-vectorization --extra-device-vectorization": _NONE,
            "-jtd --jump-table-density": r"[0-9]{1,3}",
            "-device-stack-protector --device-stack-protector": _SWITCH,
            "-Ofc --Ofast-compile": _LEVEL,
            "-opt-info --optimization-info": r"inline",
        },
    ),
}
_TO_ASSEMBLER: Final = frozenset({"-Xptxas", "--ptxas-options"})
#: NVRTC hands these on to ptxas as they are.
_FOR_BOTH: Final = frozenset(
    {"-Ofc", "--Ofast-compile", "-device-stack-protector", "--device-stack-protector"} | {"-w", "--disable-warnings"}
)
_CACHES: Final = r"ca|cg|cs|lu|cv|wb|wt|al"
#: ptxas's own, behind ``-Xptxas=``.
_PTXAS: Final = _known(
    "assembler",
    {
        "-O0 -O1 -O2 -O3": _NONE,
        "-O --opt-level": r"[0-3]",
        "-dlcm --def-load-cache -dscm --def-store-cache -flcm --force-load-cache -fscm --force-store-cache": _CACHES,
        "-allow-expensive-optimizations --allow-expensive-optimizations": _SWITCH,
        "-disable-optimizer-consts --disable-optimizer-constants": _NONE,
        "-no-bb-merge --dont-merge-basicblocks": _NONE,
        "-opt-fp-atomics --optimize-float-atomics": _NONE,
        "-regUsageLevel --register-usage-level": r"[0-9]|10",
        "-ret-end --return-at-end": _NONE,
        "-sp-bounds-check --sp-bounds-check": _NONE,
        "-Ofc --Ofast-compile": _LEVEL,
        "-warn-double-usage --warn-on-double-precision-use": _NONE,
        "-warn-lmem-usage --warn-on-local-memory-usage": _NONE,
        "-warn-spills --warn-on-spills": _NONE,
        "-Werror --warning-as-error -w --disable-warnings": _NONE,
        "-suppress-stack-size-warning --suppress-stack-size-warning": _NONE,
        "-suppress-double-demote-warning --suppress-double-demote-warning": _NONE,
    },
)

_REPRODUCIBLE: Final = "the build sets it, for reproducible images"
_WRITES: Final = "it writes files or varying output"
#: Measured: NVRTC used a precompiled header whose project header had changed since, without a word.
_STALE_PCH: Final = "a precompiled header may be of headers that have changed since; share the front end instead"
_LINKED: Final = "an image is one whole program, which a driver can load; list what it is linked from under 'sources'"
#: What to do in place of a flag that people look for.
_REFUSED: Final[dict[str, str]] = {
    name: advice
    for names, advice in {
        "-arch --gpu-architecture -gencode --generate-code": "list architectures under 'arches'",
        "-I --include-path -no-source-include --no-source-include": "list header folders under 'include'",
        "-D --define-macro -U --undefine-macro": "list macros under 'define'",
        "-include --pre-include": "list headers under 'pre_include'",
        "-dlto --dlink-time-opt -gen-opt-lto --gen-opt-lto": "write 'lto: true'",
        "-std --std": "write 'std: c++17'",
        "-use_fast_math --use_fast_math": "write 'use_fast_math: true'",
        "-ftz --ftz": "write 'ftz: true' or 'ftz: false'",
        "-prec-div --prec-div": "write 'prec_div: true' or 'prec_div: false'",
        "-prec-sqrt --prec-sqrt": "write 'prec_sqrt: true' or 'prec_sqrt: false'",
        "-fmad --fmad": "write 'fma: true' or 'fma: false'",
        "-maxrregcount --maxrregcount": "write 'maxrregcount: N'",
        "-G --device-debug -g": "write 'debug: true'",
        "-lineinfo --generate-line-info": "write 'lineinfo: true'",
        "-default-device --device-as-default-execution-space": "write 'default_device: true'",
        "-dc --device-c -dw --device-w -rdc --relocatable-device-code -c --compile-only": _LINKED,
        "-ewp --extensible-whole-program -optix-ir --optix-ir": _LINKED,
        "-pch --pch -create-pch --create-pch -use-pch --use-pch -pch-dir --pch-dir": _STALE_PCH,
        "-frandom-seed --frandom-seed -no-cache --no-cache": _REPRODUCIBLE,
        "-modify-stack-limit --modify-stack-limit": "the build sets it; it would change the whole process",
        "-split-compile --split-compile": "images would depend on the number of threads",
        "-time --time -fdevice-time-trace --fdevice-time-trace": _WRITES,
        "-v --verbose": "registers and spills are read from the images: see 'hatch-cuda-kernels inspect'",
        "-Xcudafe -Xnvvm -Xcompiler": "it hands flags on to a program that may read files which no key covers",
        "-optf --options-file -o --output-file": "it names a file, which no key covers",
    }.items()
    for name in names.split()
}


def extra_refusal(flag: str) -> str | None:
    """Return why a pass-through flag is refused, or None when it may pass."""
    if not flag.startswith("-") or " " in flag:
        return f"{flag!r} is not a flag; write one flag an item, with its value after '='"
    name, value = _split(flag)
    if name not in _TO_ASSEMBLER:
        return _refusal(name, value, _NVRTC, "")
    if not value.startswith("-"):
        return f"{name} takes a flag of ptxas, not {value!r}"
    return _refusal(*_split(value), _PTXAS, f"{name}=")


def assembler_flags(extra: tuple[str, ...]) -> tuple[str, ...]:
    """Return what pass-through flags mean for ptxas, for a compile that it or nvJitLink finishes."""
    pairs = [(flag, *_split(flag)) for flag in extra]
    return tuple(
        value if name in _TO_ASSEMBLER else flag
        for flag, name, value in pairs
        if name in _TO_ASSEMBLER or name in _FOR_BOTH
    )


def optimizer_flags(extra: tuple[str, ...]) -> tuple[str, ...]:
    """Return the pass-through flags that act while NVRTC optimizes: LTO-IR is optimized later, by another program."""
    known = ((flag, _NVRTC.get(_split(flag)[0])) for flag in extra)
    return tuple(flag for flag, found in known if found is not None and found.stage == "optimizer")


def _split(flag: str) -> tuple[str, str]:
    name, _, value = flag.partition("=")
    return name, value


def _refusal(name: str, value: str, known: dict[str, _Known], prefix: str) -> str | None:
    found = known.get(name)
    if found is None:
        advice = _advice(name)
        return f"{prefix}{name} cannot be passed through: {advice}" if advice else _unknown(name, known, prefix)
    if re.fullmatch(found.value, value) is None:
        takes = f"takes {found.value.replace('|', ' or ')}" if found.value else "takes no value"
        return f"{prefix}{name} {takes}, not {value!r}"
    return None


def _advice(name: str) -> str | None:
    """Return the advice for a refused flag, whose value may be glued to it as in ``-Ifolder`` and ``-DX``."""
    glued = name[:2] if name[:2] in {"-I", "-D", "-U"} else name
    return _REFUSED.get(name) or _REFUSED.get(glued)


def _unknown(name: str, known: dict[str, _Known], prefix: str) -> str:
    near = difflib.get_close_matches(name, known, n=1)
    guess = f" (did you mean {prefix}{near[0]}?)" if near else ""
    return f"{prefix}{name} cannot be passed through: it is not among the flags known to reach every image{guess}"
