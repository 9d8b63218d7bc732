"""Reads the sources of a recipe: each with its header closure, without host code, with the headers it implies."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Final, cast

from hatch_cuda_kernels.collector import uncollected
from hatch_cuda_kernels.compiler.toolchain import installed_headers
from hatch_cuda_kernels.device_library import DEVICE_RUNTIME, DeviceLibrary
from hatch_cuda_kernels.errors import CompileError, InputError
from hatch_cuda_kernels.execution_space import SourceSet, cut_closure
from hatch_cuda_kernels.includes import OuterHeaders, Project, read_closure, with_headers
from hatch_cuda_kernels.names import VIRTUAL_ROOT
from hatch_cuda_kernels.options import NvrtcOptions, cuts_host_code

if TYPE_CHECKING:
    from pathlib import Path

    from hatch_cuda_kernels.compiler.job import Recipe
    from hatch_cuda_kernels.cpp import SourceFile
    from hatch_cuda_kernels.execution_space import ClosureCut, DevicePass, DeviceSource, Level, Place

#: How much of a line is shown.
_WIDEST: Final = 160


class _RecipeReading:
    """What is read: a recipe's sources, in a project with headers outside it.

    ``include`` stands in for the options' folders. ``outer`` is for each source; without it, what is here. Of what is
    not cut, it is found what would be with ``always_finds``.
    """

    def __init__(
        self,
        recipe: Recipe,
        project: Project,
        *,
        include: Sequence[str] | None = None,
        outer: Sequence[OuterHeaders] = (),
        always_finds: bool = False,
    ) -> None:
        if include is None:  # folders that are not there gave no file: a store and an sdist carry none of them
            include = [folder for folder in recipe.options.include if project.files.is_folder(folder)]
        outer = outer or [installed_headers()] * len(recipe.sources)
        self.recipe, self.project, self.folders = recipe, project, tuple(include)
        self.always_finds = always_finds
        self.outer = outer if recipe.options.standard_headers else [one.without_standard() for one in outer]

    def units(
        self,
        levels: Mapping[Place, Level],
        cuts: Sequence[ClosureCut | None] = (),
        before: Sequence[DevicePass | None] = (),
    ) -> list[tuple[DeviceSource, DevicePass | None]]:
        """Return what NVRTC is shown of each source, and how it was cut, unless a cut is given."""
        nothing = [None] * len(self.recipe.sources)
        known = zip(self.recipe.sources, self.outer, cuts or nothing, before or nothing, strict=True)
        return [self._unit(*one, levels) for one in known]

    def sources(self, units: Iterable[DeviceSource], levels: tuple[tuple[str, int, str], ...]) -> SourceSet:
        files = (name for name in self.recipe.libraries if name != DEVICE_RUNTIME)
        libraries = (DeviceLibrary(name, self.project.files.read(name)) for name in files)
        return SourceSet(tuple(units), tuple(libraries), levels)

    def _unit(
        self,
        source: str,
        outer: OuterHeaders,
        cut: ClosureCut | None,
        before: DevicePass | None,
        levels: Mapping[Place, Level],
    ) -> tuple[DeviceSource, DevicePass | None]:
        """Read a source again until it has the project's headers that implied ones ask for, too."""
        options = self.recipe.options
        asked: list[str] = []
        passed: DevicePass | None = None
        while True:
            closure = read_closure(
                self.project.files.root,
                source,
                include=self.folders,
                headers=(*self.recipe.headers, *asked),
                pre_include=options.pre_include,
                define=options.define,
                project=self.project,
                outer=outer,
            )
            if cut is not None:
                shown = cut_closure(closure, cut, options.define)
            else:
                from hatch_cuda_kernels.execution_space import as_device_pass  # a store says what was cut

                shown, passed = as_device_pass(
                    closure, options, levels, passed or before, always_finds=self.always_finds
                )
                shown = _with_implied(shown, passed, options, outer)
            whole = with_headers(shown, shown.cut.implied, outer)
            fresh = sorted({*whole.outside}.difference(shown.outside))
            own = [path for name in fresh if (path := self.project.included(name, self.folders)) and path not in asked]
            if not own:
                for reading in () if passed is None else passed.readings:
                    reading.stream.forget()  # most of them nobody asks again
                return replace(whole, origin=None), passed
            asked += own


def read_recipe(
    recipe: Recipe,
    root: Path,
    *,
    include: Sequence[str] | None = None,
    project: Project | None = None,
    outer: Sequence[OuterHeaders] = (),
    clocks: bool = False,
    levels: Iterable[tuple[str, int, str]] = (),
    cuts: Sequence[ClosureCut | None] = (),
) -> SourceSet:
    """Return a recipe's sources with their header closures. Raises InputError.

    ``include`` stands in for the options' folders. ``outer`` are, for each source, the headers outside the project;
    none for those that are installed here. With ``clocks``, ``__DATE__`` and the like are left alone: what is read will
    not be compiled as it is. ``levels`` say of which declarations more is cut than the rules say; ``cuts`` are what a
    build has cut of each source, and all that is.
    """
    reading = _RecipeReading(recipe, project or Project(root), include=include, outer=outer)
    levels = (*levels,)
    with uncollected():
        units = [unit for unit, _ in reading.units(_levels(levels), cuts)]
    if not clocks and (uses := dict.fromkeys(clock for unit in units for clock in unit.clocks)):
        raise InputError("\n".join(uses))
    return reading.sources(units, levels)


