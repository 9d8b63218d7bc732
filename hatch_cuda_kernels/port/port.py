"""From sources written for nvcc to a patch, with what it takes to compile their kernels.

The guards of the patch show NVRTC what a compile would cut by itself; to nvcc, the text means what it meant.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from hatch_cuda_kernels import cpp
from hatch_cuda_kernels.compiler import Recipe
from hatch_cuda_kernels.cpp import SourceFile, lex
from hatch_cuda_kernels.execution_space import CHANGES, DevicePass
from hatch_cuda_kernels.includes import Project
from hatch_cuda_kernels.libraries import headers_of_others, torch_names
from hatch_cuda_kernels.manifest import list_files, module_names, parse_manifest
from hatch_cuda_kernels.names import VIRTUAL_ROOT, is_projects
from hatch_cuda_kernels.options import NvrtcOptions, override_options
from hatch_cuda_kernels.pool import one_worker
from hatch_cuda_kernels.port.draft import DraftedModule, enumerators_of, manifest_text
from hatch_cuda_kernels.port.instances import Instances, Template
from hatch_cuda_kernels.port.trials import NamesTrial, ReadSource, Trials, may_lack

if TYPE_CHECKING:
    from pathlib import Path

    from hatch_cuda_kernels.arch import SmArch
    from hatch_cuda_kernels.cpp import Condition, Edit, Macro, TranslationUnit
    from hatch_cuda_kernels.port.sites import Site

_DEFAULTS: Final = NvrtcOptions()
_LINKED: Final = "{} is listed because device code here uses {}, which it defines"
_OF_TORCH: Final = "for NVRTC, headers of this package declare what kernels use of Torch, as Torch 2.13 has it: {}"
_BY_ARCHITECTURE: Final = (
    "the condition {} is not guarded: more than the compiler decides it, and builds show it as to nvcc"
)
_OUT_OF_TIME: Final = "NVRTC was asked for {:.0f} s; what it had not answered by then was not tried"
_OFF: Final = "{}:{}: a kernel is compiled only with {}: state it under define"
#: The folder of headers that no standard names.
_OURS: Final = "hatch_cuda_kernels/"
#: What NVRTC may be asked for in one port.
_SECONDS: Final = 15.0
#: More lines than one declaration has that begins or ends in a branch, in code that people write.
_MOST_LINES: Final = 300
_ELSEWHERE: Final = "#ifndef __CUDACC_RTC__\n"


class Guard(NamedTuple):
    """One thing that NVRTC is not shown any more, or shown otherwise."""

    path: str
    line: int
    """In the file as it was."""
    kind: str
    """A kind of SourceChange."""
    name: str
    reason: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.kind} {self.name}: {self.reason}"


class _Page:
    def __init__(self, path: str, shown: SourceFile) -> None:
        self.notes: Final[list[str]] = []
        """What no guard can make."""
        self._path: Final = path
        self._file: Final = shown if shown.text.endswith("\n") else SourceFile(path, f"{shown.text}\n")
        self._lines: Final = [f"{line}\n" for line in self._file.text.split("\n")[:-1]]
        self._starts: Final = [0, *accumulate(map(len, self._lines))]
        self._tokens: Final = cpp.lex_with_places(self._file.joined)

    def guarded(self, edits: Sequence[Edit], additions: str) -> str:
        """Return the file with its guards, and with ``additions`` before its first include."""
        regions = {first: (last, own) for first, last, own in self._regions(edits)}
        place = self._first_include()
        place = next((first for first, (last, _) in regions.items() if first <= place <= last), place)
        pieces: list[str] = []
        at = 0
        while at < len(self._lines):
            last, own = regions.get(at, (at, []))
            pieces += [additions if at == place else "", self._show_twice(at, last, own) if own else self._lines[at]]
            at = last + 1
        made = "".join(pieces)
        return made.replace("\r\n", "\n").replace("\n", "\r\n") if "\r\n" in self._file.text else made

    def _regions(self, edits: Sequence[Edit]) -> list[tuple[int, int, list[Edit]]]:
        """Return the lines that each guard is around, from the first to the last, with the edits inside."""
        found: list[tuple[int, int, list[Edit]]] = []
        for edit in edits:
            lines = self._whole(edit)
            if lines is None:
                line = self._file.line(edit.start)
                self.notes.append(f"{self._path}:{line}: {edit.name} is not guarded: an #if ends inside it")
                continue
            first, last = lines
            own = [edit]
            while found and (first <= found[-1][1] or self._is_one(found[-1], first, edit)):
                before = found.pop()
                first, last, own = before[0], max(last, before[1]), [*before[2], *own]
            found.append((first, last, own))
        return found

    def _is_one(self, before: tuple[int, int, list[Edit]], first: int, edit: Edit) -> bool:
        """Return whether two things share a guard: nothing is left of either, and at most an empty line is between."""
        between = self._lines[before[1] + 1 : first]
        is_near = len(between) < 2 and not "".join(between).strip()
        return is_near and not any(one.text.strip() for one in (*before[2], edit))

    def _line_of(self, offset: int) -> int:
        return self._file.line(offset) - 1

    def _whole(self, edit: Edit) -> tuple[int, int] | None:
        """Return the lines around an edit with whole comments, joined lines and groups; None for too many."""
        first, last = self._line_of(edit.start), self._line_of(max(edit.start, edit.end - 1))
        fewest = last - first
        while True:
            while first and self._goes_on(first - 1):
                first -= 1
            while last + 1 < len(self._lines) and self._goes_on(last):
                last += 1
            inside = range(*(self._file.run_at(self._starts[line] - 1) for line in (first, last + 1)))
            is_whole = edit.reason == "condition"
            groups = [] if is_whole else [self._groups[at] for at in inside if at in self._groups]
            wide = min([first, *(one[0] for one in groups)]), max([last, *(one[1] for one in groups)])
            if wide == (first, last):
                return wide
            first, last = wide
            if last - first - fewest > _MOST_LINES:
                return None

    def _goes_on(self, line: int) -> bool:
        """Return whether a line ends in a backslash, a comment or a literal."""
        if self._lines[line].rstrip("\r\n").endswith("\\"):
            return True
        offset, begin = self._starts[line + 1], 0
        at = bisect_left(self._tokens, offset, key=lambda token: self._file.place(token.start)) - 1
        if at >= 0:
            begin = self._file.place_behind(self._file.place(self._tokens[at].start), self._tokens[at].text)
        return offset < begin or not lex(f"{self._file.text[begin:offset]}*/")  # which only a comment takes in

    @cached_property
    def _groups(self) -> dict[int, tuple[int, int]]:
        """The first and the last line of the group of each conditional directive, by its index."""
        found: dict[int, tuple[int, int]] = {}
        directives = self._file.directives
        for at, one in enumerate(directives):
            if one.is_conditional and at not in found:
                chain = self._file.group(at)
                span = self._line_of(one.start), self._line_of(directives[chain[-1]].end - 1)
                found |= dict.fromkeys(chain, span)
        return found

    def _first_include(self) -> int:
        """Return the first line with an include that no ``#if`` is around; 0 where there is none."""
        at, directives = 0, self._file.directives
        while at < len(directives):
            if directives[at].word == "include":
                return self._line_of(directives[at].start)
            at = self._file.group(at)[-1] + 1
        return 0

    def _show_twice(self, first: int, last: int, edits: Sequence[Edit]) -> str:
        """Return lines as NVRTC and as others are to see them."""
        pieces: list[str] = []
        done, end = self._starts[first], self._starts[last + 1]
        old = self._file.text[done:end]
        for edit in edits:
            before = self._file.text[done : edit.start]
            pieces.append(before.rstrip() if edit.text[:1] == ";" and before.strip() else before)
            pieces.append(self._condition(edit) if edit.reason == "condition" else edit.text)
            done = edit.end
        lines = (line.rstrip() for line in "".join((*pieces, self._file.text[done:end])).splitlines())
        new = "".join(f"{line}\n" for line in lines if line)
        if all(one.reason == "condition" for one in edits):
            return new
        return f"#ifdef __CUDACC_RTC__\n{new}#else\n{old}#endif\n" if lex(new) else f"{_ELSEWHERE}{old}#endif\n"

    def _condition(self, edit: Edit) -> str:
        """Return a directive that holds for NVRTC, or does not, and is what it was for others."""
        directive = self._file.directives[self._file.run_at(edit.start) - 1]
        asked = " ".join(directive.operand.split()) if "/" not in directive.operand else cpp.spell(directive.texts)
        if directive.word.endswith("def"):
            asked = f"!defined({asked})" if directive.word.endswith("ndef") else f"defined({asked})"
        holds = edit.text.endswith("1")
        if "?" in asked or (not holds and "||" in asked):
            asked = f"({asked})"
        word = "elif" if directive.word.startswith("el") else "if"
        return f"#{word} ({asked} {'||' if holds else '&& !'}{' ' * holds}defined(__CUDACC_RTC__))"


