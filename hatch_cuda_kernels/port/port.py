"""From sources written for nvcc to a patch, with what it takes to compile their kernels."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from hatch_cuda_kernels.compiler import Recipe
from hatch_cuda_kernels.includes import Project
from hatch_cuda_kernels.libraries import torch_names
from hatch_cuda_kernels.manifest import parse_manifest
from hatch_cuda_kernels.names import VIRTUAL_ROOT
from hatch_cuda_kernels.options import NvrtcOptions
from hatch_cuda_kernels.pool import one_worker
from hatch_cuda_kernels.port.draft import DraftedModule, draft_modules, enumerators_of, guesses_for, manifest_text
from hatch_cuda_kernels.port.guards import Guard, guarded, needed
from hatch_cuda_kernels.port.instances import Instances
from hatch_cuda_kernels.port.project import list_files, needed_macros
from hatch_cuda_kernels.port.trials import (
    Trials,
    find_other_sources,
    linked,
    may_lack,
    stated_with_runtime,
    with_device_runtime,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from hatch_cuda_kernels.arch import SmArch
    from hatch_cuda_kernels.compiler.output import Diagnostic
    from hatch_cuda_kernels.cpp import Declaration
    from hatch_cuda_kernels.port.instances import SeenLaunch, Template
    from hatch_cuda_kernels.port.trials import ReadSource

__all__ = ["Ported", "port"]

_DEFAULTS: Final = NvrtcOptions()
_LINKED: Final = "{} is listed because device code here uses {}, which it defines"
_OF_TORCH: Final = "for NVRTC, headers of this package declare what kernels use of Torch, as Torch 2.13 has it: {}"
_OUT_OF_TIME: Final = "NVRTC was asked for {:.0f} s; what it had not answered by then was not tried"
_OFF: Final = "{}:{}: a kernel is compiled only with {}: state it under define"
#: The folder of headers that no standard names.
_OURS: Final = "hatch_cuda_kernels/"
#: Kernels of a module whose arguments are guessed.
_MOST_GUESSED: Final = 6
#: What NVRTC may be asked for in one port.
_SECONDS: Final = 15.0


class Ported(NamedTuple):
    """The texts of the files that change, by path, and what there is to say about them."""

    before: dict[str, str]
    after: dict[str, str]
    guards: tuple[Guard, ...]
    templates: tuple[Template, ...]
    launches: tuple[SeenLaunch, ...]
    modules: tuple[DraftedModule, ...]
    guesses: Mapping[str, tuple[tuple[str, ...], ...]]
    """For each module's name, the instances to try of each kernel of which nothing tells the arguments."""
    manifest: str
    """A draft, with these modules."""
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
) -> Ported:
    """Return the changes that show NVRTC of sources and their headers what a compile cuts by itself; writes nothing.

    Paths are relative to ``root``. ``options`` are those that the sources are compiled with. With ``arch``, NVRTC
    compiles for it, and what it refuses of host code goes, too. Without ``patch``, no file changes. Raises InputError
    for sources that cannot be read, ToolchainError where NVRTC is missing.
    """
    trials = Trials(Project(root), arch, _SECONDS)
    recipes = [Recipe(module=source, sources=(source,), options=options) for source in sources]
    if arch is not None:
        recipes = [with_device_runtime(one, trials) for one in recipes]
    return _Port(trials, [trials.read(one) for one in recipes], options).ported(patch=patch)


