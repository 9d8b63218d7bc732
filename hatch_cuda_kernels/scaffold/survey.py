"""A manifest of the kernels that a project has: what each source needs, and whether it then compiles."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from hatch_cuda_kernels.arch import SmArch
from hatch_cuda_kernels.cache import open_cache
from hatch_cuda_kernels.compiler.link_faults import lacks_device_runtime
from hatch_cuda_kernels.compiler.recipe import Recipe
from hatch_cuda_kernels.compiler.recipe_reader import read_recipe
from hatch_cuda_kernels.compiler.target_faults import lacking_targets
from hatch_cuda_kernels.compiler.toolchain.installed import find_toolchain
from hatch_cuda_kernels.errors import CompileError, HatchCudaKernelsError, ToolchainError
from hatch_cuda_kernels.manifest import parse_manifest
from hatch_cuda_kernels.options import HostCode, NvrtcOptions
from hatch_cuda_kernels.plan.plan import make_plan
from hatch_cuda_kernels.pool.compilation import compile_missing
from hatch_cuda_kernels.pool.fresh import find_fresh, find_missing
from hatch_cuda_kernels.port.check_instances import refused_instances
from hatch_cuda_kernels.port.device_runtime import stated_with_runtime
from hatch_cuda_kernels.port.draft import flow, stated_options
from hatch_cuda_kernels.port.other_sources import linked, other_sources
from hatch_cuda_kernels.port.port import port
from hatch_cuda_kernels.port.project_tree import include_folders
from hatch_cuda_kernels.source.project import Project

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from hatch_cuda_kernels.manifest import Manifest
    from hatch_cuda_kernels.manifest.model import Module


__all__ = ["Survey", "survey"]

_NOT_TRIED: Final = "not tried, as NVRTC is not installed"
#: Rounds of compiles for other targets: the first error of a module is the first architecture's.
_MOST_TARGETS: Final = 3
_NO_KERNEL: Final = "all its kernels are templates, and no launch tells their arguments; list them under instances:"


class _Fault(NamedTuple):
    """Why a module does not compile."""

    reason: str
    log: str = ""


@dataclass(frozen=True)
class Survey:
    """What a manifest states of each source, by module, and why others are not in it."""

    modules: dict[str, dict[str, Any]] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    """Reasons by source."""

    def lines(self) -> Iterator[str]:
        """Yield the lines of a manifest's modules, and a comment for each source that is left out."""
        for name, stated in self.modules.items():
            yield f"  {name}:"
            yield from (f"    {key}: {flow(value)}" for key, value in stated.items())
        for source, reason in self.left_out.items():
            yield f"  # {source}: {reason}"


def survey(root: Path, sources: Sequence[str], files: Sequence[str], head: Mapping[str, Any]) -> Survey:
    """Return a manifest's modules for sources, each compiled as ``head``, the manifest's other keys, has it.

    ``files`` are the project's C++ files. Without NVRTC, modules are listed without a trial.
    """
    found = Survey()
    for source in sources:
        try:
            name, stated = _stated(root, source, files)
            make_plan(_manifest(root, head, {"module": stated}))
        except HatchCudaKernelsError as error:
            found.left_out[source] = _first_line(error)
        else:
            found.modules[_free_name(name, found.modules)] = stated
    starts = {name: stated["source"] for name, stated in found.modules.items()}
    try:
        for name, reason in _refused(root, head, found.modules, files).items():
            del found.modules[name]
            found.left_out[starts[name]] = reason
    except ToolchainError:
        found.left_out.update(dict.fromkeys(starts.values(), _NOT_TRIED))
    return found


def _stated(root: Path, source: str, files: Sequence[str]) -> tuple[str, dict[str, Any]]:
    """Return a module's name, and what it takes: folders, whether the source has host code, instances."""
    options = NvrtcOptions(include=tuple(include_folders(root, source, files)))
    drafted = port(root, [source], options)
    stated = drafted.modules[0].stated
    merged = stated_options(options) | stated.get("options", {})
    if drafted.guards and not read_recipe(Recipe(module="module", sources=(source,), options=options), root).dropped:
        merged["host_code"] = str(HostCode.DROP)  # only in branches, which by itself is no reason
    return drafted.modules[0].name, stated | ({"options": merged} if merged else {})


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
        (module,) = _manifest(root, head, {name: modules[name]}).modules
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
    manifest = _manifest(root, head, {"module": stated})
    arch = _real_arch(manifest.modules[0])
    text = json.dumps({**head, "modules": {"module": stated}})
    refused = refused_instances(Project(root), text, arch)
    if refused:
        stated.pop("matrix", None)
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
    plan = make_plan(_manifest(root, head, modules))
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


def _manifest(root: Path, head: Mapping[str, Any], modules: Mapping[str, Any]) -> Manifest:
    return parse_manifest(json.dumps({**head, "modules": modules}), root=root)


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


def _first_line(error: HatchCudaKernelsError) -> str:
    line = str(error).splitlines()[0]
    return line.partition(": modules.module.source: ")[2] or line


def _free_name(name: str, taken: Mapping[str, object]) -> str:
    """Return a module's name, with a number where it is taken."""
    number = 2
    free = name
    while free in taken:
        free = f"{name}_{number}"
        number += 1
    return free