class Ported(NamedTuple):
    """The texts of the files that change, by path, and what there is to say about them."""

    before: dict[str, str]
    after: dict[str, str]
    guards: tuple[Guard, ...]
    templates: tuple[Template, ...]
    launches: tuple[Site, ...]
    modules: tuple[DraftedModule, ...]
    manifest: str
    notes: tuple[str, ...]
    remaining: tuple[str, ...]
    """What NVRTC still complains about, as ``path:line: message``; empty if all sources compile, or were not tried."""


@one_worker()
def port(
    root: Path,
    sources: Sequence[str],
    options: NvrtcOptions = _DEFAULTS,
    *,
    arch: SmArch | None = None,
    patch: bool = True,
    seconds: float = _SECONDS,
) -> Ported:
    """Return the changes that show NVRTC of sources and their headers what a compile cuts by itself; writes nothing.

    Paths are relative to ``root``. ``options`` are those that the sources are compiled with. With ``arch``, NVRTC
    compiles for it, some seconds in all, and what it refuses of host code goes, too. Without ``patch``, no file
    changes. Raises InputError for sources that cannot be read, ToolchainError where NVRTC is missing.
    """
    trials = Trials(Project(root), arch, seconds)
    recipes = [Recipe(module=source, sources=(source,), options=options) for source in sources]
    return _Port(trials, [trials.read(one) for one in recipes], options, patches=patch).run()


