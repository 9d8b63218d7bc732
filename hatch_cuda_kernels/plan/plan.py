"""From a manifest to the ordered compile jobs: a pure function once the sources are read."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from hatch_cuda_kernels.compiler import SourceReader
from hatch_cuda_kernels.errors import CompileError, InputError, ManifestError
from hatch_cuda_kernels.image import ImageId
from hatch_cuda_kernels.manifest import suggest
from hatch_cuda_kernels.names import base_name
from hatch_cuda_kernels.patterns import placeholders
from hatch_cuda_kernels.plan.jobs import image_kind, lay_out_jobs
from hatch_cuda_kernels.problem import Problem
from hatch_cuda_kernels.store import BuiltModule, ExpressionError, python_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from hatch_cuda_kernels.cache import Entry
    from hatch_cuda_kernels.compiler import CompileJob, FinishJob, Job
    from hatch_cuda_kernels.compiler.toolchain import Toolchain
    from hatch_cuda_kernels.device_library import DeviceLibrary
    from hatch_cuda_kernels.execution_space import Declared, SourceSet
    from hatch_cuda_kernels.manifest import Manifest, Module, StatedRule
    from hatch_cuda_kernels.store import LaunchRule


def _name_rules(
    modules: Sequence[Module], sources: Mapping[str, SourceSet]
) -> tuple[dict[str, tuple[LaunchRule, ...]], list[Problem]]:
    """Return each module's rules with the names of parameters, and everything that is wrong with them.

    A rule of an entry with a ``*`` applies to those of its modules that declare the kernel.
    """
    found: dict[str, tuple[LaunchRule, ...]] = {}
    problems: list[Problem] = []
    if not any(module.launch for module in modules):
        return {module.name: () for module in modules}, []
    declared = {module.name: sources[module.name].declared for module in modules}
    for module in modules:
        siblings = [declared[other.name] for other in modules if other.entry == module.entry]
        rules = []
        for stated in module.launch:
            names = _parameter_names(declared[module.name], stated.rule.kernel)
            if names is not None:
                problems += _problems(stated, names)
                rules.append(stated.rule._replace(names=names))
            elif all(_parameter_names(other, stated.rule.kernel) is None for other in siblings):
                problems.append(_unknown(stated, declared[module.name]))
        found[module.name] = tuple(rules)
    return found, list(dict.fromkeys(problems))


def _parameter_names(declared: Declared, kernel: str) -> tuple[str, ...] | None:
    """Return the names of a kernel's parameters if its declarations agree; None without one, or with overloads."""
    name = base_name(kernel)
    counts = declared.counts(name)
    return tuple(found.name for found in declared.parameters(name, *counts)) if len(counts) == 1 else None


def _problems(stated: StatedRule, names: tuple[str, ...]) -> Iterator[Problem]:
    """Yield what is wrong with a rule's expressions for a kernel with these parameters."""
    known = {name: name for name in names if name}
    values = dict.fromkeys(placeholders(stated.rule.kernel), "1")
    texts: dict[str, Any] = {
        "grid": stated.rule.grid,
        "block": stated.rule.block,
        "shared_mem": [stated.rule.shared_mem],
    }
    for key, sizes in texts.items():
        for size in sizes:
            try:
                python_text(size, known, values)
            except ExpressionError as error:
                for problem in error.problems:
                    yield Problem(problem, where=stated.places.get(key, stated.where))


def _unknown(stated: StatedRule, declared: Declared) -> Problem:
    name = base_name(stated.rule.kernel).rpartition("::")[2]
    if name in declared.names:
        return Problem(f"{name!r} is declared with different numbers of parameters", "rename one of them", stated.where)
    message = f"no kernel {name!r} is declared in the sources{suggest(name, declared.names)}"
    return Problem(message, "list a source that declares it", stated.where)


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
    """How kernels are launched without brackets."""

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
        )


def make_plan(manifest: Manifest, reader: SourceReader | None = None) -> tuple[PlannedModule, ...]:
    """Read the sources, by a reader of them if one is given, and return the plan, ordered by module.

    Raises ManifestError naming every unreadable source, or everything that does not fit the sources.
    """
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
    return tuple(plan)


def _unknown_host_names(modules: Iterable[Module], sources: Mapping[str, SourceSet]) -> Iterator[str]:
    """Yield a problem for each list of ``host_only`` with names that occur in none of its modules."""
    stating: dict[tuple[str, ...], list[Module]] = defaultdict(list)
    for module in modules:
        stating[module.options.host_only].append(module)
    stating.pop((), None)
    for names, alike in stating.items():
        words = {word for one in alike for found in sources[one.name].changes for word in _words(found.name)}
        unknown = [name for name in names if name.strip("<>") not in words and name.rpartition("::")[2] not in words]
        if unknown:
            yield f"{alike[0].where}: host_only: nothing in its files is called {' or '.join(unknown)}"


def _words(name: str) -> tuple[str, ...]:
    return name, *re.findall(r"[~\w]+", name)


def _plan_module(module: Module, sources: SourceSet, launch: tuple[LaunchRule, ...]) -> Iterator[PlannedModule]:
    if module.chunk and (module.globals or module.recipe.is_linked):
        raise InputError(_CHUNK_GLOBALS if module.globals else _CHUNK_LINKED)
    for chunk in module.chunks():
        jobs, finishing = lay_out_jobs(chunk.recipe, sources, chunk.arches, chunk.front_end)
        yield PlannedModule(module=chunk, sources=sources, jobs=jobs, finishing=finishing, launch=launch)


def open_reader(manifest: Manifest) -> SourceReader:
    """Return what reads the sources of a manifest's modules."""
    return SourceReader(manifest.root, [module.name for module in manifest.modules])


def learn(plan: Iterable[PlannedModule], failures: Iterable[tuple[Job, Exception]], reader: SourceReader) -> bool:
    """Read sources again whose host code NVRTC refused. Return whether the plan has to be made again."""
    recipes = {planned.module.name: planned.module.recipe for planned in plan}
    learned = [reader.learn(recipes[job.module], error) for job, error in failures if isinstance(error, CompileError)]
    return any(learned)


def read_sources(manifest: Manifest, reader: SourceReader | None = None) -> dict[str, SourceSet]:
    """Return each module's sources with their header closures. Raises ManifestError with all problems."""
    sources, problems = {}, []
    reader = reader or open_reader(manifest)
    for module in manifest.modules:
        try:
            sources[module.name] = reader.read(module.recipe)
        except InputError as error:
            problems.append(f"{module.where}: {error}")
    reader.save()
    if problems:
        raise ManifestError(problems)
    return sources
