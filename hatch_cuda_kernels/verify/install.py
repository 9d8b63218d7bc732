"""What to install where a check needs the compiler of another CUDA release."""

from __future__ import annotations

from typing import Final

from hatch_cuda_kernels.compiler.toolchain.wheels import bindings_major

__all__ = ["install", "package"]

#: Packages of the parts of a toolchain, for CUDA 13 and for CUDA 12.
_PACKAGES: Final = {
    "nvrtc": ("nvidia-cuda-nvrtc", "nvidia-cuda-nvrtc-cu12"),
    "nvjitlink": ("nvidia-nvjitlink", "nvidia-nvjitlink-cu12"),
    "cccl": ("nvidia-cuda-cccl", "nvidia-cuda-cccl-cu12"),
    "crt": ("nvidia-cuda-crt", "nvidia-cuda-nvcc-cu12"),
    "cudart": ("nvidia-cuda-runtime", "nvidia-cuda-runtime-cu12"),
}
#: One process has the libraries of one CUDA major, which is that of its bindings.
_BINDINGS: Final = {12: "'cuda-bindings>=12.9,<13'", 13: "'cuda-bindings>=13,<14'"}


def package(part: str, major: int) -> str:
    """Return the package of a part of the toolkit of a CUDA major; empty where no package has it."""
    return _PACKAGES[part][major == 12] if part in _PACKAGES else ""


def install(requirements: list[str], major: int) -> str:
    """Return the pip command for requirements of a CUDA major, with the bindings that load them where they are not."""
    bindings = [_BINDINGS[major]] if major in _BINDINGS and bindings_major() != major else []
    return f"python3 -m pip install {' '.join([*bindings, *requirements])}"