class _Port:
    def __init__(self, trials: Trials, read: Sequence[ReadSource], options: NvrtcOptions, *, patches: bool) -> None:
        self._trials: Final = trials
        self._project: Final = trials.project
        self._read: Final = read
        self._passes: Final = [one.passed for one in read if one.passed is not None]
        self._patches: Final = patches
        names = set() if patches else {name for one in read for name in one.recipe.options.host_only}
        self._options: Final = override_options(options, host_only=tuple(sorted(names))) if names else options
        self._notes: Final[dict[str, None]] = {}
        self._after: Final[dict[str, str]] = {}
        self._guards: Final[dict[Guard, None]] = {}

    def run(self) -> Ported:
        for one in self._read:
            if one.passed is not None:
                self._write_guards(one, one.passed)
            elif unread := one.sources.units[0].cut.unread:
                self._notes[f"{unread}: nothing in {one.recipe.sources[0]} is guarded, and no launch is seen"] = None
        instances = Instances(self._passes)
        remaining = [error for one in self._read for error in one.errors]
        drafted = self._draft(instances.templates)
        if self._trials.arch is not None and not remaining:
            drafted = self._try(drafted)
        if self._trials.is_over:
            self._notes[_OUT_OF_TIME.format(self._trials.limit)] = None
        said = (((f"{one.file}:{one.line}" if one.line else one.file), one.message) for one in remaining)
        return Ported(
            before={path: self._project.text(path).text for path in self._after},
            after=self._after,
            guards=tuple(sorted(self._guards)),
            templates=tuple(instances.templates),
            launches=tuple(instances.launches),
            modules=tuple(drafted),
            manifest=manifest_text(drafted, self._options),
            notes=tuple(self._notes),
            remaining=tuple(dict.fromkeys(": ".join(filter(None, one)) for one in said)),
        )

    def _write_guards(self, one: ReadSource, passed: DevicePass) -> None:
        said = {(place.file, place.offset): message for place, message in one.said.items()}
        starts = f"{VIRTUAL_ROOT}{one.recipe.sources[0]}"
        for name in sorted({*passed.found.edits, starts}, key=lambda name: (name == starts, name)):
            path, file = name.removeprefix(VIRTUAL_ROOT), passed.files[name]
            changing = (one for one in passed.found.edits.get(name, ()) if one.text != file.text[one.start : one.end])
            edits = [*cpp.outermost(changing)]
            for edit in [one for one in edits if one.reason == "condition" and len(one.text.split()) > 2]:
                edits.remove(edit)
                self._notes[f"{path}:{file.line(edit.start)}: {_BY_ARCHITECTURE.format(edit.name)}"] = None
            for edit in edits:
                refusal = said.get((name, edit.start), "") if edit.reason == "removed" else ""
                reason = f"NVRTC: {refusal}" if refusal else CHANGES[edit.reason][1]
                self._guards[Guard(path, file.line(edit.start), edit.reason, edit.name, reason)] = None
            additions = _implied_includes(one, self._options) if name == starts else ""
            if self._patches and (edits or additions):
                page = _Page(path, file)
                text = page.guarded(edits, additions)
                self._notes.update(dict.fromkeys(page.notes))
                if text != self._project.text(path).text:
                    self._after[path] = text
        words = {word for reading in passed.readings for word in reading.stream.texts}
        names = sorted(torch_names(one.sources.units[0].pre_include) & words)
        if names:
            self._notes[_OF_TORCH.format(", ".join(names))] = None

    def _draft(self, templates: Sequence[Template]) -> list[DraftedModule]:
        found = []
        for name, one in zip(module_names(one.recipe.sources[0] for one in self._read), self._read, strict=True):
            files, off = one.sources.files, {} if one.passed is None else _needed_macros(one.passed.unit)
            notes = (_OFF.format(path, line, " and ".join(names)) for (path, line), names in sorted(off.items()))
            own = tuple(template for template in templates if template.path in files)
            found.append(DraftedModule(name, self._link_keys(one.recipe), own, notes=tuple(notes)))
        return found

    def _link_keys(self, recipe: Recipe) -> dict[str, Any]:
        """Return what a manifest states of a recipe's sources and libraries; of the device runtime, there is no PTX."""
        sources = [*recipe.sources]
        stated: dict[str, Any] = {"sources": sources} if sources[1:] else {"source": sources[0]}
        if not recipe.libraries:
            return stated
        text = json.dumps({"schema": 1, "modules": {"module": stated}})
        (module,) = parse_manifest(text, root=self._project.files.root).modules
        real = [str(arch) for arch in module.arches if not arch.virtual]
        return {**stated, "libraries": [*recipe.libraries], "arches": real}

    def _try(self, drafted: Sequence[DraftedModule]) -> list[DraftedModule]:
        declarations = [one for passed in self._passes for reading in passed.readings for one in reading]
        enumerators, lacks = enumerators_of(declarations), may_lack(declarations)
        files = list_files(self._project.files.root) if lacks else []
        found = []
        for one, read in zip(drafted, self._read, strict=True):
            module = replace(one, refused=self._names_trial(one, read).find_refused([*one.seen]))
            if choices := module.guesses(enumerators):
                module = replace(module, guessed=tuple(self._names_trial(module, read).choose(choices)))
            if lacks:
                recipe, others = self._trials.complete(_recipe(module, read), files)
                notes = (_LINKED.format(path, name) for path, name in others.items())
                module = replace(module, plain=self._link_keys(recipe), notes=(*module.notes, *notes))
            found.append(module)
        return found

    def _names_trial(self, module: DraftedModule, read: ReadSource) -> NamesTrial:
        return NamesTrial(self._trials, self._trials.read(_recipe(module, read)))


