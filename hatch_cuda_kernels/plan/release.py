"""The toolkit release that a manifest asks for: what to install for it, and whether it is the one found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hatch_cuda_kernels.arch import version_text
from hatch_cuda_kernels.compiler import choose_route
from hatch_cuda_kernels.compiler.toolchain import (
    bindings_major,
    build_extra,
    find_toolchain,
    own,
    pip_install,
    release_requirements,
    supports_arch,
)
from hatch_cuda_kernels.errors import BuildError, InputError, ToolchainError
from hatch_cuda_kernels.plan.plan import route_of

if TYPE_CHECKING:
    from pathlib import Path

    from hatch_cuda_kernels.image import Finisher
    from hatch_cuda_kernels.includes import Project
    from hatch_cuda_kernels.manifest import Manifest, Module


def check_release(manifest: Manifest) -> list[str]:
    """Return warnings about the NVRTC found.

    Raises ToolchainError if it is missing or of a wrong release, BuildError if it does not know an architecture.
    """
    if manifest.cuda is not None and bindings_major() != manifest.cuda[0]:
        raise _wrong_bindings(manifest)
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
    from hatch_cuda_kernels.includes import Project  # only to say what to install

    project = Project(manifest.root)
    finishers = {_finisher(module, manifest.root, project) for module in manifest.modules}
    return release_requirements(manifest.release, finishers=finishers - {"nvrtc"})


def _finisher(module: Module, root: Path, project: Project) -> Finisher:
    """Return what finishes a module. For an unreadable source, which the plan reports, it is a guess by the options."""
    from hatch_cuda_kernels.compiler import read_recipe  # as above

    try:
        sources = read_recipe(module.recipe, root, project=project)
    except InputError:
        return choose_route(module.options, front_end=module.front_end, linked=module.recipe.is_linked).finisher
    return route_of(module.recipe, module.front_end, sources).finisher


def _wrong_bindings(manifest: Manifest) -> ToolchainError:
    major = manifest.release[0]
    return ToolchainError(
        f"{manifest.path.name} asks for CUDA {version_text(manifest.release)}, the cuda-bindings found "
        f"load the libraries of CUDA {bindings_major()}",
        f'write "{own(build_extra(major))}" into build-system.requires of pyproject.toml; without build isolation, '
        f"{pip_install(*requirements(manifest))}",
    )
