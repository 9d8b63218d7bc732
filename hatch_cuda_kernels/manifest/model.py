"""What a valid manifest says, as values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from hatch_cuda_kernels.compiler import Recipe
from hatch_cuda_kernels.names import chunk_name
from hatch_cuda_kernels.store import Promises

if TYPE_CHECKING:
    from pathlib import Path

    from hatch_cuda_kernels.arch import SmArch
    from hatch_cuda_kernels.options import NvrtcOptions
    from hatch_cuda_kernels.store import LaunchRule, ModuleFamily, Supports

FRONT_ENDS: Final = ("per-arch", "lto", "ptx")
PACKINGS: Final = ("auto", "none", "solid")


class Named(NamedTuple):
    """A name expression, and where it was written."""

    text: str
    where: str
    """Its place, as problems name it: ``kernels.yaml:14:12: modules.reduce.instances[0]``."""


class Pattern(NamedTuple):
    """An instance with placeholders as declared, kept so that the run side can fill in other values."""

    text: str
    matrix: tuple[tuple[str, tuple[str, ...]], ...]
    """The axes the pattern uses, in the manifest's order, each with its values as C++ text."""

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object of a store's index."""
        return {"pattern": self.text, "matrix": {name: list(values) for name, values in self.matrix}}


class StatedRule(NamedTuple):
    """How a kernel is launched, and where that was written."""

    rule: LaunchRule
    """Without the names of parameters, which are read from the sources."""
    where: str
    places: dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Module:
    """One or several sources with one set of options. Paths are relative to the manifest's root and posix."""

    name: str
    entry: str
    """The name in the manifest: the module's own, or one with a ``*``, of several modules."""
    sources: tuple[str, ...]
    """Several sources are compiled separately, and linked."""
    libraries: tuple[str, ...]
    """What else is linked: ``cudadevrt``, or files."""
    kernels: tuple[Named, ...]
    """Names that must be in the image."""
    instances: tuple[Named, ...]
    """Name expressions, expanded; all of one pattern share its place."""
    chunk: int | None
    """Maximum number of instances in one program; None for no limit."""
    globals: tuple[Named, ...]
    headers: tuple[str, ...]
    """Globs of headers that computed includes may name."""
    arches: tuple[SmArch, ...]
    """Sorted, without duplicates."""
    options: NvrtcOptions
    """The module's own options over the manifest's."""
    front_end: str
    """``per-arch``, ``lto`` or ``ptx``."""
    max_spill_bytes: int | None
    """Maximum bytes of spill stores and loads per thread of a kernel; None for no limit."""
    packing: str
    """``auto``, ``none`` or ``solid``."""
    patterns: tuple[Pattern, ...]
    launch: tuple[StatedRule, ...]
    where: str
    family: str = ""
    """What the modules of an entry with axes in its name have in common: its name without them."""
    axes: tuple[tuple[str, str], ...] = ()
    """The axes of the name, each with the module's value."""
    unfilled: ModuleFamily | None = None
    """What the entry says of any values of these axes; launch rules without the names of parameters, and no files."""

    @property
    def recipe(self) -> Recipe:
        """What the module is compiled from, and how."""
        return Recipe(
            module=self.name,
            sources=self.sources,
            libraries=self.libraries,
            options=self.options,
            names=tuple(name.text for name in (*self.kernels, *self.instances)),
            globals=tuple(name.text for name in self.globals),
            headers=self.headers,
        )

    def for_archs(self, archs: Iterable[SmArch]) -> Module:
        """Return the module for these architectures only, each with the suffix that the module lists it with."""
        chosen: set[SmArch] = set()
        for arch in archs:
            alike = [] if arch in self.arches else [own for own in self.arches if own.plain == arch]
            chosen |= {*alike} or {arch}
        return replace(self, arches=tuple(sorted(chosen)))

    def chunks(self) -> Iterator[Module]:
        """Yield a module for each program, in the order of the instances; most are one program.

        Chunks are filled in order, so that a new last instance changes the last one only. The first keeps all else.
        """
        size = self.chunk or len(self.instances) or 1
        yield replace(self, instances=self.instances[:size])
        for number, start in enumerate(range(size, len(self.instances), size), 2):
            instances = self.instances[start : start + size]
            yield replace(self, name=chunk_name(self.name, number), instances=instances, kernels=(), patterns=())


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """A whole manifest, as valid as it can be without asking a compiler."""

    path: Path
    root: Path
    """The folder all its paths are relative to."""
    cuda: tuple[int, int] | None
    release: tuple[int, int]
    """The toolkit release to compile with: the stated one, or the oldest 13.x that knows every architecture listed."""
    modules: tuple[Module, ...]
    """Sorted by name."""
    supports: Supports | None
    stubs: str | None
    """The ``.pyi`` a build keeps up to date."""
    max_wheel_size: int | None
    """Maximum size of the wheel in bytes; None for no limit."""
    sha256: str
    """Of the file's bytes, in hex."""

    @property
    def promises(self) -> Promises:
        """Everything the manifest promises of its wheel."""
        limits = {module.name: module.max_spill_bytes for module in self.modules}
        return Promises(
            supports=self.supports,
            max_spill_bytes={name: limit for name, limit in limits.items() if limit is not None},
            max_wheel_size=self.max_wheel_size,
        )

    def for_archs(self, archs: Iterable[SmArch]) -> Manifest:
        """Return the manifest for a first try with some architectures: it promises no devices and has no stub."""
        chosen = tuple(archs)
        modules = tuple(module.for_archs(chosen) for module in self.modules)
        return replace(self, modules=modules, supports=None, stubs=None)
