"""What a module is compiled from, and how: the manifest states it, and a store's index repeats it.

A route is what NVRTC makes of a module's source, and what finishes that for each architecture.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, NamedTuple

from hatch_cuda_kernels.compiler.job import CompileJob, FinishJob, Program
from hatch_cuda_kernels.device_library import DEVICE_RUNTIME, DeviceLibrary, library_kind
from hatch_cuda_kernels.execution_space import cut_sentence, owner_of
from hatch_cuda_kernels.libraries import defines_constants
from hatch_cuda_kernels.names import listed_module

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hatch_cuda_kernels.arch import SmArch
    from hatch_cuda_kernels.compiler.job import Job
    from hatch_cuda_kernels.execution_space import SourceSet
    from hatch_cuda_kernels.image import Finisher, Kind
    from hatch_cuda_kernels.options import NvrtcOptions

FINISHER_NAMES: Final[dict[Finisher, str]] = {"nvrtc": "NVRTC", "ptxas": "ptxas", "nvjitlink": "nvJitLink"}


class Route(NamedTuple):
    """How a module's images are made."""

    start: Kind
    """What NVRTC makes; there is nothing left to do of a CUBIN."""
    finisher: Finisher
    shared: bool = False
    """Whether one run of NVRTC, for the lowest architecture, serves the others too."""


def choose_route(
    options: NvrtcOptions,
    *,
    front_end: str = "per-arch",
    outside: Iterable[str] = (),
    tables: bool = False,
    linked: bool = False,
) -> Route:
    """Return the route by which a build makes a module's images.

    ``outside`` are the headers it takes from the toolkit; ``tables`` says whether it defines variables of its own, and
    ``linked`` whether it has several units, or libraries.

    | module | NVRTC makes | finished by | machine code |
    |---|---|---|---|
    | ``lto: true`` | LTO-IR, for each architecture | nvJitLink | optimized again |
    | ``front_end: lto`` | LTO-IR, once | nvJitLink, for each architecture | optimized again |
    | several sources, or libraries | objects, for each architecture | nvJitLink | of each source by itself |
    | ``front_end: ptx`` | PTX, once | ptxas, for each architecture | of a whole program |
    | ``debug: true`` | a CUBIN, for each architecture | NVRTC | NVRTC's own |
    | with constants of CUB, Thrust or libcu++, or tables | PTX, for each architecture | ptxas | NVRTC's own |
    | any other, and whatever is compiled at run time | a CUBIN, for each architecture | NVRTC | NVRTC's own |

    Variables that nobody uses are left out of PTX before it is finished, and by nvJitLink of LTO-IR; others have them.
    PTX of several sources is written by nvJitLink, too, from LTO-IR.
    For the architecture of its own front end, PTX finished by ptxas is NVRTC's own machine code, too. At run time there
    may be no ptxas, and what a compile gives must not depend on it.
    """
    if options.lto or front_end == "lto":
        return Route("ltoir", "nvjitlink", shared=front_end == "lto")
    if linked:
        return Route("object", "nvjitlink")
    if front_end == "ptx":
        return Route("ptx", "ptxas", shared=True)
    if not options.debug and (tables or any(map(defines_constants, outside))):
        return Route("ptx", "ptxas")
    return Route("cubin", "nvrtc")


