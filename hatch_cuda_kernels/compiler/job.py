"""What is compiled, how, and what comes out: recipe, program, job, images, and their cache entries.

A recipe is what the manifest states of a module, and a store's index repeats. A program is the part of a compile that
is the same for every architecture. A job compiles a program for one architecture, or finishes the outcome of other
compiles: for an architecture that shares another one's front-end run, or for a module of several units or with
libraries, which is linked. Jobs and their outcomes travel to worker processes and other hosts, so they are values.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from hatch_cuda_kernels import cpp  # few modules have several sources
from hatch_cuda_kernels.cache import Entry
from hatch_cuda_kernels.compiler.key import KEY_SCHEMA, cache_key, digest_of, expressions
from hatch_cuda_kernels.device_library import DEVICE_RUNTIME, DeviceLibrary, library_kind
from hatch_cuda_kernels.errors import ToolchainError
from hatch_cuda_kernels.execution_space import NOT_CUT, ClosureCut, Declared, DeviceSource, SourceChange, SourceSet
from hatch_cuda_kernels.integrity import sha256
from hatch_cuda_kernels.names import VIRTUAL_ROOT, base_name, is_projects, listed_module, lowered_variable
from hatch_cuda_kernels.options import NvrtcOptions, asks_for_cut, canonical_options, override_options
from hatch_cuda_kernels.terminal import count_text

if TYPE_CHECKING:
    from hatch_cuda_kernels.arch import SmArch
    from hatch_cuda_kernels.compiler.toolchain import Toolchain
    from hatch_cuda_kernels.image import Finisher, Kind, Symbol

    Job: TypeAlias = "CompileJob | FinishJob"

#: NVRTC writes the program's base name into symbols of header-heavy sources, so one name serves all sources.
_ANONYMOUS: Final = f"{VIRTUAL_ROOT}module.cu"
_SHOWS_NAME: Final = re.compile(r"\b(?:__FILE__|assert)\b")
#: Why something is cut, by the kind of change.
_REASONS: Final = {
    **dict.fromkeys(("body", "value", "definition", "instantiation", "variable"), "has no device mark"),
    "include": "is a header of the host's",
    "removed": "is the host's",
}


@lru_cache(maxsize=4096)
def _text_digest(text: str) -> str:
    """Return the sha256 of a text in hex; modules share most headers."""
    return sha256(text.encode()).hexdigest()


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
    cut: ClosureCut = NOT_CUT
    """What is known of the texts besides the edits, which they have by now."""
    sha256: str = field(init=False, compare=False, repr=False)
    """Digest of everything NVRTC is shown but the toolkit's headers, in hex."""

    def __post_init__(self) -> None:
        seen = {
            "program_name": self.name,
            "source": _text_digest(self.source),
            "headers": sorted([name, _text_digest(text)] for name, text in self.headers),
            "pre_include": list(self.pre_include),
            **({"default_device": True} if self.cut.default_device else {}),
        }
        object.__setattr__(self, "sha256", digest_of(seen))

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
            cut=closure.cut._replace(edits=()),
        )

    @property
    def has_int128(self) -> bool:
        """Whether the project's texts name 128-bit integers, which nvcc knows without being asked."""
        texts = (text for name, text in self.headers if is_projects(name))
        return any("__int128" in text or "__uint128" in text for text in (self.source, *texts))

    @property
    def toolkit(self) -> tuple[str, ...] | None:
        """Headers that may come from the toolkit; None where none can have a part in the images."""
        return self.outside if self.outside or self.computed else None

    @property
    def opened(self) -> tuple[str, ...]:
        """Those of the headers outside that the source includes in no conditional group: NVRTC opens each."""
        from hatch_cuda_kernels import cpp  # few compiles ask
        from hatch_cuda_kernels.includes import find_includes

        file = cpp.SourceFile(self.name, self.source)
        depth, groups = 0, []
        for one in file.directives:
            depth += {"if": 1, "ifdef": 1, "ifndef": 1, "endif": -1}.get(one.word, 0)
            groups += [one.start] if one.is_include and depth == 0 else []
        plain = {one.spelling[1:-1] for one in find_includes(file) if one.directive in groups}
        return tuple(name for name in self.outside if name in plain or name in self.pre_include)


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
    def opened(self) -> tuple[str, ...]:
        """The headers outside the project that the compile opens whatever macros say."""
        return self.program.opened

    def check(self, found: Toolchain) -> None:
        """Raise ToolchainError for a toolchain whose parts cannot make this job's images together."""
        _check(self, found, self.program.toolkit, self.finisher if self.assembled else "nvrtc")

    @property
    def expressions(self) -> tuple[str, ...]:
        """Every name expression NVRTC is asked for: kernels as written, variables as ``&name``."""
        return expressions(self.names, [name for name in self.globals if f"&{name}" not in self.managed])

    @property
    def managed(self) -> dict[str, str]:
        """The lowered names of ``__managed__`` variables, as ``&name``: NVRTC takes no name expression of one."""
        found = {name: self.program.cut.declared.managed_variable(base_name(name)) for name in self.globals}
        return {f"&{name}": lowered_variable(full) for name, full in found.items() if full}

    def image_arch(self, kind: Kind) -> SmArch:
        """Return the architecture an image of this kind has: virtual for PTX and LTO-IR."""
        return self.arch if kind in {"cubin", "object"} else self.arch.as_virtual

    def key(self, kind: Kind, toolchain: Toolchain) -> str:
        """Return the key of one image of this job; the toolchain may be the whole one or what has a part in the job."""
        return cache_key(
            source_sha256=self.program.sha256,
            options=canonical_options(self.options),
            arch=self.image_arch(kind),
            kind=kind,
            names=self.names,
            variables=self.globals,
            toolchain=self.toolchain(toolchain).key_part,
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

    @classmethod
    def of(cls, image: bytes, known: Compiled | Entry) -> FinishInput:
        """Return an image with what its compile, or its cache entry, says of it."""
        return cls(image, known.kernels, known.globals, known.ptx_isa, known.log)


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishJob:
    """One module for one architecture, made from the images of other compiles.

    With its inputs it is complete in itself, as a CompileJob is; without them, the other compiles come first.
    """

    fronts: tuple[CompileJob, ...]
    """What gives the inputs: the compile whose front-end run is shared, or those of the module's units, in order."""
    arch: SmArch
    """Real; its virtual form is the ``ptx`` that nvJitLink writes from LTO-IR."""
    kinds: tuple[Kind, ...]
    libraries: tuple[DeviceLibrary, ...] = ()
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
    def opened(self) -> tuple[str, ...]:
        """The headers outside the project that the compiles open whatever macros say."""
        return tuple(name for front in self.fronts for name in front.opened)

    def check(self, found: Toolchain) -> None:
        """Raise ToolchainError for a toolchain whose parts cannot make this job's images together."""
        _check(self, found, self.fronts[0].program.toolkit, self.finisher)

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
        """Return the key of one image; the order of units and libraries counts, as it is the order of the code."""
        used = self.toolchain(toolchain)
        fronts = [front.key(self.input_kind, toolchain) for front in self.fronts]
        libraries = [library.sha256 for library in self.libraries]
        linked = len(fronts) > 1 or libraries
        start = {"units": fronts, "libraries": libraries} if linked else {"front_end": fronts[0]}
        version = used.ptxas if self.finisher == "ptxas" else used.nvjitlink
        target = {"arch": str(self.image_arch(kind)), "kind": kind, self.finisher: version}
        return digest_of({"schema": KEY_SCHEMA, **start, **target})

    def toolchain(self, found: Toolchain) -> Toolchain:
        """Return what of a toolchain has a part in this job's images."""
        used = found.of_compile(self.fronts[0].program.toolkit, finisher=self.finisher)
        runtime = (library.version for library in self.libraries if library.name == DEVICE_RUNTIME)
        return used._replace(cudadevrt=next(runtime, ""))


def _check(job: Job, found: Toolchain, outside: tuple[str, ...] | None, finisher: Finisher) -> None:
    from hatch_cuda_kernels.compiler.toolchain import disagreement  # the help of commands has no use for it

    problem = disagreement(found, outside, finisher=finisher, opened=lambda: job.opened)
    if problem is not None:
        raise ToolchainError(problem.message, problem.fix)


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


FINISHER_NAMES: Final[dict[Finisher, str]] = {"nvrtc": "NVRTC", "ptxas": "ptxas", "nvjitlink": "nvJitLink"}


def choose_finisher(
    options: NvrtcOptions,
    *,
    front_end: str = "per-arch",
    outside: Iterable[str] = (),
    tables: bool = False,
    linked: bool = False,
) -> Finisher:
    """Return what makes the CUBINs of a module.

    ``outside`` are the headers it takes from the toolkit; ``tables`` says whether it defines variables, and ``linked``
    whether it has several units, or libraries.

    | module | NVRTC makes | finished by | machine code |
    |---|---|---|---|
    | ``lto: true`` | LTO-IR, for each architecture | nvJitLink | optimized again |
    | ``front_end: lto`` | LTO-IR, once | nvJitLink, for each architecture | optimized again |
    | several sources, or libraries | objects, for each architecture | nvJitLink | of each source by itself |
    | ``front_end: ptx`` | PTX, once | ptxas, for each architecture | of a whole program |
    | ``debug: true`` | a CUBIN, for each architecture | NVRTC | NVRTC's own |
    | with constants of CUB, Thrust or libcu++, or tables | PTX, for each architecture | ptxas | NVRTC's own |
    | any other, and whatever is compiled at run time | a CUBIN, for each architecture | NVRTC | NVRTC's own |

    Unused variables are left out of PTX before it is finished, and of LTO-IR by nvJitLink. From the LTO-IR of several
    sources, nvJitLink also writes PTX. For the architecture of its own front end, ptxas makes NVRTC's own machine code
    of PTX. At run time there may be no ptxas, and the outcome of a compile must not depend on it.
    """
    if options.lto or front_end == "lto" or linked:
        return "nvjitlink"
    if front_end == "ptx":
        return "ptxas"
    if outside and not (tables or options.debug):
        from hatch_cuda_kernels.libraries import defines_constants  # small kernels include nothing

        tables = any(map(defines_constants, outside))
    return "ptxas" if tables and not options.debug else "nvrtc"


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
        """What the units are compiled to: objects, or LTO-IR if a library is LTO-IR.

        Beside objects, nvJitLink would leave out functions of LTO-IR that only the objects call.
        """
        lto = self.options.lto or any(library_kind(name) == "ltoir" for name in self.libraries)
        return "ltoir" if lto else "object"

    def cut_sentence(self, sources: SourceSet) -> str:
        """Return the sentence that says where host code is cut without being asked, and why; empty where none is."""
        changes = sources.changes
        if asks_for_cut(self.options) or not changes:
            return ""
        cut = [found for found in changes if found.kind in _REASONS]
        places = dict.fromkeys(found.path for found in cut or changes)
        named = [path for path in self.sources if path in places]
        others = len(places) - len(named)
        files = " and ".join([*named, *([count_text(others, "header")] if others else [])])
        first = min(cut or changes, key=lambda found: (found.kind != "body", found.path not in self.sources, found))
        why = f"{first.name} ({first.path}:{first.line}) {_REASONS[first.kind]}" if cut else str(first)
        did = f"{'host code cut' if cut else 'text changed'} in {files}: {why}"
        return f"module {listed_module(self.module)!r}: {did}; host_code: keep turns this off"

    def units(self, sources: SourceSet) -> tuple[Unit, ...]:
        """Return what NVRTC is shown of each source, for any architecture, with the names that it is asked for.

        All units count as taking the same headers from the toolkit, so that keys depend on one digest of it.
        """
        programs = [Program.of(closure, self.options) for closure in sources.units]
        if len(programs) > 1:
            computed = tuple(sorted({place for program in programs for place in program.computed}))
            programs = [replace(program, outside=sources.outside, computed=computed) for program in programs]
        owners = {name: owner_of(name, sources.units, is_kernel=True) for name in self.names}
        places = {name: owner_of(name, sources.units, is_kernel=False) for name in self.globals}
        return tuple(
            Unit(
                source=source,
                program=program,
                asked=closure.asked,
                names=tuple(name for name in self.names if owners[name] == number),
                globals=tuple(name for name in self.globals if places[name] == number),
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
            finisher=finisher or choose_finisher(self.options),
            assembled=assembled,
        )

    def part_jobs(self, units: Sequence[Unit], arch: SmArch, start: Kind) -> tuple[CompileJob, ...]:
        """Return the compiles that give what is linked: objects or LTO-IR, one for each unit."""
        recipe = self.with_lto() if start == "ltoir" else self
        return tuple(recipe.compile_job(unit, arch, (start,), finisher="nvjitlink", assembled=False) for unit in units)

    def job(self, sources: SourceSet, arch: SmArch, kinds: tuple[Kind, ...]) -> Job:
        """Return the whole compile for a real architecture, as run time does it. Raises ToolchainError."""
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
        return replace(self, options=override_options(self.options, lto=True))


def owner_of(name: str, units: Sequence[DeviceSource], *, is_kernel: bool) -> int:
    """Return which of a module's sources declares a kernel or a variable: its name expression is compiled there.

    One that declares it itself comes before one whose header does; of several, the one that has most of the words of
    the expression. A kernel that none declares goes where one with a similar name is.
    """
    if len(units) < 2:
        return 0
    declared = [_by_name(unit.cut.declared, is_kernel=is_kernel) for unit in units]
    wanted = base_name(name).rpartition("::")[2]
    every = {known for one in declared for known in one}
    if is_kernel and wanted not in every:
        import difflib  # only for the message

        wanted = next(iter(difflib.get_close_matches(wanted, sorted(every), n=1)), wanted)
    scores = [
        (unit.program_name in one.get(wanted, ()), wanted in one) for unit, one in zip(units, declared, strict=True)
    ]
    best = max(scores)
    if scores.count(best) == 1 or best == (False, False):
        return scores.index(best)
    words = _identifiers([name])
    texts = ([unit.source, *(text for path, text in unit.headers if is_projects(path))] for unit in units)
    counts = [len(words & _identifiers(one)) if score == best else -1 for one, score in zip(texts, scores, strict=True)]
    return counts.index(max(counts))


def _by_name(declared: Declared, *, is_kernel: bool) -> dict[str, set[str]]:
    """Return the files that declare a name without namespaces, by name."""
    found: dict[str, set[str]] = {}
    for one in declared.kernels if is_kernel else declared.variables:
        found.setdefault(one.name.rpartition("::")[2], set()).add(one.file)
    return found


def _identifiers(texts: Iterable[str]) -> frozenset[str]:
    return frozenset(filter(cpp.is_identifier, chain.from_iterable(map(cpp.lex, texts))))