def _recipe(module: DraftedModule, read: ReadSource) -> Recipe:
    options = read.recipe.options
    options = override_options(options, pre_include=tuple(dict.fromkeys((*options.pre_include, *module.headers))))
    return replace(read.recipe, options=options, names=tuple(module.stated.get("instances", ())))


def _implied_includes(one: ReadSource, options: NvrtcOptions) -> str:
    """Return includes for NVRTC of what a compile brings by itself for the headers that are guarded now."""
    (closure,) = one.sources.units
    if not closure.cut.host_headers:
        return ""
    by_name = (name for name in closure.standard if not name.startswith(_OURS))
    known = {*options.pre_include, *by_name} - headers_of_others()
    lines = [f"#include <{name}>" for name in closure.pre_include if name not in known and VIRTUAL_ROOT not in name]
    return "\n".join(["#if defined(__CUDACC_RTC__)", *lines, "#endif", ""]) if lines else ""


def _needed_macros(unit: TranslationUnit) -> dict[tuple[str, int], tuple[str, ...]]:
    """Return the kernels in branches that are off for want of macros alone, by path and line, with these."""
    asked: dict[tuple[str, int], list[Condition]] = defaultdict(list)
    for one in unit.conditions:
        if is_projects(one.file.name) and "__global__" in one.file.text:
            asked[one.file.name, one.directive.start].append(one)
    found: dict[tuple[str, int], tuple[str, ...]] = {}
    for (name, _), conditions in asked.items():
        file, directive = conditions[-1][:2]
        at = file.directives.index(directive)
        runs = range(at + 1, file.groups[at] + 1) if all(one.holds is False for one in conditions) else ()
        kernels = [run for run in runs if "__global__" in file.tokens(run)]
        macros = _satisfying(conditions[-1]) if kernels else ()
        for run in kernels if macros else ():
            offset = file.starts(run)[file.tokens(run).index("__global__")]
            found[name.removeprefix(VIRTUAL_ROOT), file.line(offset)] = macros
    return found


def _satisfying(condition: Condition) -> tuple[str, ...]:
    """Return macros that nothing defines and whose definition lets a condition hold; none where these do not do it."""
    _, directive, _, macros, time = condition
    names = dict.fromkeys(filter(cpp.is_identifier, directive.texts))
    free = [name for name in names if name[0] != "_" and name != "defined" and macros.at(name, time) == (None,)]
    for chosen in (*([name] for name in free), free):
        given = {name: (cpp.parse_define(name, None),) for name in chosen}

        def look_up(name: str, given: Mapping[str, tuple[Macro | None, ...]] = given) -> tuple[Macro | None, ...]:
            return given.get(name) or macros.at(name, time)

        if chosen and cpp.evaluate(directive, look_up):
            return tuple(chosen)
    return ()