class Unit(NamedTuple):
    """One source of a module as it is compiled for any architecture, with the names it is asked for."""

    source: str
    program: Program
    asked: tuple[str, ...]
    """Names, of project files or standard headers, that the toolkit's headers asked for."""
    names: tuple[str, ...]
    globals: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """A module's sources and libraries with one set of options. Paths are relative to the project and posix."""

    module: str
    sources: tuple[str, ...]
    options: NvrtcOptions
    names: tuple[str, ...] = ()
    """Name expressions of kernels."""
    globals: tuple[str, ...] = ()
    """Device variables the host sets."""
    headers: tuple[str, ...] = ()
    """Globs of headers that computed includes may name."""
    libraries: tuple[str, ...] = ()
    """What is linked besides: ``cudadevrt``, or files of the project."""

    @property
    def is_linked(self) -> bool:
        """Whether the images are linked from several things."""
        return len(self.sources) > 1 or bool(self.libraries)

    @property
    def linked_from(self) -> Kind:
        """What the units are compiled to, to be linked: objects, or LTO-IR, also where a library is of that.

        Beside objects, nvJitLink would leave out functions of LTO-IR that only these call.
        """
        lto = self.options.lto or any(library_kind(name) == "ltoir" for name in self.libraries)
        return "ltoir" if lto else "object"

    def cut_sentence(self, sources: SourceSet) -> str:
        """Return the sentence that says where host code is cut without being asked; empty where none is."""
        if self.options.asks_for_cut or not sources.changes:
            return ""
        return f"module {listed_module(self.module)!r}: {cut_sentence(sources.changes, self.sources)}"

    def units(self, sources: SourceSet) -> tuple[Unit, ...]:
        """Return what NVRTC is shown of each source, for any architecture, and which names it is asked for there.

        All of a module's units count as taking the same headers from the toolkit: keys then depend on one digest of it.
        """
        programs = [Program.of(closure, self.options) for closure in sources.units]
        if len(programs) > 1:
            computed = tuple(sorted({place for program in programs for place in program.computed}))
            programs = [replace(program, outside=sources.outside, computed=computed) for program in programs]
        names = [(owner_of(name, sources.units, is_kernel=True), name) for name in self.names]
        variables = [(owner_of(name, sources.units, is_kernel=False), name) for name in self.globals]
        return tuple(
            Unit(
                source=source,
                program=program,
                asked=closure.asked,
                names=tuple(name for owner, name in names if owner == number),
                globals=tuple(name for owner, name in variables if owner == number),
            )
            for number, (source, program, closure) in enumerate(zip(self.sources, programs, sources.units, strict=True))
        )

    def compile_job(
        self,
        unit: Unit,
        arch: SmArch,
        kinds: tuple[Kind, ...],
        *,
        finisher: Finisher | None = None,
        assembled: bool = True,
    ) -> CompileJob:
        """Return the compile of a unit for a real architecture; its finisher is that of a compile at run time."""
        return CompileJob(
            module=self.module,
            source_path=unit.source,
            program=unit.program,
            options=self.options,
            arch=arch,
            kinds=kinds,
            names=unit.names,
            globals=unit.globals,
            finisher=finisher or choose_route(self.options).finisher,
            assembled=assembled,
        )

    def part_jobs(self, units: Sequence[Unit], arch: SmArch, start: Kind) -> tuple[CompileJob, ...]:
        """Return the compiles that give what is linked: objects or LTO-IR, one for each unit."""
        recipe = self.with_lto() if start == "ltoir" else self
        return tuple(recipe.compile_job(unit, arch, (start,), finisher="nvjitlink", assembled=False) for unit in units)

    def job(self, sources: SourceSet, arch: SmArch, kinds: tuple[Kind, ...]) -> Job:
        """Return the whole compile for a real architecture, as it is done at run time.

        Raises ToolchainError for a missing device runtime.
        """
        units = self.units(sources)
        if not self.is_linked:
            return self.compile_job(units[0], arch, kinds)
        fronts = self.part_jobs(units, arch, self.linked_from)
        return FinishJob(fronts=fronts, arch=arch, kinds=kinds, libraries=self.load_libraries(sources))

    def load_libraries(self, sources: SourceSet) -> tuple[DeviceLibrary, ...]:
        """Return the libraries in order. Raises ToolchainError where the device runtime is one, and is not here."""
        found = {library.name: library for library in sources.libraries}
        if DEVICE_RUNTIME in self.libraries:
            from hatch_cuda_kernels.compiler.toolchain import load_device_runtime  # few modules have it

            found[DEVICE_RUNTIME] = load_device_runtime()
        return tuple(found[name] for name in self.libraries)

    def with_lto(self) -> Recipe:
        """Return the recipe of LTO-IR in place of machine code."""
        return replace(self, options=self.options.override(lto=True))
