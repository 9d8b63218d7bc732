"""Compiles the modules that a survey drafts: what is refused is taken out, what is lacking is added."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from hatch_cuda_kernels.arch import SmArch
from hatch_cuda_kernels.cache import open_cache
from hatch_cuda_kernels.compiler.link_faults import lacks_device_runtime
from hatch_cuda_kernels.compiler.target_faults import lacking_targets
from hatch_cuda_kernels.compiler.toolchain.installed import find_toolchain
from hatch_cuda_kernels.errors import CompileError, ToolchainError
from hatch_cuda_kernels.includes import Project
from hatch_cuda_kernels.plan.plan import make_plan
from hatch_cuda_kernels.plan.release import check_release, requirements
from hatch_cuda_kernels.pool.compilation import compile_missing
from hatch_cuda_kernels.pool.fresh import find_fresh, find_missing
from hatch_cuda_kernels.port import linked, other_sources, refused_instances, stated_with_runtime
from hatch_cuda_kernels.scaffold.survey import Untried, manifest_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from hatch_cuda_kernels.manifest import Manifest, Module
    from hatch_cuda_kernels.scaffold.survey import Survey

__all__ = ["compiled", "tried"]

#: Rounds of compiles for other targets: the first error of a module is the first architecture's.
_MOST_TARGETS: Final = 3
_NO_KERNEL: Final = "no kernel is left in it"


class _Fault(NamedTuple):
    """Why a module does not compile."""

    reason: str
    log: str = ""


def tried(root: Path, head: Mapping[str, Any], found: Survey, files: Sequence[str]) -> Survey:
    """Return a survey after a compile of its modules; as it is, with the reason, where that cannot be tried."""
    if not found.modules:
        return found
    manifest = manifest_of(root, head, found.modules)
    modules = {name: dict(stated) for name, stated in found.modules.items()}
    try:
        check_release(manifest)
        refused = _refused(root, head, modules, files)
    except ToolchainError as error:
        return replace(found, untried=Untried(error.message, tuple(requirements(manifest))))
    ends = found.open_ends
    unlisted = {
        modules[name]["source"]: "; ".join([reason, *(ends[name] if reason == _NO_KERNEL else ())])
        for name, reason in refused.items()
    }
    kept = {name: stated for name, stated in modules.items() if name not in refused}
    return replace(found, modules=kept, unlisted=found.unlisted | unlisted, untried=None)


def _refused(
    root: Path, head: Mapping[str, Any], modules: dict[str, dict[str, Any]], files: Sequence[str]
) -> dict[str, str]:
    """Compile modules, take out instances that are refused, add the sources that define what they lack.

    What only an architecture-specific target has is compiled for that one. Returns which still fail, with the reason.
    """
    failed = _compiled(root, head, modules)
    for _ in range(_MOST_TARGETS):
        lacking = [name for name, fault in failed.items() if _with_owners(head, modules[name], fault.log)]
        if not lacking:
            break
        failed = {name: fault for name, fault in failed.items() if name not in lacking}
        failed |= _compiled(root, head, {name: modules[name] for name in lacking})
    for name in failed:
        if lacks_device_runtime(failed[name].log):
            modules[name] = stated_with_runtime(modules[name], _arches(head, modules[name]))
        _without_refused(root, head, modules[name])
        (module,) = manifest_of(root, head, {name: modules[name]}).modules
        others = other_sources(module.recipe, Project(root), _real_arch(module), files)
        if others:
            modules[name] = linked(modules[name], others)
    failed = _compiled(root, head, {name: modules[name] for name in failed})
    return {name: fault.reason for name, fault in failed.items()}


def _arches(head: Mapping[str, Any], stated: Mapping[str, Any]) -> list[SmArch]:
    return [SmArch.parse(arch) for arch in stated.get("arches", head["arches"])]


def _with_owners(head: Mapping[str, Any], stated: dict[str, Any], log: str) -> bool:
    """State the architectures that have the instructions that others lack; return whether that changes anything.

    What an older architecture is refused for, it is refused for on all that do not have it.
    """
    before = _arches(head, stated)
    owners = lacking_targets(log)
    after = [owners.get(arch, arch) for arch in before]
    if any(target.number < owner.number for target, owner in owners.items()):
        after = [*owners.values()]
    if after == before:
        return False
    stated["arches"] = [*dict.fromkeys(map(str, after))]
    return True


def _without_refused(root: Path, head: Mapping[str, Any], stated: dict[str, Any]) -> None:
    """Take the instances out of a module that NVRTC refuses."""
    manifest = manifest_of(root, head, {"module": stated})
    arch = _real_arch(manifest.modules[0])
    text = json.dumps({**head, "modules": {"module": stated}})
    refused = refused_instances(Project(root), text, arch)
    if refused:
        stated["instances"] = [one.text for one in manifest.modules[0].instances if one.text not in refused]
        if not stated["instances"]:
            del stated["instances"]


def _real_arch(module: Module) -> SmArch:
    """Return an architecture that a module is compiled for, a real one if there is one."""
    return next((arch for arch in module.arches if not arch.virtual), module.arches[0])


def _compiled(root: Path, head: Mapping[str, Any], modules: Mapping[str, Any]) -> dict[str, _Fault]:
    """Compile modules into the disk cache, and return those that fail. Raises ToolchainError."""
    if not modules:
        return {}
    return compiled(manifest_of(root, head, modules))


def compiled(manifest: Manifest) -> dict[str, _Fault]:
    """Compile a manifest's modules into the disk cache, and return those that fail. Raises ToolchainError."""
    plan = make_plan(manifest)
    toolchain, cache = find_toolchain(), open_cache()
    fresh = find_fresh(plan, toolchain, cache)
    made = compile_missing(
        find_missing(plan, fresh),
        fresh,
        toolchain,
        cache,
        executor=None,
        workers=None,
        progress=None,
        warn=lambda _: None,
    )
    entries = fresh | made.entries
    faults = {failure.job.module: _fault(failure.error) for failure in reversed(made.failures)}
    failed = {}
    for planned in plan:
        name = planned.module.name
        if not entries.keys() >= {*planned.images}:
            failed[name] = faults.get(name, _Fault("it does not compile"))
        elif not any(entries[image].kernels for image in planned.images):
            failed[name] = _Fault(_NO_KERNEL)
    return failed


def _fault(error: Exception) -> _Fault:
    """Return a compile's first error and what to do about it, on one line, with its log."""
    if not isinstance(error, CompileError):
        return _Fault(str(error).partition("\n")[0])
    if not error.faults:
        return _Fault(error.message.partition("\n")[0], error.log)
    first, *others = (line.strip() for line in error.faults[0].splitlines())
    fixes = [line for line in others if line.startswith("to fix: ")]
    names = [repr(name) for name in error.bad_names[:1]]
    return _Fault("; ".join([": ".join([*names, first]), *fixes]), error.log)
