"""The project files that sources lead to, with what is to be changed in them so far."""

from __future__ import annotations

from bisect import insort
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from hatch_cuda_kernels.compiler.recipe import Recipe
from hatch_cuda_kernels.compiler.recipe_reader import read_recipe
from hatch_cuda_kernels.host_code.conditions import as_for_nvcc
from hatch_cuda_kernels.host_code.drop import apply, find_changes
from hatch_cuda_kernels.host_code.includes import host_header, included, without_host_libraries
from hatch_cuda_kernels.host_code.marks import gather_facts
from hatch_cuda_kernels.host_code.trim import find_macros
from hatch_cuda_kernels.options import HostCode
from hatch_cuda_kernels.port.guard import guardable, widened
from hatch_cuda_kernels.port.model import Guard
from hatch_cuda_kernels.source.implied import toolkit_headers
from hatch_cuda_kernels.source.project import Project
from hatch_cuda_kernels.source.torch_names import computed_with, torch_headers

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from hatch_cuda_kernels.host_code.drop import TextChange
    from hatch_cuda_kernels.host_code.facts import Facts
    from hatch_cuda_kernels.host_code.items import Outline
    from hatch_cuda_kernels.options import NvrtcOptions

__all__ = ["Sources", "read_project_files"]

_NO_MARK: Final = "no device mark"
_REASONS: Final = {
    "include": "a header of the host's",
    "body": "what it declares belongs to its class; the body has no device mark",
    "mark": "NVRTC refuses it without marks",
    "macro": "what it stands for has host code",
    "using": "NVRTC sees nothing that it names",
    "assertion": "NVRTC does not see the variable that it is about",
    "condition": "nvcc's branch, as NVRTC does not define it",
    "value": "device code cannot use it, as it has no device mark",
    "constant": "NVRTC folds no constant that is made of it, or it of another, unless they are constexpr",
}


@dataclass
class Sources:
    """Files by path with their outlines, and the changes to be made; files that cannot be parsed stay as they are."""

    root: Path
    project: Project
    recipes: tuple[Recipe, ...]
    originals: dict[str, str]
    """By path, as the project has them."""
    texts: dict[str, str]
    """The same, with nvcc's branches."""
    outlines: dict[str, Outline]
    facts: Facts
    changes: dict[str, list[TextChange]]
    guards: list[Guard] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def options(self) -> NvrtcOptions:
        """The options that they are compiled with."""
        return self.recipes[0].options

    @property
    def stays(self) -> bool:
        """Whether nothing is guarded: host code is left out by the compile."""
        return self.options.host_code is HostCode.DROP

    def with_options(self, **options: Any) -> Sources:
        """Return a copy with other options, of which guards can be added without adding them here."""
        recipes = tuple(replace(one, options=one.options.override(**options)) for one in self.recipes)
        changes = {path: [*found] for path, found in self.changes.items()}
        return replace(self, recipes=recipes, changes=changes, guards=[*self.guards], notes=[*self.notes])

    def add(self, path: str, change: TextChange, reason: str = "") -> bool:
        """Note a change; return whether a guard can make it."""
        source = self.outlines[path].source.original
        line = source.count("\n", 0, change.start) + 1
        wide = widened(self.outlines[path], change)
        if not guardable(self.outlines[path], change) and not self.facts.is_marked(source[wide.start : wide.end]):
            change = wide
        if not guardable(self.outlines[path], change):
            self.notes.append(f"{path}:{line}: {change.name} cannot be guarded: an #if ends inside it")
            return False
        kind = "function" if change.kind == "call" and change.action == "drop" else str(change.kind)
        if change.action != "drop":
            kind = "body" if change.action == "declare" and change.last else "mark"
            kind = {"constant": "constant", "expand": "macro", "extern": "value"}.get(change.action, kind)
        self._forget(path, change)
        self.guards.append(Guard(path, line, kind, change.name, reason or _REASONS.get(kind, _NO_MARK)))
        insort(self.changes[path], change, key=attrgetter("start"))
        return True

    def _forget(self, path: str, change: TextChange) -> None:
        """Forget what was to be changed in a place that is guarded now."""
        source = self.outlines[path].source.original
        gone = [one for one in self.changes[path] if change.start <= one.start and one.end <= change.end]
        if gone:
            places = {(source.count("\n", 0, one.start) + 1, one.name) for one in gone}
            self.changes[path] = [one for one in self.changes[path] if one not in gone]
            self.guards = [one for one in self.guards if one.path != path or (one.line, one.name) not in places]

    def shown(self) -> dict[str, str]:
        """Return the files as NVRTC is to see them, with blanks in place of what is guarded, so that lines agree."""
        parsed = {path: apply(path, outline, self.changes[path])[0] for path, outline in self.outlines.items()}
        return self.texts | parsed

    def of_torch(self) -> list[str]:
        """Return the names of Torch's that device code computes with, and that headers of this package declare."""
        return [] if self.stays else computed_with([*self.shown().values()], self.project.readings, self._left_out())

    def brought(self) -> str:
        """Return includes for NVRTC of what the headers brought that are guarded; empty where nothing is used of it."""
        if self.stays:
            return ""
        texts, readings = list(self.shown().values()), self.project.readings
        left_out = self._left_out()
        headers = torch_headers(texts, readings, left_out)
        if left_out:
            headers |= toolkit_headers(texts, self._included(), (), readings, left_out)
        lines = [f"#include <{header}>" for header in sorted(headers)]
        return "\n".join(["#if defined(__CUDACC_RTC__)", *lines, "#endif", ""]) if lines else ""

    def _left_out(self) -> frozenset[str]:
        """Return the names of the headers whose includes are guarded."""
        return frozenset(guard.name for guard in self.guards if guard.kind == "include")

    def _included(self) -> Iterator[str]:
        """Yield the names of the headers that NVRTC is shown includes of."""
        for outline in self.outlines.values():
            yield from (name for line in outline.directives if not host_header(line) and (name := included(line)))


