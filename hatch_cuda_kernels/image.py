"""Images and what describes them: one loadable blob, the kernels in it, and a candidate for a device.

These are named tuples, because a dataclass would take half a millisecond each in a process that only loads a kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Literal

from hatch_cuda_kernels.records import NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

    from hatch_cuda_kernels.arch import SmArch

#: An ``object`` is machine code that still has to be linked: no store ships it.
Kind = Literal["cubin", "ptx", "ltoir", "object"]
Origin = Literal["prebuilt", "cached", "jitted"]
#: What can make a CUBIN: NVRTC of a source, ptxas of PTX, nvJitLink of LTO-IR and objects (or of PTX, as such code).
Finisher = Literal["nvrtc", "ptxas", "nvjitlink"]


class Symbol(NamedTuple):
    """A kernel or a device variable: its name expression, its lowered name, and for a kernel its parameters."""

    name: str
    lowered: str
    params: tuple[str, ...] = ()
    """PTX's own words (``u64``, ``f32``), ``ptr`` for a known pointer, ``b8[16]:8`` for 16 bytes aligned to 8."""
    types: tuple[str, ...] = ()
    """The C++ types, in order, such as ``const float*``; none where they are not known."""
    names: tuple[str, ...] = ()
    """What the source calls the parameters, each empty where that is not clear; no items where it names none."""

    def differs_in_parameters(self, other: Symbol) -> bool:
        """Return whether a kernel takes other parameters; of types, only what both know counts."""
        differ = self.types != other.types and bool(self.types) and bool(other.types)
        return self.params != other.params or differ


class ImageId(NamedTuple):
    """What one image of a store or of a plan is called."""

    module: str
    arch: SmArch
    kind: Kind
    unit: str = ""
    """The source, if it is one of a module's units, which are linked into its images."""


class Image(NamedTuple):
    """One loadable image and where it came from."""

    module: str
    origin: Origin
    arch: SmArch
    kind: Kind
    data: bytes
    sha256: str
    path: Path | None = None
    """The file it was read from, which may be a pack; None for an image that lives in memory only."""
    kernels: tuple[Symbol, ...] = ()
    """What a recorded image holds; empty for a prebuilt one, whose kernels the store lists."""
    variables: tuple[Symbol, ...] = ()
    """Those that the manifest lists, in the same way."""

    def __repr__(self) -> str:
        return f"<Image {self.module} {self.origin} {self.arch} {self.kind}, {len(self.data)} bytes>"


class Candidate(NamedTuple):
    """One image that was considered, or one that could be compiled (then ``get`` compiles it)."""

    origin: Origin
    arch: SmArch
    kind: Kind
    accepted: bool
    reason: str
    get: Callable[[], Image] | None = None
    damage: Exception | None = None
    """The StoreError, if damaged sources alone keep it from being compiled."""
    fix: str = ""
    """What would have it accepted, if one command does."""

    def __str__(self) -> str:
        return f"{'accepted' if self.accepted else 'refused '} {self.origin} {self.arch} {self.kind}: {self.reason}"

    def __reduce__(self) -> tuple[Any, ...]:
        return Candidate, self[:5]

    def to_json(self) -> dict[str, object]:
        """Return the JSON object of ``explain --json``."""
        return {
            "origin": self.origin,
            "arch": str(self.arch),
            "kind": self.kind,
            "accepted": self.accepted,
            "reason": self.reason,
        }


def fixes_of_damage(considered: Iterable[Candidate]) -> tuple[str, ...]:
    """Return what to do about prebuilt images that cannot be read."""
    return tuple(dict.fromkeys(one.fix for one in considered if one.fix and one.origin == "prebuilt"))
