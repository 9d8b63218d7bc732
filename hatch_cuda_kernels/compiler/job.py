"""What is compiled and what comes out: a program, a job for one architecture, its images, and their cache entries.

A program is the part of a compile that is the same for every architecture. A job compiles one for one architecture, or
finishes what other compiles gave: an architecture that shares another one's front-end run, whose PTX or LTO-IR is
finished for it, or a module of several units (or with libraries), whose objects are linked. Jobs and what they give
travel to worker processes and other hosts, so they are plain values.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, NamedTuple

from hatch_cuda_kernels.cache import Entry
from hatch_cuda_kernels.compiler.key import cache_key, expressions, finish_key, source_digest
from hatch_cuda_kernels.device_library import DEVICE_RUNTIME
from hatch_cuda_kernels.execution_space import NOTHING_DECLARED
from hatch_cuda_kernels.names import VIRTUAL_ROOT

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeAlias

    from hatch_cuda_kernels.arch import SmArch
    from hatch_cuda_kernels.compiler.toolchain import Toolchain
    from hatch_cuda_kernels.device_library import DeviceLibrary
    from hatch_cuda_kernels.execution_space import Declared, DeviceSource, SourceChange
    from hatch_cuda_kernels.image import Finisher, Kind, Symbol
    from hatch_cuda_kernels.options import NvrtcOptions

    Job: TypeAlias = "CompileJob | FinishJob"

#: NVRTC writes the program's base name into symbols of header-heavy sources, so one name serves all sources.
_ANONYMOUS: Final = f"{VIRTUAL_ROOT}module.cu"
_SHOWS_NAME: Final = re.compile(r"\b(?:__FILE__|assert)\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A source with its headers under the names NVRTC sees."""

    source: str
    name: str
    headers: tuple[tuple[str, str], ...]
    """(in-memory name, text) of each project header."""
    pre_include: tuple[str, ...]
    outside: tuple[str, ...]
    """Headers as spelled that are not the project's: the toolkit's, or missing."""
    computed: tuple[str, ...]
    """``path:line`` of includes and probes whose header a macro names; it may be one of the toolkit's too."""
    changes: tuple[SourceChange, ...] = ()
    """What was cut or changed, for messages."""
    default_device: bool = False
    """Whether NVRTC takes what has no mark for device code."""
    cut_variables: tuple[str, ...] = ()
    """Qualified names of variables that lost their values: no code may use them."""
    loses_constants: bool = False
    """Whether one of these is const."""
    unread: str = ""
    """Why the texts could not be read as C++: NVRTC has to refuse them."""
    declared: Declared = NOTHING_DECLARED
    """The kernels and variables that the texts declare."""
    sha256: str = field(init=False, compare=False, repr=False)
    """Digest of everything NVRTC is shown but the toolkit's headers, in hex."""

    def __post_init__(self) -> None:
        digest = source_digest(
            program_name=self.name,
            source=self.source,
            headers=self.headers,
            pre_include=self.pre_include,
            default_device=self.default_device,
        )
        object.__setattr__(self, "sha256", digest)

    @classmethod
    def of(cls, closure: DeviceSource, options: NvrtcOptions) -> Program:
        """Return the program of a closure. It is named after the source only where the image shows the name."""
        shown = options.lineinfo or options.debug or _SHOWS_NAME.search(closure.source) is not None
        return cls(
            source=closure.source,
            name=closure.program_name if shown else _ANONYMOUS,
            headers=closure.headers,
            pre_include=closure.pre_include,
            outside=closure.outside,
            computed=closure.computed + closure.probes,
            changes=closure.changes,
            default_device=closure.cut.default_device,
            cut_variables=closure.cut.variables,
            loses_constants=closure.cut.loses_constants,
            unread=closure.cut.unread,
            declared=closure.cut.declared,
        )

    @property
    def has_int128(self) -> bool:
        """Whether the project's texts name 128-bit integers, which nvcc knows without being asked."""
        texts = (text for name, text in self.headers if name.startswith(VIRTUAL_ROOT))
        return any("__int128" in text or "__uint128" in text for text in (self.source, *texts))

    @property
    def toolkit(self) -> tuple[str, ...] | None:
        """Headers that may come from the toolkit; None where none can have a part in the images."""
        return self.outside if self.outside or self.computed else None


