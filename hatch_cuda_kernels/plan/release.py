"""The toolkit release a manifest asks for: the packages that bring it, and whether the one found is it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hatch_cuda_kernels.compiler.toolchain.installed import find_toolchain, supports_arch
from hatch_cuda_kernels.compiler.toolchain.wheels import bindings_major
from hatch_cuda_kernels.errors import BuildError, ToolchainError

if TYPE_CHECKING:
    from hatch_cuda_kernels.manifest import Manifest

__all__ = ["check_release", "needs_nvjitlink", "release_requirements"]


def release_requirements(release: tuple[int, int], *, nvjitlink: bool) -> list[str]:
    """Return the requirement strings that bring a release's NVRTC, headers and, when asked for, nvJitLink."""
    major, minor = release
    suffix = "" if major >= 13 else f"-cu{major}"
    crt = "nvidia-cuda-crt" if major >= 13 else f"nvidia-cuda-nvcc{suffix}"
    names = [crt, *(f"nvidia-cuda-{part}{suffix}" for part in ("cccl", "nvrtc", "runtime"))]
    if nvjitlink:
        names.append(f"nvidia-nvjitlink{suffix}")
    # The bindings load the library of their own major version.
    bindings = f"cuda-bindings>={major}{'' if major >= 13 else '.9'},<{major + 1}"
    return [bindings, *(f"{name}=={major}.{minor}.*" for name in names)]


def check_release(manifest: Manifest) -> list[str]:
    """Return warnings about the NVRTC found.

    Raises ToolchainError when it is not the release the manifest states, BuildError when it cannot compile a listed
    architecture.
    """
    if manifest.cuda is not None and bindings_major() != manifest.cuda[0]:
        raise _wrong_bindings(manifest)
    found = find_toolchain().release
    if manifest.cuda is not None and found != manifest.cuda:
        raise ToolchainError(
            f"{manifest.path.name} asks for CUDA {_text(manifest.cuda)}, the NVRTC found is {_text(found)}",
            f"python3 -m pip install {' '.join(map(repr, _requirements(manifest)))}",
        )
    _check_archs(manifest)
    ships_ptx = any(arch.virtual for module in manifest.modules for arch in module.arches)
    if manifest.cuda is None and ships_ptx and found > manifest.release:
        needs, could = _text(found), _text(manifest.release)
        advice = f'with cuda: "{could}" in {manifest.path.name} it would need {could}'
        return [f"PTX written by NVRTC {needs} needs a driver for CUDA {needs} or newer; {advice}"]
    return []


def needs_nvjitlink(manifest: Manifest) -> bool:
    """Return whether a module is finished by nvJitLink."""
    return any(module.options.lto or module.front_end != "per-arch" for module in manifest.modules)


def _requirements(manifest: Manifest) -> list[str]:
    return release_requirements(manifest.release, nvjitlink=needs_nvjitlink(manifest))


def _wrong_bindings(manifest: Manifest) -> ToolchainError:
    major = manifest.release[0]
    extra = "build" if major >= 13 else f"build-cu{major}"
    return ToolchainError(
        f"{manifest.path.name} asks for CUDA {_text(manifest.release)}, the cuda-bindings found load the libraries of "
        f"CUDA {bindings_major()}",
        f'write "hatch-cuda-kernels[{extra}]" into build-system.requires of pyproject.toml; without build isolation, '
        f"python3 -m pip install {' '.join(map(repr, _requirements(manifest)))}",
    )


def _check_archs(manifest: Manifest) -> None:
    found = find_toolchain()
    known = {arch: supports_arch(arch, found.release) for module in manifest.modules for arch in module.arches}
    problems = [
        f"{module.where}: {arch} is unknown to NVRTC {found.nvrtc}"
        for module in manifest.modules
        for arch in module.arches
        if not known[arch]
    ]
    if problems:
        raise BuildError(problems)


def _text(release: tuple[int, int]) -> str:
    return f"{release[0]}.{release[1]}"