def read_project_files(root: Path, sources: Sequence[str], options: NvrtcOptions) -> Sources:
    """Return the files that sources lead to, with the changes that nvcc's rule asks for. Raises InputError."""
    options = options.override(host_code=HostCode.KEEP)  # guards stand for what would be left out
    recipes = tuple(Recipe(module=source, sources=(source,), options=options) for source in sources)
    project = Project(root)
    paths = _paths(recipes, project)
    without = {path: without_host_libraries(project.text(path).text) for path in paths}
    if any(project.text(path).text != text for path, text in without.items()):
        paths = _paths(recipes, Project(root, without))
    originals = {path: project.text(path).text for path in paths}
    texts = {path: as_for_nvcc(text, for_nvrtc_only=False)[0] for path, text in originals.items()}
    macros = find_macros(texts.values(), options.define, project.readings)
    facts, outlines = gather_facts(macros, texts, project.readings)
    known = {path: outline for path, outline in zip(paths, outlines, strict=True) if outline is not None}
    found = Sources(root, project, recipes, originals, texts, known, facts, {path: [] for path in known})
    for path in paths:
        held = as_for_nvcc(originals[path], for_nvrtc_only=False)[1]
        found.guards += [Guard(path, line, "condition", macro, _REASONS["condition"]) for line, macro in held]
    found.notes += [
        f"{path} cannot be parsed by itself: nothing in it is guarded" for path in paths if path not in known
    ]
    for path, outline in known.items():
        for change in find_changes(outline, facts):
            if not _is_needed(change, paths):
                found.add(path, change)
    return found


def _paths(recipes: Sequence[Recipe], project: Project) -> list[str]:
    root = project.files.root
    read = (read_recipe(recipe, root, project=project, clocks=True) for recipe in recipes)
    return sorted({path for sources in read for path in sources.files})


def _is_needed(change: TextChange, paths: Sequence[str]) -> bool:
    """Return whether NVRTC has a header that a host library usually has, because the project has one of that name."""
    return change.kind == "include" and any(f"/{path}".endswith(f"/{change.name}") for path in paths)