class _Port:
    def __init__(self, trials: Trials, read: Sequence[ReadSource], options: NvrtcOptions) -> None:
        self._trials: Final = trials
        self._project: Final = trials.project
        self._read: Final = read
        self._options: Final = options
        self._passes: Final = [one.passed for one in read if one.passed is not None]
        self._notes: Final[dict[str, None]] = {}
        self._after: dict[str, str] = {}
        self._guards: Final[dict[Guard, None]] = {}

    def ported(self, *, patch: bool) -> Ported:
        for one in self._read:
            unread = one.sources.units[0].cut.unread
            if unread:
                self._notes[f"{unread}: nothing in {one.recipe.sources[0]} is guarded, and no launch is seen"] = None
        self._write_guards()
        options = self._options
        if not patch:
            self._after = {}
            names = {name for one in self._read for name in one.recipe.options.host_only}
            options = options.override(host_only=tuple(sorted(names)))
        instances = Instances([(one.readings, one.unit.macros) for one in self._passes])
        modules = [self._module(one, instances) for one in self._read]
        remaining = [error for one in self._read for error in one.errors]
        drafted, guesses = self._drafted(modules, is_tried=self._trials.arch is not None and not remaining)
        self._say_what_is_off(drafted)
        if self._trials.is_over:
            self._notes[_OUT_OF_TIME.format(_SECONDS)] = None
        return Ported(
            before={path: self._project.text(path).text for path in self._after},
            after=self._after,
            guards=tuple(sorted(self._guards)),
            templates=tuple(instances.templates),
            launches=tuple(instances.launches),
            modules=tuple(drafted),
            guesses=guesses,
            manifest=manifest_text(drafted, options),
            notes=tuple(self._notes),
            remaining=tuple(dict.fromkeys(map(_told, remaining))),
        )

    @property
    def _declarations(self) -> Iterator[Declaration]:
        return (one for passed in self._passes for reading in passed.readings for one in reading)

    # Guards.

    def _write_guards(self) -> None:
        for one in self._read:
            if one.passed is None:
                continue
            said = {(place.file, place.offset): message for place, message in one.said.items()}
            starts = one.recipe.sources[0]
            for name, edits in sorted(one.passed.found.edits.items()):
                path, file = name.removeprefix(VIRTUAL_ROOT), one.passed.files[name]
                own = needed(file, edits)
                for edit in own:
                    told = said.get((name, edit.start), "")
                    self._guards[Guard.of(path, file.line(edit.start), edit, told)] = None
                if path != starts:
                    self._write(path, one, "")
            self._write(starts, one, self._brought(one))
            self._note_torch(one)

    def _write(self, path: str, one: ReadSource, additions: str) -> None:
        assert one.passed is not None  # noqa: S101 - of a source that was read
        name = f"{VIRTUAL_ROOT}{path}"
        edits = needed(one.passed.files[name], one.passed.found.edits.get(name, ()))
        if edits or additions:
            original = self._project.text(path).text
            text, notes = guarded(path, one.passed.files[name], edits, additions)
            self._notes.update(dict.fromkeys(notes))
            if text != original:
                self._after[path] = text

    def _brought(self, one: ReadSource) -> str:
        """Return includes for NVRTC of what a compile brings by itself for the headers that are guarded now."""
        (closure,) = one.sources.units
        if not closure.cut.host_headers:
            return ""
        known = {*self._options.pre_include, *(name for name in closure.standard if not name.startswith(_OURS))}
        lines = [f"#include <{name}>" for name in closure.pre_include if name not in known and VIRTUAL_ROOT not in name]
        return "\n".join(["#if defined(__CUDACC_RTC__)", *lines, "#endif", ""]) if lines else ""

    def _note_torch(self, one: ReadSource) -> None:
        (closure,) = one.sources.units
        words = {word for passed in self._passes for reading in passed.readings for word in reading.stream.texts}
        names = sorted(torch_names(closure.pre_include) & words)
        if names:
            self._notes[_OF_TORCH.format(", ".join(names))] = None

    # The draft.

    def _module(self, one: ReadSource, instances: Instances) -> tuple[dict[str, Any], list[Template], list[SeenLaunch]]:
        """Return what is stated of a source, the kernels that are templates in its files, and all launches."""
        stated: dict[str, Any] = {"source": one.recipe.sources[0]}
        if one.recipe.libraries:
            text = json.dumps({"schema": 1, "modules": {"module": stated}})
            (module,) = parse_manifest(text, root=self._project.files.root).modules
            stated = stated_with_runtime(stated, module.arches)
        files = one.sources.files
        return stated, [found for found in instances.templates if found.path in files], instances.launches

    def _drafted(
        self,
        modules: Sequence[tuple[dict[str, Any], list[Template], list[SeenLaunch]]],
        *,
        is_tried: bool,
    ) -> tuple[list[DraftedModule], dict[str, tuple[tuple[str, ...], ...]]]:
        """Return the modules, and the instances to try; where NVRTC is asked, with what it says of them."""
        drafted = draft_modules(modules)
        enumerators = enumerators_of(self._declarations)
        guesses = _guesses(drafted, modules, enumerators)
        if is_tried:
            refused = self._trials.refused(manifest_text(drafted, self._options))
            drafted = draft_modules(modules, refused)
            guesses = _guesses(drafted, modules, enumerators)
            guessed = self._trials.accepted(manifest_text(drafted, self._options), guesses)
            drafted = draft_modules(modules, refused, guessed)
            if may_lack(self._declarations):
                drafted = self._linked(drafted)
        return drafted, guesses

    def _linked(self, drafted: Sequence[DraftedModule]) -> list[DraftedModule]:
        """Return modules with the other sources that define what their device code uses."""
        root = self._project.files.root
        files, found = list_files(root), []
        text = manifest_text(drafted, self._options)
        for one, module in zip(drafted, parse_manifest(text, root=root).modules, strict=True):
            others = find_other_sources(module.recipe, self._trials, files)
            notes = [_LINKED.format(path, name) for path, name in (others or {}).items()]
            stated = linked(one.stated, others) if others else one.stated
            found.append(one._replace(stated=stated, open_ends=(*one.open_ends, *notes)))
        return found

    def _say_what_is_off(self, drafted: list[DraftedModule]) -> None:
        """Add to each module which macros kernels of its files need that nothing defines."""
        for at, one in enumerate(self._read):
            if one.passed is not None:
                off = needed_macros(one.passed.unit)
                notes = [_OFF.format(path, line, " and ".join(names)) for (path, line), names in sorted(off.items())]
                drafted[at] = drafted[at]._replace(open_ends=(*drafted[at].open_ends, *notes))


def _told(error: Diagnostic) -> str:
    return ": ".join(filter(None, (f"{error.file}:{error.line}" if error.line else error.file, error.message)))


def _guesses(
    drafted: Sequence[DraftedModule],
    modules: Iterable[tuple[Mapping[str, Any], Sequence[Template], Sequence[SeenLaunch]]],
    enumerators: Mapping[str, tuple[str, ...]],
) -> dict[str, tuple[tuple[str, ...], ...]]:
    """Return what to try of the kernels of each module's source that have no instance; by the modules' names."""
    found = {}
    for module, (plain, templates, launches) in zip(drafted, modules, strict=True):
        names = tuple(module.stated.get("instances", ()))
        tries = []
        for template in templates:
            if template.path == plain["source"] and not any(f"{template.name}<" in name for name in names):
                own = [one for one in launches if one.plain == template.plain]
                tries.append(guesses_for(template, own, enumerators))
        found[module.name] = tuple(one for one in tries if one)[:_MOST_GUESSED]
    return found