def declared_headers(recipe: Recipe, root: Path, sources: SourceSet) -> dict[str, str]:
    """Return the digest of each file that the recipe's patterns of headers match, and of what these lead to, by path.

    None where no macro names a header in the recipe's sources, or one of these files cannot be read.
    """
    if not recipe.headers or not any(unit.computed or unit.probes for unit in sources.units):
        return {}
    project = Project(root)
    folders = _RecipeReading(recipe, project).folders
    found: dict[str, str] = {}
    for path in dict.fromkeys(path for pattern in recipe.headers for path in project.files.glob(pattern)):
        with suppress(InputError):  # nobody may ever include it
            found |= dict(read_closure(root, path, include=folders, headers=recipe.headers, project=project).files)
    return found


def read_device_passes(
    recipe: Recipe, levels: Mapping[Place, Level], project: Project, before: Sequence[DevicePass | None] = ()
) -> tuple[SourceSet, list[DevicePass | None]]:
    """Return a recipe's sources, and how each was cut: None where it cannot be read as C++. Raises InputError.

    ``before`` is how they were cut with other levels.
    """
    reading = _RecipeReading(recipe, project, always_finds=True)
    read = reading.units(levels, before=before)
    stated = tuple(sorted((place.file, place.offset, level) for place, level in levels.items()))
    return reading.sources((closure for closure, _ in read), stated), [passed for _, passed in read]


def further_levels(
    recipe: Recipe,
    root: Path,
    sources: SourceSet,
    error: CompileError,
    *,
    include: Sequence[str] | None = None,
    project: Project | None = None,
    outer: Sequence[OuterHeaders] = (),
) -> tuple[tuple[str, int, str], ...] | None:
    """Return the levels by which sources may be read again that NVRTC refused; None where nothing more may go.

    Then the faults of the error are at their places in the files as they are written. All but the error is as for
    ``read_recipe``, whose outcome ``sources`` are.
    """
    if not cuts_host_code(recipe.options):
        return None
    from hatch_cuda_kernels.compiler.binary import parse_log  # only after an error
    from hatch_cuda_kernels.execution_space import blame

    errors = [found for found in parse_log(error.log) if found.severity != "warning"]
    reading = _RecipeReading(recipe, project or Project(root), include=include, outer=outer)
    levels = _levels(sources.levels)
    passes = [passed for _, passed in reading.units(levels) if passed is not None]
    fresh = {place: level for passed in passes for place, level in blame(passed, errors, levels).items()}
    if not fresh or all(levels.get(place) == level for place, level in fresh.items()):
        found = ((one.place, passed.place(one)) for one in errors for passed in passes)
        places = {stated: (file, offset) for stated, (file, offset) in found if file is not None}
        error.faults = tuple(_as_written(fault, places, passes) for fault in error.faults)
        return None
    return tuple(sorted((place.file, place.offset, level) for place, level in (levels | fresh).items()))


def _as_written(fault: str, places: Mapping[str, tuple[SourceFile, int]], passes: Sequence[DevicePass]) -> str:
    """Return a fault with its place and line in the file as it is written.

    Of a variable that is the host's, the place where code of the device uses it is told.
    """
    head, *rest = fault.split("\n")
    stated, _, message = head.partition(": error: ")
    if stated in places:
        file, offset = places[stated]
        line, column = file.line(offset), file.column(offset)
        text = file.text.split("\n")[line - 1]
        first = max(0, min(column - _WIDEST // 2, len(text) - _WIDEST))
        blanks = re.sub(r"\S", " ", text[first:column])
        rest = [f"  | {text[first : first + _WIDEST]}", f"  | {blanks}^", *(one for one in rest if one[:4] != "  | ")]
        head = f"{file.name.removeprefix(VIRTUAL_ROOT)}:{line}:{column + 1}: error: {message}"
    from hatch_cuda_kernels.execution_space import UNMARKED  # only for the message

    name, is_use, _ = message.partition(f" {UNMARKED}")
    used = next(filter(None, (passed.use(name) for passed in passes)), "") if is_use else ""
    return "\n".join([f"{head}, in {used}" if used else head, *rest])


def _levels(stated: Iterable[tuple[str, int, str]]) -> dict[Place, Level]:
    stated = [*stated]
    if not stated:
        return {}
    from hatch_cuda_kernels.execution_space import Place  # few sources need more than the rules say

    return {Place(file, offset): cast("Level", level) for file, offset, level in stated}


def _with_implied(
    closure: DeviceSource, passed: DevicePass | None, options: NvrtcOptions, outer: OuterHeaders
) -> DeviceSource:
    from hatch_cuda_kernels.includes import implied_headers  # as above

    readings = () if passed is None else passed.readings
    removed = {change.name for change in closure.changes if change.kind == "removed"}
    implied = implied_headers(closure, readings, removed, closure.cut.host_headers, options, outer)
    return replace(closure, cut=closure.cut._replace(implied=implied))
