"""NVRTC's options as a typed value: what a manifest, a key and a compile agree on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from typing import Any, Final

from hatch_cuda_kernels.extra import extra_refusal, optimizer_flags
from hatch_cuda_kernels.shape import check_shape

__all__ = ["CppStd", "HostCode", "NvrtcOptions", "macro_name"]


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

    Paths in ``include`` and ``pre_include`` are relative to the project, never absolute: they enter the key.
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
    """Project folders searched for headers, in order."""
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
    """What is the host's though no mark tells, by name: ``Task``, ``a::Pool``, ``<header.h>``. It is removed, and
    other host code is cut as with drop."""

    @property
    def cuts_host_code(self) -> bool:
        """Whether NVRTC is shown sources without the bodies and values of host code."""
        return self.asks_for_cut or (self.host_code is HostCode.AUTO and not self.default_device)

    @property
    def asks_for_cut(self) -> bool:
        """Whether someone asked for that, so that nobody need be told."""
        return self.host_code is HostCode.DROP or bool(self.host_only)

    def flags(self) -> tuple[str, ...]:
        """Return NVRTC's flags, in canonical order; architecture, includes and determinism flags are not among them."""
        flags = [f"--std={self.std}"]
        if self.use_fast_math:
            flags.append("--use_fast_math")
        flags += [
            f"--{flag}={'true' if value else 'false'}"
            for flag, value in (
                ("ftz", self.ftz),
                ("prec-div", self.prec_div),
                ("prec-sqrt", self.prec_sqrt),
                ("fmad", self.fma),
            )
            if value is not None
        ]
        if self.maxrregcount is not None:
            flags.append(f"--maxrregcount={self.maxrregcount}")
        switches = ("-lineinfo", self.lineinfo), ("-G", self.debug), ("-dlto", self.lto)
        flags += [flag for flag, on in (*switches, ("-default-device", self.default_device)) if on]
        flags += [f"-D{name}" if value is None else f"-D{name}={value}" for name, value in self.define]
        return (*flags, *self.extra)

    def canonical(self) -> dict[str, Any]:
        """Return JSON data that is equal for equal options and leaves out what has its default value."""
        return {
            name: [list(pair) for pair in value] if name == "define" else _plain(value)
            for name, default in _DEFAULTS.items()
            if (value := getattr(self, name)) != default
        }

    def conflicts(self, *, front_end: str = "per-arch") -> list[str]:
        """Return what of the options contradicts others, or would not reach every image by the way these are made."""
        found = []
        if self.host_only and self.host_code is HostCode.KEEP:
            found.append("host_only names what NVRTC is not shown, and host_code: keep shows it all; state one of them")
        lto = self.lto or front_end == "lto"
        route = "lto: true" if self.lto else f"front_end: {front_end}"
        if self.debug and (lto or front_end != "per-arch"):
            found.append(f"debug: true asks for unoptimized code, and {route} optimizes; leave one of them out")
        if lto:
            found += [
                f"extra: {flag} acts while NVRTC optimizes, and with {route} nvJitLink does that; leave one of them out"
                for flag in optimizer_flags(self.extra)
            ]
        return found

    @classmethod
    def from_canonical(cls, data: dict[str, Any]) -> NvrtcOptions:
        """Read what ``canonical`` wrote. Raises TypeError for an unknown name, ValueError for a wrong value."""
        check_shape(data, {f"{name}?": _shape_of(name) for name in _DEFAULTS})
        values: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in data.items()
        }
        if "define" in values:
            values["define"] = tuple((name, text) for name, text in values["define"])
        values |= {name: kind(values[name]) for name, kind in _ENUMS.items() if name in values}
        refusal = next(filter(None, map(extra_refusal, values.get("extra", ()))), None)
        if refusal is not None:
            message = f"extra: {refusal}"
            raise ValueError(message)
        return cls(**values)

    @classmethod
    def of(cls, given: object) -> NvrtcOptions:
        """Return the options that a caller gives: as such, as a dict of some of them, or none at all.

        Raises TypeError, which says what is taken, for anything else, an unknown name, or a value of another type.
        """
        if given is None:
            return cls()
        values: dict[str, Any]
        if isinstance(given, Mapping):
            values = dict(given)
        elif isinstance(given, cls):
            values = {name: value for name, default in _DEFAULTS.items() if (value := getattr(given, name)) != default}
        else:
            message = f"options takes an NvrtcOptions or a dict such as {{'use_fast_math': True}}, not {given!r}"
            raise TypeError(message)
        unknown = next((name for name in values if name not in _DEFAULTS), None)
        if unknown is not None:
            message = f"options: there is no option {unknown!r}; there are {', '.join(_DEFAULTS)}"
            raise TypeError(message)
        return cls(**{name: _taken(name, value) for name, value in values.items()})

    def override(self, **changes: Any) -> NvrtcOptions:  # values are checked by the manifest
        """Return a copy with some options replaced; ``define`` is merged name by name, the later value wins."""
        if "define" in changes:
            merged = {macro_name(macro[0]): macro for macro in (*self.define, *changes["define"])}
            changes["define"] = tuple(merged.values())
        return replace(self, **changes)


def _taken(name: str, value: Any) -> Any:
    """Return the value of an option as it is kept. Raises TypeError, which says what the option takes."""
    if value == _DEFAULTS[name]:
        return _DEFAULTS[name]
    kept = value
    if name == "define" and isinstance(value, Mapping):
        kept = tuple((macro, str(text) if type(text) is int else text) for macro, text in value.items())
    elif isinstance(value, list):
        kept = tuple(value)
    try:
        pairs = [[macro, text] for macro, text in kept] if name == "define" else _plain(kept)
        check_shape({name: pairs}, {name: _shape_of(name)})
    except (TypeError, ValueError):
        message = f"options: {name} takes {_takes(name)}, not {value!r}"
        raise TypeError(message) from None
    return _ENUMS[name](kept) if name in _ENUMS else kept


def _takes(name: str) -> str:
    """Return the values of an option in words."""
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
#: In JSON data; other options have that of their default.
_ENUMS: Final = {"std": CppStd, "host_code": HostCode}
_SHAPES: Final = {name: frozenset(kind) for name, kind in _ENUMS.items()} | {
    "maxrregcount": int,
    "define": [[(str, None)]],
}


def _shape_of(name: str) -> Any:
    return _SHAPES.get(name) or ([str] if isinstance(_DEFAULTS[name], tuple) else bool)


def _plain(value: object) -> object:
    if isinstance(value, StrEnum):
        return value.value
    return list(value) if isinstance(value, tuple) else value
