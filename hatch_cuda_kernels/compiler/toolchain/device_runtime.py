"""CUDA's device runtime, ``cudadevrt``: where it is, which version. Kernels that launch kernels are linked with it."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.cache import file_state
from hatch_cuda_kernels.compiler.toolchain.libraries import identity
from hatch_cuda_kernels.compiler.toolchain.packages import exactly, pinned, pip_install
from hatch_cuda_kernels.compiler.toolchain.wheels import bindings_major, find_library, library_version
from hatch_cuda_kernels.errors import ToolchainError
from hatch_cuda_kernels.includes import DEVICE_RUNTIME, DeviceLibrary
from hatch_cuda_kernels.versions import release_of

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["load_device_runtime"]

_FILE: Final = "libcudadevrt.a"
#: Of the digest that stands for the version of a file that no wheel brought.
_DIGITS: Final = 16
#: Where toolkits are, by variables of the environment, and where they keep static libraries.
_TOOLKITS: Final = ("CUDA_HOME", "CUDA_PATH", "CONDA_PREFIX")
_FOLDERS: Final = ("lib64", "lib", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib")


def load_device_runtime() -> DeviceLibrary:
    """Return the device runtime. Raises ToolchainError, naming the package to install, where there is none."""
    path, version = find_library(DEVICE_RUNTIME), library_version(DEVICE_RUNTIME)
    if path is not None:
        return _read(str(path), file_state(path), identity(version, DEVICE_RUNTIME))
    for found in _in_toolkits():
        return _read(str(found), file_state(found), "")
    nvrtc = library_version("nvrtc")
    wheel = pinned(DEVICE_RUNTIME, release_of(nvrtc)) if nvrtc else exactly(DEVICE_RUNTIME, bindings_major(), "")
    raise ToolchainError(f"{DEVICE_RUNTIME} is not installed, with which a module is linked", pip_install(wheel))


@cache
def _read(path: str, _state: str, version: str) -> DeviceLibrary:
    try:
        found = DeviceLibrary(DEVICE_RUNTIME, Path(path).read_bytes())
    except OSError as error:
        message = f"{path} cannot be read: {error.strerror}"
        raise ToolchainError(message, "install CUDA's runtime again, or make the file readable") from error
    return found._replace(version=version or f"unknown+{found.sha256[:_DIGITS]}")


def _in_toolkits() -> Iterator[Path]:
    homes = filter(None, map(os.environ.get, _TOOLKITS))
    paths = (Path(home, folder, _FILE) for home in homes for folder in _FOLDERS)
    return (path for path in paths if path.is_file())
