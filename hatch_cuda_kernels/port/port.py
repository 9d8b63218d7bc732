"""From sources written for nvcc to a patch, with what it takes to compile their kernels."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from hatch_cuda_kernels.compiler import Recipe
from hatch_cuda_kernels.cpp import outermost
from hatch_cuda_kernels.includes import Project
from hatch_cuda_kernels.libraries import torch_names
from hatch_cuda_kernels.manifest import parse_manifest
from hatch_cuda_kernels.names import VIRTUAL_ROOT
from hatch_cuda_kernels.options import NvrtcOptions, override_options
from hatch_cuda_kernels.pool import one_worker
from hatch_cuda_kernels.port.draft import DraftedModule, enumerators_of, manifest_text, module_names
from hatch_cuda_kernels.port.guards import REASONS, Guard, guard_text
from hatch_cuda_kernels.port.instances import Instances
from hatch_cuda_kernels.port.project import list_files, needed_macros
from hatch_cuda_kernels.port.trials import NamesTrial, Trials, may_lack

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from hatch_cuda_kernels.arch import SmArch
    from hatch_cuda_kernels.execution_space import DevicePass
    from hatch_cuda_kernels.port.instances import Template
    from hatch_cuda_kernels.port.sites import Site
    from hatch_cuda_kernels.port.trials import ReadSource

_DEFAULTS: Final = NvrtcOptions()
_LINKED: Final = "{} is listed because device code here uses {}, which it defines"
_OF_TORCH: Final = "for NVRTC, headers of this package declare what kernels use of Torch, as Torch 2.13 has it: {}"
_OUT_OF_TIME: Final = "NVRTC was asked for {:.0f} s; what it had not answered by then was not tried"
_OFF: Final = "{}:{}: a kernel is compiled only with {}: state it under define"
#: The folder of headers that no standard names.
_OURS: Final = "hatch_cuda_kernels/"
#: What NVRTC may be asked for in one port.
_SECONDS: Final = 15.0


class Ported(NamedTuple):
    """The texts of the files that change, by path, and what there is to say about them."""

    before: dict[str, str]
    after: dict[str, str]
    guards: tuple[Guard, ...]
    templates: tuple[Template, ...]
    launches: tuple[Site, ...]
    modules: tuple[DraftedModule, ...]
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
        places = (f"{one.file}:{one.line}" if one.line else one.file for one in remaining)
        said = (": ".join(filter(None, (place, one.message))) for place, one in zip(places, remaining, strict=True))
        return Ported(
            before={path: self._project.text(path).text for path in self._after},
            after=self._after,
            guards=tuple(sorted(self._guards)),
            templates=tuple(instances.templates),
            launches=tuple(instances.launches),
            modules=tuple(drafted),
            manifest=manifest_text(drafted, self._options),
            notes=tuple(self._notes),
            remaining=tuple(dict.fromkeys(said)),
        )

    def _write_guards(self, one: ReadSource, passed: DevicePass) -> None:
        said = {(place.file, place.offset): message for place, message in one.said.items()}
        starts = f"{VIRTUAL_ROOT}{one.recipe.sources[0]}"
        for name in sorted({*passed.found.edits, starts}, key=lambda name: (name == starts, name)):
            path, file = name.removeprefix(VIRTUAL_ROOT), passed.files[name]
            changing = (one for one in passed.found.edits.get(name, ()) if one.text != file.text[one.start : one.end])
            edits = [*outermost(changing)]
            for edit in edits:
                refusal = said.get((name, edit.start), "") if edit.reason == "removed" else ""
                reason = f"NVRTC: {refusal}" if refusal else REASONS.get(edit.reason, edit.reason)
                self._guards[Guard(path, file.line(edit.start), edit.reason, edit.name, reason)] = None
            additions = _implied_includes(one, self._options) if name == starts else ""
            if self._patches and (edits or additions):
                text, notes = guard_text(path, file, edits, additions)
                self._notes.update(dict.fromkeys(notes))
                if text != self._project.text(path).text:
                    self._after[path] = text
        words = {word for reading in passed.readings for word in reading.stream.texts}
        names = sorted(torch_names(one.sources.units[0].pre_include) & words)
        if names:
            self._notes[_OF_TORCH.format(", ".join(names))] = None

    def _draft(self, templates: Sequence[Template]) -> list[DraftedModule]:
        found = []
        for name, one in zip(module_names(one.recipe.sources[0] for one in self._read), self._read, strict=True):
            files, off = one.sources.files, {} if one.passed is None else needed_macros(one.passed.unit)
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
    known = {*options.pre_include, *(name for name in closure.standard if not name.startswith(_OURS))}
    lines = [f"#include <{name}>" for name in closure.pre_include if name not in known and VIRTUAL_ROOT not in name]
    return "\n".join(["#if defined(__CUDACC_RTC__)", *lines, "#endif", ""]) if lines else ""
