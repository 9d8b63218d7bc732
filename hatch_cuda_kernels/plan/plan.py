"""From a manifest to the ordered compile jobs, a pure function once the sources are read, and the toolkit release.

``front_end: lto`` and ``ptx`` run NVRTC's front end once, at the lowest architecture. PTX cannot be made from PTX, nor
LTO-IR from LTO-IR: a higher architecture that lists one of them is compiled by itself, for its real form too.

Modules of several units, or with libraries, are linked from objects, or from LTO-IR if the manifest asks for that. PTX
cannot be linked: nvJitLink writes it from the LTO-IR of all units, which are compiled to LTO-IR for it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, TypeAlias

from hatch_cuda_kernels.arch import SmArch, version_text
from hatch_cuda_kernels.collector import uncollected
from hatch_cuda_kernels.compiler import CompileJob, FinishJob, SourceReader, choose_finisher
from hatch_cuda_kernels.compiler.toolchain import (
    PackageRecord,
    Toolchain,
    bindings_major,
    build_extra,
    current_toolchain,
    find_toolchain,
    own,
    package_records,
    pip_install,
    release_requirements,
    supports_arch,
)
from hatch_cuda_kernels.device_library import DEVICE_RUNTIME, DeviceLibrary, library_kind
from hatch_cuda_kernels.errors import (
    BuildError,
    CompileError,
    InputError,
    ManifestError,
    Problem,
    ToolchainError,
    suggest,
)
from hatch_cuda_kernels.image import Finisher, ImageId, Kind
from hatch_cuda_kernels.names import base_name, family_key, placeholders
from hatch_cuda_kernels.options import option_conflicts
from hatch_cuda_kernels.store import BuiltModule, ExpressionError, python_text

if TYPE_CHECKING:
    from hatch_cuda_kernels.cache import Entry
    from hatch_cuda_kernels.compiler import Job, Recipe
    from hatch_cuda_kernels.execution_space import SourceSet
    from hatch_cuda_kernels.manifest import Manifest, Module, StatedRule
    from hatch_cuda_kernels.store import LaunchRule, ModuleFamily

    _Kinds: TypeAlias = dict[SmArch, tuple[Kind, ...]]


def image_kind(arch: SmArch, *, lto: bool) -> Kind:
    """Return what an architecture's image is: CUBIN for a real one, PTX (or LTO-IR) for a virtual one."""
    if not arch.virtual:
        return "cubin"
    return "ltoir" if lto else "ptx"


def _wanted_kinds(arches: Iterable[SmArch], *, lto: bool) -> _Kinds:
    wanted: _Kinds = {}
    for arch in sorted(arches):
        wanted[arch.real] = (*wanted.get(arch.real, ()), image_kind(arch, lto=lto))
    return wanted


def job_images(job: Job) -> list[ImageId]:
    """Return what a job's images are called, in the order of its kinds."""
    unit = job.source_path if isinstance(job, CompileJob) and job.is_unit else ""
    return [ImageId(job.module, job.image_arch(kind), kind, unit) for kind in job.kinds]


def _shared_run(arches: Iterable[SmArch], rest: Sequence[SmArch], front_end: str) -> SmArch:
    """Return the first architecture whose code serves the ``rest``. Raises InputError if there is none."""
    found = next((arch for arch in arches if all(arch.serves(other) for other in rest)), None)
    if found is not None:
        return found
    suffixed = next(arch for arch in rest if arch.suffix)
    others = "family" if suffixed.suffix == "f" else "architecture"
    raise InputError(
        f"front_end: {front_end} needs one architecture whose code serves all, and none of "
        f"{', '.join(map(str, rest))} does: code for {suffixed} goes to no other {others}; write front_end: per-arch, "
        f"or add {suffixed.plain}, whose code has no architecture-specific features"
    )


#: Libraries that may hold LTO-IR; nvJitLink says whether they do.
_MAY_HAVE_LTO_IR: Final = frozenset({"archive", "fatbin", "ltoir", "object file"})
_FROM_LTO_IR: Final = "is PTX, which is linked from LTO-IR"


