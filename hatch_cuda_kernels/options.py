"""NVRTC's options as a typed value: what a manifest, a key and a compile agree on."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from typing import Any, Final, Literal, NamedTuple

from hatch_cuda_kernels.integrity import check_shape

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
#: What to write instead of a flag that people look for.
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


def _split(flag: str) -> tuple[str, str]:
    name, _, value = flag.partition("=")
    return name, value


def _refusal(name: str, value: str, known: dict[str, _Known], prefix: str) -> str | None:
    found = known.get(name)
    if found is None:
        # The value may be glued to the name, as in -Ifolder and -DX.
        advice = _REFUSED.get(name) or _REFUSED.get(name[:2] if name[:2] in {"-I", "-D", "-U"} else name)
        import difflib  # only for the message

        near = difflib.get_close_matches(name, known, n=1)
        guess = f" (did you mean {prefix}{near[0]}?)" if near else ""
        advice = advice or f"it is not among the flags known to reach every image{guess}"
        return f"{prefix}{name} cannot be passed through: {advice}"
    if re.fullmatch(found.value, value) is None:
        takes = f"takes {found.value.replace('|', ' or ')}" if found.value else "takes no value"
        return f"{prefix}{name} {takes}, not {value!r}"
    return None


class CppStd(StrEnum):
    """The C++ language standard NVRTC compiles by."""

    CPP14 = "c++14"
    CPP17 = "c++17"
    CPP20 = "c++20"


class HostCode(StrEnum):
    """What becomes of host code in a source and the project's headers, which NVRTC refuses."""

    AUTO = "auto"
    KEEP = "keep"
    DROP = "drop"


@dataclass(frozen=True, slots=True, kw_only=True)
class NvrtcOptions:
    """Options of one module. None means NVRTC's own default, which ``use_fast_math`` moves.

    Paths in ``include`` and ``pre_include`` are relative to the project, because they are part of the key.
    """

    std: CppStd = CppStd.CPP17
    """C++ standard."""
    use_fast_math: bool = False
    """Fast, less exact math; implies ftz, approximate division and square root, and fma unless these are set."""
    ftz: bool | None = None
    """Flush single-precision denormals to zero."""
    prec_div: bool | None = None
    """IEEE-exact single-precision division."""
    prec_sqrt: bool | None = None
    """IEEE-exact single-precision square root."""
    fma: bool | None = None
    """Contract multiply and add into one instruction."""
    maxrregcount: int | None = None
    """Most registers a thread may use."""
    lineinfo: bool = False
    """Source line numbers for profilers."""
    debug: bool = False
    """Device debug information, without optimisation."""
    lto: bool = False
    """Compile to LTO-IR and finish with nvJitLink; virtual architectures then ship LTO-IR instead of PTX."""
    default_device: bool = False
    """Functions without a mark such as ``__host__`` are device functions."""
    standard_headers: bool = True
    """The package's headers answer to ``<cmath>``, ``<cstdint>`` and others that NVRTC lacks."""
    include: tuple[str, ...] = ()
    """Folders searched for headers, in order: the project's; those of a package as ``@cupy/_core/include``."""
    define: tuple[tuple[str, str | None], ...] = ()
    """Macros in order, ``NAME`` or ``NAME(x)``; the value is C++ text, None defines the bare name."""
    pre_include: tuple[str, ...] = ()
    """Headers included before the source."""
    extra: tuple[str, ...] = ()
    """Flags handed to NVRTC as they are, in order."""
    host_code: HostCode = HostCode.AUTO
    """What becomes of code for the host in the project's files: auto cuts bodies and values of what has no device mark,
    unless ``default_device`` makes device code of it; drop does so always, and keep never."""
    host_only: tuple[str, ...] = ()
    """Names of host code without a mark: ``Task``, ``a::Pool``, ``<header.h>``. It is removed, and other host code is
    cut as with drop.
    """


def cuts_host_code(options: NvrtcOptions) -> bool:
    """Whether NVRTC is shown sources without the bodies and values of host code."""
    return asks_for_cut(options) or (options.host_code is HostCode.AUTO and not options.default_device)


def asks_for_cut(options: NvrtcOptions) -> bool:
    """Whether the user asked for the cut, so that a build need not report it."""
    return options.host_code is HostCode.DROP or bool(options.host_only)


def nvrtc_flags(options: NvrtcOptions) -> tuple[str, ...]:
    """Return NVRTC's flags, in canonical order; architecture, includes and determinism flags are not among them."""
    flags = [f"--std={options.std}"]
    if options.use_fast_math:
        flags.append("--use_fast_math")
    flags += [
        f"--{flag}={'true' if value else 'false'}"
        for flag, value in (
            ("ftz", options.ftz),
            ("prec-div", options.prec_div),
            ("prec-sqrt", options.prec_sqrt),
            ("fmad", options.fma),
        )
        if value is not None
    ]
    if options.maxrregcount is not None:
        flags.append(f"--maxrregcount={options.maxrregcount}")
    switches = ("-lineinfo", options.lineinfo), ("-G", options.debug), ("-dlto", options.lto)
    flags += [flag for flag, on in (*switches, ("-default-device", options.default_device)) if on]
    flags += [f"-D{name}" if value is None else f"-D{name}={value}" for name, value in options.define]
    return (*flags, *options.extra)


