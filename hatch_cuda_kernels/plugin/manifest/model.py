"""What a valid manifest says, as values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from hatch_cuda_kernels.arch import SmArch
    from hatch_cuda_kernels.options import NvrtcOptions
    from hatch_cuda_kernels.plugin.promises.model import Supports

__all__ = ["Manifest", "Module", "Named", "Pattern"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """A name expression, and where it was written."""

    text: str
    where: str
    """Start of a message about it, such as ``kernels.yaml:14:12: modules.reduce.instances[0]``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """An instance with placeholders as declared, kept so that the run side can fill in other values."""

    text: str
    matrix: tuple[tuple[str, tuple[str, ...]], ...]
    """The axes the pattern uses, in the manifest's order, each with its values as C++ text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Module:
    """One source with one set of options. Paths are relative to the manifest's root and posix."""

    name: str
    source: str
    kernels: tuple[Named, ...]
    """Names that must be in the image."""
    instances: tuple[Named, ...]
    """Name expressions, expanded; all of one pattern share its place."""
    globals: tuple[Named, ...]
    headers: tuple[str, ...]
    """Globs of headers the include scan cannot see."""
    arches: tuple[SmArch, ...]
    """Sorted, without repeats."""
    options: NvrtcOptions
    """The module's own options over the manifest's."""
    front_end: str
    """``per-arch``, ``lto`` or ``ptx``."""
    max_spill_bytes: int | None
    """Most bytes of spill stores and loads a thread of one kernel; None for no limit."""
    packing: str
    """``auto``, ``none`` or ``solid``."""
    patterns: tuple[Pattern, ...]
    where: str
    """Start of a message about the module as a whole."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """A whole manifest, valid as far as that can be told without a compiler."""

    path: Path
    root: Path
    """The folder all its paths are relative to."""
    cuda: tuple[int, int] | None
    """The toolkit release stated."""
    release: tuple[int, int]
    """The toolkit release to compile with: the stated one, or the oldest 13.x that knows every architecture listed."""
    modules: tuple[Module, ...]
    """Sorted by name."""
    supports: Supports | None
    stubs: str | None
    """The ``.pyi`` a build keeps up to date."""
    max_wheel_size: int | None
    """Most bytes the wheel may have, None for any number."""
    sha256: str
    """Of the file's bytes, in hex."""