def _lay_out_links(
    recipe: Recipe, sources: SourceSet, arches: Iterable[SmArch], front_end: str
) -> tuple[tuple[CompileJob, ...], tuple[FinishJob, ...]]:
    """Return the compiles of a module's units and the jobs that link them. Raises InputError or ToolchainError."""
    wanted = _wanted_kinds(arches, lto=False)
    refusals = [*_refusals(recipe, wanted, front_end)]
    if refusals:
        raise InputError("; ".join(refusals))
    units, libraries = recipe.units(sources), recipe.load_libraries(sources)
    lto = recipe.linked_from == "ltoir" or front_end == "lto"
    shared = _shared_run(wanted, [*wanted], front_end) if front_end == "lto" else None
    compiles: dict[tuple[SmArch, Kind], tuple[CompileJob, ...]] = {}
    links = []
    for arch, kinds in wanted.items():
        starts: dict[Kind, list[Kind]] = defaultdict(list)
        for kind in kinds:
            starts["ltoir" if lto or kind == "ptx" else "object"].append(kind)
        for start, made in starts.items():
            front = shared or arch, start
            if front not in compiles:
                compiles[front] = recipe.part_jobs(units, *front)
            links.append(FinishJob(fronts=compiles[front], arch=arch, kinds=tuple(made), libraries=libraries))
    return tuple(job for jobs in compiles.values() for job in jobs), tuple(links)


def _refusals(recipe: Recipe, wanted: _Kinds, front_end: str) -> Iterator[str]:
    if front_end == "ptx":
        yield "front_end: ptx starts from PTX, which cannot be linked; write front_end: lto"
    ptx = next((arch.as_virtual for arch, kinds in wanted.items() if "ptx" in kinds), None)
    if ptx is None:
        return
    fix = "list real architectures only, under 'arches:' of this module"
    runtime = [name for name in recipe.libraries if name == DEVICE_RUNTIME]
    without = [name for name in recipe.libraries if name in runtime or library_kind(name) not in _MAY_HAVE_LTO_IR]
    if without:
        yield f"{ptx} {_FROM_LTO_IR}, and {', '.join(without)} has none; {fix}"
    yield from (f"{ptx} {_FROM_LTO_IR}: {conflict}" for conflict in option_conflicts(recipe.with_lto().options))


def _lay_out(arches: Iterable[SmArch], *, front_end: str, lto: bool) -> tuple[_Kinds, _Kinds, SmArch | None]:
    """Return the kinds of image that NVRTC compiles, and those that are finished from a shared run, by architecture.

    With them comes the architecture of the shared run, if any, whose kinds include what the others start from. Raises
    InputError if no run can serve them all.
    """
    wanted = _wanted_kinds(arches, lto=lto)
    if front_end == "per-arch":
        return wanted, {}, None
    if front_end == "ptx" and lto:
        raise InputError("front_end: ptx starts from PTX, and lto: true makes none; write front_end: lto")
    start: Kind = "ltoir" if front_end == "lto" else "ptx"
    rest = [arch for arch, kinds in wanted.items() if start not in kinds]
    shared = _shared_run(wanted, rest, front_end)
    finished = {arch: wanted[arch] for arch in rest if arch != shared}
    compiled = {arch: kinds for arch, kinds in wanted.items() if arch not in finished}
    if not finished:
        return compiled, {}, None
    own = tuple(kind for kind in wanted[shared] if kind != start)
    if own and front_end == "ptx":  # as for the others: without the variables that nobody uses
        finished = {shared: own, **finished}
        own = ()
    compiled[shared] = (*own, start)
    return compiled, finished, shared


def lay_out_jobs(
    recipe: Recipe, sources: SourceSet, arches: Iterable[SmArch], front_end: str
) -> tuple[tuple[CompileJob, ...], tuple[FinishJob, ...]]:
    """Return the compiles of a module, for each unit and real architecture, and the jobs that finish what they give.

    Raises InputError for architectures that cannot share, and for options that would not reach every image;
    ToolchainError for a missing device runtime.
    """
    conflicts = option_conflicts(recipe.options, front_end=front_end)
    if conflicts:
        raise InputError("; ".join(conflicts))
    if recipe.is_linked:
        return _lay_out_links(recipe, sources, arches, front_end)
    compiled, finished, shared = _lay_out(arches, front_end=front_end, lto=recipe.options.lto)
    finisher = finisher_of(recipe, front_end, sources)
    recipe = recipe.with_lto() if front_end == "lto" else recipe
    (unit,) = recipe.units(sources)
    compiles = {}
    for arch, kinds in compiled.items():
        assembled = arch != shared or kinds != ("ptx",)  # else those do it that finish the PTX
        compiles[arch] = recipe.compile_job(unit, arch, kinds, finisher=finisher, assembled=assembled)
    fronts = () if shared is None else (compiles[shared],)
    finishing = (FinishJob(fronts=fronts, arch=arch, kinds=kinds) for arch, kinds in finished.items())
    return tuple(compiles.values()), tuple(finishing)