@dataclass(frozen=True, slots=True, kw_only=True)
class CompileJob:
    """One module for one architecture, complete in itself: it compiles the same in any process on any host.

    ``arch`` is real; a virtual architecture is the ``ptx`` (or ``ltoir``) of the same compile, whose CUBIN proves that
    the PTX can be assembled. Where other jobs will finish what it gives, this one can do without (``assembled``).
    """

    module: str
    source_path: str
    program: Program
    options: NvrtcOptions
    arch: SmArch
    kinds: tuple[Kind, ...]
    """Empty where NVRTC is only to say whether its front end takes the source and the names."""
    names: tuple[str, ...] = ()
    globals: tuple[str, ...] = ()
    finisher: Finisher = "nvrtc"
    """What makes the CUBIN, here or (from PTX) in other jobs."""
    assembled: bool = True
    """Whether it is made here; not of an ``object``, nor of a unit's LTO-IR, which lack what other units define."""

    @property
    def is_unit(self) -> bool:
        """Whether the source is one of a module's units: what is made of it has to be linked."""
        return self.finisher == "nvjitlink" and not self.assembled

    @property
    def uses_toolkit_headers(self) -> bool:
        """Whether the toolkit's headers can have a part in the image."""
        return self.program.toolkit is not None

    @property
    def expressions(self) -> tuple[str, ...]:
        """Every name expression NVRTC is asked for: kernels as written, variables as ``&name``."""
        return expressions(self.names, self.globals)

    def image_arch(self, kind: Kind) -> SmArch:
        """Return the architecture an image of this kind has: virtual for PTX and LTO-IR."""
        return self.arch if kind in {"cubin", "object"} else self.arch.as_virtual

    def key(self, kind: Kind, toolchain: Toolchain) -> str:
        """Return the key of one image of this job; the toolchain may be the whole one or what has a part in the job."""
        toolchain = self.toolchain(toolchain)
        return cache_key(
            source_sha256=self.program.sha256,
            options=self.options.canonical(),
            arch=self.image_arch(kind),
            kind=kind,
            names=self.names,
            variables=self.globals,
            toolchain=toolchain.key_part,
            finisher=self.finisher if self.assembled else None,
        )

    def toolchain(self, found: Toolchain) -> Toolchain:
        """Return what of a toolchain has a part in this job's images."""
        return found.of_compile(self.program.toolkit, finisher=self.finisher if self.assembled else "nvrtc")


class Finished(NamedTuple):
    """What ptxas or nvJitLink made, and what it said."""

    image: bytes
    log: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiled:
    """What one job gave: its images, and what the images were found to hold."""

    images: dict[Kind, bytes]
    kernels: tuple[Symbol, ...]
    globals: tuple[Symbol, ...]
    resources: dict[str, dict[str, int]]
    """Per lowered name: registers, shared, stack, spill_stores, spill_loads."""
    ptx_isa: tuple[int, int]
    toolchain: Toolchain
    log: str
    """NVRTC's warnings; empty when there are none."""
    seconds: float


class FinishInput(NamedTuple):
    """One image to finish, and what its compile said of it."""

    image: bytes
    kernels: tuple[Symbol, ...]
    globals: tuple[Symbol, ...]
    ptx_isa: tuple[int, int]
    log: str = ""
    """Its compiler's warnings."""

    @classmethod
    def of(cls, image: bytes, known: Compiled | Entry) -> FinishInput:
        """Return an image with what its compile, or its cache entry, says of it."""
        return cls(image, known.kernels, known.globals, known.ptx_isa, known.log)


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishJob:
    """One module for one architecture, made from the images of other compiles.

    It has its keys when it is planned; with its inputs it is complete in itself, as a CompileJob is. Without them, they
    are compiled first.
    """

    fronts: tuple[CompileJob, ...]
    """What gives the inputs: the compile whose front-end run is shared, or those of the module's units, in order."""
    arch: SmArch
    """Real; its virtual form is the ``ptx`` that nvJitLink writes from LTO-IR."""
    kinds: tuple[Kind, ...]
    libraries: tuple[DeviceLibrary, ...] = ()
    """What is linked besides."""
    inputs: tuple[FinishInput, ...] = ()

    def starting_from(self, inputs: Sequence[FinishInput]) -> FinishJob:
        """Return the job with its inputs, in the order of ``fronts``."""
        return replace(self, inputs=tuple(inputs))

    @property
    def module(self) -> str:
        """The module's name."""
        return self.fronts[0].module

    @property
    def uses_toolkit_headers(self) -> bool:
        """Whether the toolkit's headers can have a part in the image."""
        return self.fronts[0].uses_toolkit_headers

    @property
    def finisher(self) -> Finisher:
        """What makes the images."""
        return self.fronts[0].finisher

    @property
    def input_kind(self) -> Kind:
        """What they are made from: what a compile makes last."""
        return self.fronts[0].kinds[-1]

    def image_arch(self, kind: Kind) -> SmArch:
        """Return the architecture an image of this kind has: virtual for PTX."""
        return self.arch if kind == "cubin" else self.arch.as_virtual

    def key(self, kind: Kind, toolchain: Toolchain) -> str:
        """Return the key of one image of this job: those of its inputs, the target, and the finisher's version."""
        used = self.toolchain(toolchain)
        return finish_key(
            front_ends=[front.key(self.input_kind, toolchain) for front in self.fronts],
            libraries=[library.sha256 for library in self.libraries],
            arch=self.image_arch(kind),
            kind=kind,
            finisher=self.finisher,
            version=used.ptxas if self.finisher == "ptxas" else used.nvjitlink,
        )

    def toolchain(self, found: Toolchain) -> Toolchain:
        """Return what of a toolchain has a part in this job's images."""
        used = found.of_compile(self.fronts[0].program.toolkit, finisher=self.finisher)
        runtime = (library.version for library in self.libraries if library.name == DEVICE_RUNTIME)
        return used._replace(cudadevrt=next(runtime, ""))


def entry_of(job: Job, kind: Kind, compiled: Compiled, *, wanted: str = "") -> Entry:
    """Return the entry of one image of a job that was compiled just now; ``wanted`` is as in ``Entry``."""
    return Entry(
        key=job.key(kind, compiled.toolchain),
        module=job.module,
        kind=kind,
        arch=job.image_arch(kind),
        image=compiled.images[kind],
        kernels=compiled.kernels,
        globals=compiled.globals,
        resources=compiled.resources,
        ptx_isa=compiled.ptx_isa,
        toolchain=compiled.toolchain.to_json(),
        log=compiled.log,
        created=Entry.now(),
        seconds=compiled.seconds,
        wanted=wanted,
    )