def canonical_options(options: NvrtcOptions) -> dict[str, Any]:
    """Return JSON data that is equal for equal options and leaves out what has its default value."""
    return {
        name: [list(pair) for pair in value] if name == "define" else _plain(value)
        for name, default in _DEFAULTS.items()
        if (value := getattr(options, name)) != default
    }


def option_conflicts(options: NvrtcOptions, *, front_end: str = "per-arch") -> list[str]:
    """Return which options contradict each other, or would not reach every image."""
    found = []
    if options.host_only and options.host_code is HostCode.KEEP:
        found.append("host_only names what NVRTC is not shown, and host_code: keep shows it all; state one of them")
    lto = options.lto or front_end == "lto"
    route = "lto: true" if options.lto else f"front_end: {front_end}"
    if options.debug and (lto or front_end != "per-arch"):
        found.append(f"debug: true asks for unoptimized code, and {route} optimizes; leave one of them out")
    for flag in options.extra if lto else ():  # LTO-IR is optimized later, by another program
        known = _NVRTC.get(_split(flag)[0])
        if known is not None and known.stage == "optimizer":
            action = f"acts while NVRTC optimizes, and with {route} nvJitLink does that"
            found.append(f"extra: {flag} {action}; leave one of them out")
    return found


def options_from(data: dict[str, Any]) -> NvrtcOptions:
    """Read what ``canonical_options`` gave. Raises TypeError as ``options_of``, ValueError for a flag in ``extra``."""
    try:
        options = options_of(data)
    except TypeError as error:
        raise TypeError(str(error).removeprefix("options: ")) from None
    refusal = next(filter(None, map(extra_refusal, options.extra)), None)
    if refusal is not None:
        raise ValueError(f"extra: {refusal}")
    return options


def options_of(given: object) -> NvrtcOptions:
    """Return the options that a caller gives: an NvrtcOptions, a dict of some of them, or None.

    Raises TypeError for anything else, an unknown name, or a value of the wrong type; it says what is allowed.
    """
    if given is None:
        return NvrtcOptions()
    values: dict[str, Any]
    if isinstance(given, Mapping):
        values = dict(given)
    elif isinstance(given, NvrtcOptions):
        values = {name: value for name, default in _DEFAULTS.items() if (value := getattr(given, name)) != default}
    else:
        raise TypeError(f"options takes an NvrtcOptions or a dict such as {{'use_fast_math': True}}, not {given!r}")
    unknown = next((name for name in values if name not in _DEFAULTS), None)
    if unknown is not None:
        raise TypeError(f"options: there is no option {unknown!r}; there are {', '.join(_DEFAULTS)}")
    return NvrtcOptions(**{name: _converted_value(name, value) for name, value in values.items()})


def override_options(options: NvrtcOptions, **changes: Any) -> NvrtcOptions:  # values are checked by the manifest
    """Return a copy with some options replaced; ``define`` is merged name by name, the later value wins."""
    if "define" in changes:
        merged = {macro_name(macro[0]): macro for macro in (*options.define, *changes["define"])}
        changes["define"] = tuple(merged.values())
    return replace(options, **changes)


def _converted_value(name: str, value: Any) -> Any:
    """Return an option's value in the type of the field. Raises TypeError, which says what the option takes."""
    kept = value
    if name == "define" and isinstance(value, Mapping):
        kept = tuple((macro, str(text) if type(text) is int else text) for macro, text in value.items())
    elif isinstance(value, list):
        kept = tuple(map(tuple, value)) if name == "define" else tuple(value)
    if kept is None and _DEFAULTS[name] is None:
        return None
    try:
        pairs = [[macro, text] for macro, text in kept] if name == "define" else _plain(kept)
        check_shape({name: pairs}, {name: _SHAPES[name]})
    except (TypeError, ValueError):
        raise TypeError(f"options: {name} takes {_expectation(name)}, not {value!r}") from None
    return _ENUMS[name](kept) if name in _ENUMS else kept


def _expectation(name: str) -> str:
    if name in _ENUMS:
        return " or ".join(repr(one.value) for one in _ENUMS[name])
    if name == "define":
        return "a dict of macros and their texts, or pairs of these"
    if isinstance(_DEFAULTS[name], tuple):
        return "a tuple or list of str"
    return "an integer" if name == "maxrregcount" else "True or False"


def macro_name(macro: str) -> str:
    """Return the name of a macro that may be written with its parameters."""
    return macro.partition("(")[0]


_DEFAULTS: Final = {field.name: field.default for field in fields(NvrtcOptions)}
_ENUMS: Final = {"std": CppStd, "host_code": HostCode}
_SHAPES: Final[dict[str, Any]] = {
    **{name: [str] if isinstance(default, tuple) else bool for name, default in _DEFAULTS.items()},
    **{name: frozenset(kind) for name, kind in _ENUMS.items()},
    "maxrregcount": int,
    "define": [[(str, None)]],
}


def _plain(value: object) -> object:
    if isinstance(value, StrEnum):
        return value.value
    return list(value) if isinstance(value, tuple) else value