def finisher_of(recipe: Recipe, front_end: str, sources: SourceSet) -> Finisher:
    """Return what makes the CUBINs of a module with these sources."""
    tables = sources.declared.defines_tables(recipe.globals)
    linked, outside = recipe.is_linked, sources.outside
    return choose_finisher(recipe.options, front_end=front_end, outside=outside, tables=tables, linked=linked)


def _name_rules(
    modules: Sequence[Module], sources: Mapping[str, SourceSet]
) -> tuple[dict[str, tuple[LaunchRule, ...]], list[Problem]]:
    """Return each module's rules for kernels that it declares, with the names of parameters, and all problems."""
    if not any(module.launch for module in modules):
        return {module.name: () for module in modules}, []
    found: dict[str, tuple[LaunchRule, ...]] = {}
    problems: list[Problem] = []
    declared = {module.name: sources[module.name].declared for module in modules}
    for module in modules:
        siblings = [declared[other.name] for other in modules if other.entry == module.entry]
        rules = []
        for stated in module.launch:
            kernel = stated.rule.kernel
            names = declared[module.name].parameter_names(kernel)
            if names is not None:
                problems += _problems(stated, names)
                rules.append(stated.rule._replace(names=names))
            elif all(other.parameter_names(kernel) is None for other in siblings):
                name, known = base_name(kernel).rpartition("::")[2], declared[module.name].names
                message, fix = f"{name!r} is declared with different numbers of parameters", "rename one of them"
                if name not in known:
                    message = f"no kernel {name!r} is declared in the sources{suggest(name, known)}"
                    fix = "list a source that declares it"
                problems.append(Problem(message, fix, stated.where))
        found[module.name] = tuple(rules)
    return found, list(dict.fromkeys(problems))


def _problems(stated: StatedRule, names: tuple[str, ...]) -> Iterator[Problem]:
    known = {name: name for name in names if name}
    values = dict.fromkeys(placeholders(stated.rule.kernel), "1")
    texts = {"grid": stated.rule.grid, "block": stated.rule.block, "shared_mem": (stated.rule.shared_mem,)}
    for key, size in ((key, size) for key, sizes in texts.items() for size in sizes):
        try:
            python_text(size, known, values)
        except ExpressionError as error:
            yield from (Problem(problem, where=stated.places.get(key, stated.where)) for problem in error.problems)


_CHUNK_GLOBALS: Final = "each chunk is a separate program with separate variables; leave out chunk, or globals"
_CHUNK_LINKED: Final = "chunk is for modules of one source; leave it out, and put instances into separate sources"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedModule:
    """One module, or chunk of one, with its sources read and its compiles laid out, ascending by architecture."""

    module: Module
    sources: SourceSet
    jobs: tuple[CompileJob, ...]
    """What NVRTC compiles; at least one."""
    finishing: tuple[FinishJob, ...] = ()
    """What is finished from one of these jobs, or linked from all of one architecture."""
    launch: tuple[LaunchRule, ...] = ()
    others: ModuleFamily | None = None
    """In one module of each entry with axes in its name: how combinations that are not listed are compiled."""

    @property
    def shares_front_end(self) -> bool:
        """Whether one run of NVRTC's front end serves several architectures."""
        return self.module.front_end != "per-arch" and bool(self.finishing)

    @property
    def all_jobs(self) -> tuple[Job, ...]:
        """Everything a worker may have to do for the module."""
        return (*self.jobs, *self.finishing)

    @property
    def images(self) -> tuple[ImageId, ...]:
        """Every image the store gets, ascending by architecture. The jobs may give one more, to be finished."""
        lto = self.module.options.lto and not self.module.recipe.is_linked
        return tuple(ImageId(self.module.name, arch, image_kind(arch, lto=lto)) for arch in self.module.arches)

    @property
    def libraries(self) -> tuple[DeviceLibrary, ...]:
        """What is linked to the units."""
        return self.finishing[0].libraries if self.finishing else ()

    @property
    def packages(self) -> tuple[PackageRecord, ...]:
        """What brought the headers of packages that the module uses."""
        return package_records(self.sources.files)

    def toolchain(self, found: Toolchain) -> Toolchain:
        """Return the parts of a toolchain that the module uses. Headers are searched once for all its images."""
        return self.all_jobs[-1].toolchain(found)

    def built(self, entries: Mapping[ImageId, Entry], toolchain: Toolchain) -> BuiltModule:
        """Return the module with its images, which are among the entries."""
        job, used, recipe = self.jobs[0], self.toolchain(toolchain), self.module.recipe
        return BuiltModule.of(
            [entries[image] for image in self.images],
            recipe=recipe,
            sources=self.sources,
            units=recipe.units(self.sources),
            libraries=self.libraries,
            toolchain=used if job.uses_toolkit_headers else used._replace(headers=""),
            front_end=self.module.front_end,
            packing=self.module.packing,
            patterns=tuple(pattern.to_json() for pattern in self.module.patterns),
            launch=self.launch,
            where=self.module.where,
            family=self.module.family,
            axes=dict(self.module.axes),
            packages=tuple(record.to_json() for record in self.packages),
            others=self.others,
        )


def make_plan(manifest: Manifest, reader: SourceReader | None = None) -> tuple[PlannedModule, ...]:
    """Read the sources and return the plan, ordered by module. Raises ManifestError with everything that is wrong."""
    sources = read_sources(manifest, reader)
    plan: list[PlannedModule] = []
    rules, found = _name_rules(manifest.modules, sources)
    problems = [str(problem) for problem in sorted(found, key=Problem.place)]
    for module in manifest.modules:
        try:
            plan += _plan_module(module, sources[module.name], rules[module.name])
        except InputError as error:
            problems.append(f"{module.where}: {error}")
    problems += _unknown_host_names(manifest.modules, sources)
    if problems:
        raise ManifestError(problems)
    families = find_families(manifest, sources)
    return tuple(replace(planned, others=families.get(planned.module.name)) for planned in plan)


def find_families(manifest: Manifest, sources: Mapping[str, SourceSet]) -> dict[str, ModuleFamily]:
    """Return what each entry with axes in its name says of further combinations, by the module that keeps it.

    The files that a combination may read are those of all modules of the entry, and what the manifest's ``headers``
    match: macros may name these.
    """
    alike: dict[tuple[str, str], list[Module]] = defaultdict(list)
    for module in manifest.modules:
        if module.unfilled is not None:
            alike[module.entry, module.family].append(module)
    found: dict[str, ModuleFamily] = {}
    for modules in alike.values():
        holder = min(modules, key=lambda module: family_key(module.family, dict(module.axes)).encode())
        assert holder.unfilled is not None  # noqa: S101 - as above
        read = sources[holder.name]
        rules = []
        for rule, stated in zip(holder.unfilled.launch, holder.launch, strict=True):
            names = read.declared.parameter_names(stated.rule.kernel)
            rules += [] if names is None else [rule._replace(names=names)]
        files = {path: digest for module in modules for path, digest in sources[module.name].files.items()}
        from hatch_cuda_kernels.compiler import declared_headers  # a rebuild without families loads no reader

        files |= declared_headers(holder.recipe, manifest.root, read)
        files = {path: digest for path, digest in sorted(files.items()) if path not in read.files}
        found[holder.name] = holder.unfilled._replace(launch=tuple(rules), files=files)
    return found


def _unknown_host_names(modules: Iterable[Module], sources: Mapping[str, SourceSet]) -> Iterator[str]:
    """Yield a problem for each list of ``host_only`` with names that occur in none of its modules."""
    stating: dict[tuple[str, ...], list[Module]] = defaultdict(list)
    for module in modules:
        stating[module.options.host_only].append(module)
    stating.pop((), None)
    for names, alike in stating.items():
        changed = (found.name for one in alike for found in sources[one.name].changes)
        words = {word for name in changed for word in (name, *re.findall(r"[~\w]+", name))}
        unknown = [name for name in names if name.strip("<>") not in words and name.rpartition("::")[2] not in words]
        if unknown:
            yield f"{alike[0].where}: host_only: nothing in its files is called {' or '.join(unknown)}"


def _plan_module(module: Module, sources: SourceSet, launch: tuple[LaunchRule, ...]) -> Iterator[PlannedModule]:
    if module.chunk and (module.globals or module.recipe.is_linked):
        raise InputError(_CHUNK_GLOBALS if module.globals else _CHUNK_LINKED)
    for chunk in module.chunks():
        jobs, finishing = lay_out_jobs(chunk.recipe, sources, chunk.arches, chunk.front_end)
        yield PlannedModule(module=chunk, sources=sources, jobs=jobs, finishing=finishing, launch=launch)


def open_reader(manifest: Manifest) -> SourceReader:
    """Return what reads the sources of a manifest's modules."""
    try:
        compiler = current_toolchain().nvrtc
    except ToolchainError:
        compiler = ""
    targets = sorted({str(arch) for module in manifest.modules for arch in module.arches})
    names = [module.name for module in manifest.modules]
    return SourceReader(manifest.root, names, compiled_for=" ".join((compiler, *targets)))


def learn(plan: Iterable[PlannedModule], failures: Iterable[tuple[Job, Exception]], reader: SourceReader) -> bool:
    """Read sources again whose host code NVRTC refused. Return whether the plan has to be made again."""
    recipes = {planned.module.name: planned.module.recipe for planned in plan}
    learned = [reader.learn(recipes[job.module], error) for job, error in failures if isinstance(error, CompileError)]
    return any(learned)


def read_sources(manifest: Manifest, reader: SourceReader | None = None) -> dict[str, SourceSet]:
    """Return each module's sources with their header closures. Raises ManifestError with all problems."""
    sources, problems = {}, []
    is_own, reader = reader is None, reader or open_reader(manifest)
    with uncollected():
        for module in manifest.modules:
            try:
                sources[module.name] = reader.read(module.recipe)
            except InputError as error:
                problems.append(f"{module.where}: {error}")
        reader.save(is_done=is_own)
    if problems:
        raise ManifestError(problems)
    return sources


def check_release(manifest: Manifest) -> list[str]:
    """Return warnings about the NVRTC found.

    Raises ToolchainError if it is missing or of a wrong release, BuildError if it does not know an architecture.
    """
    if manifest.cuda is not None and bindings_major() != manifest.cuda[0]:
        raise ToolchainError(
            f"{manifest.path.name} asks for CUDA {version_text(manifest.release)}, the cuda-bindings found "
            f"load the libraries of CUDA {bindings_major()}",
            f'write "{own(build_extra(manifest.release[0]))}" into build-system.requires of pyproject.toml; without '
            f"build isolation, {pip_install(*requirements(manifest))}",
        )
    try:
        toolchain = find_toolchain()
    except ToolchainError as error:
        raise ToolchainError(error.message, pip_install(*requirements(manifest))) from error
    found = toolchain.release
    if manifest.cuda is not None and found != manifest.cuda:
        raise ToolchainError(
            f"{manifest.path.name} asks for CUDA {version_text(manifest.cuda)}, "
            f"the NVRTC found is {version_text(found)}",
            pip_install(*requirements(manifest)),
        )
    listed = [(module.where, arch) for module in manifest.modules for arch in module.arches]
    unknown = {arch for arch in {arch for _, arch in listed} if not supports_arch(arch, found)}
    if unknown:
        nvrtc = f"NVRTC {toolchain.nvrtc}"
        raise BuildError([f"{where}: {arch} is unknown to {nvrtc}" for where, arch in listed if arch in unknown])
    ships_ptx = any(arch.virtual for module in manifest.modules for arch in module.arches)
    if manifest.cuda is None and ships_ptx and found > manifest.release:
        needs, could = version_text(found), version_text(manifest.release)
        advice = f'with cuda: "{could}" in {manifest.path.name} it would need {could}'
        return [f"PTX written by NVRTC {needs} needs a driver for CUDA {needs} or newer; {advice}"]
    return []


def requirements(manifest: Manifest) -> list[str]:
    """Return the requirements for the toolkit release that a manifest asks for, with what finishes its modules."""
    from hatch_cuda_kernels.compiler import read_recipe  # only to say what to install
    from hatch_cuda_kernels.includes import Project

    project, finishers = Project(manifest.root), set()
    for module in manifest.modules:
        recipe, front_end = module.recipe, module.front_end
        try:
            finisher = finisher_of(recipe, front_end, read_recipe(recipe, manifest.root, project=project))
        except InputError:  # which the plan reports
            finisher = choose_finisher(module.options, front_end=front_end, linked=recipe.is_linked)
        finishers.add(finisher)
    return release_requirements(manifest.release, finishers=finishers - {"nvrtc"})
