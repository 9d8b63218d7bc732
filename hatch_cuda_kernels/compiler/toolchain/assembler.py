"""ptxas: where it is and which version. It comes in the wheel with nvcc, or with a toolkit on this machine."""

from __future__ import annotations

import os
import re
import shutil
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from hatch_cuda_kernels.cache import file_state
from hatch_cuda_kernels.compiler.toolchain.libraries import identity
from hatch_cuda_kernels.compiler.toolchain.packages import pinned, pip_install
from hatch_cuda_kernels.compiler.toolchain.wheels import find_library, library_version
from hatch_cuda_kernels.errors import ToolchainError
from hatch_cuda_kernels.versions import release_of, version_text

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Ptxas", "find_ptxas", "installed_ptxas", "require_ptxas"]

_VERSION: Final = re.compile(rb"release \d+\.\d+, V([0-9.]+)")
_TOOLKITS: Final = ("CUDA_HOME", "CUDA_PATH")


class Ptxas(NamedTuple):
    """One ptxas."""

    path: Path
    version: str
    """Such as ``13.0.88``, followed by ``+`` and a digest where the file is not as its wheel lists it."""
    packaged: bool
    """Whether a wheel brought it."""


def require_ptxas(nvrtc: str) -> Ptxas:
    """Return the ptxas that goes with a build of NVRTC. Raises ToolchainError, naming the package, without one."""
    found = find_ptxas(nvrtc)
    if found is None:
        release = release_of(nvrtc)
        message = f"ptxas of CUDA {version_text(release)} is not installed, which assembles what this NVRTC compiles"
        raise ToolchainError(message, pip_install(pinned("ptxas", release)))
    return found


def find_ptxas(nvrtc: str) -> Ptxas | None:
    """Return the ptxas that goes with a build of NVRTC, or None.

    A wheel's is of the same release; a toolkit's, of the very build, because no requirement pins it.
    """
    build = nvrtc.partition("+")[0]
    for ptxas in installed_ptxas():
        if ptxas.version == build or (ptxas.packaged and release_of(ptxas.version) == release_of(build)):
            return ptxas
    return None


def installed_ptxas() -> Iterator[Ptxas]:
    """Yield every ptxas that is looked for: of a wheel, of the toolkits that the environment names, and on PATH."""
    path, version = find_library("ptxas"), library_version("ptxas")
    if path is not None and version:
        yield Ptxas(path, identity(version, "ptxas"), packaged=True)
    homes = [os.path.join(home, "bin") for name in _TOOLKITS if (home := os.environ.get(name))]  # noqa: PTH118 - a path
    for folder in (*homes, None):
        found = shutil.which("ptxas", path=folder)
        if found is not None and (version := _asked(found, file_state(found))):
            yield Ptxas(Path(found), version, packaged=False)


@cache
def _asked(path: str, _state: str) -> str:
    """Return the version that a ptxas states; empty if it does not run."""
    import subprocess  # who has no ptxas, or that of a wheel, needs none of it

    try:
        done = subprocess.run([path, "--version"], stdin=subprocess.DEVNULL, capture_output=True, check=False)  # noqa: S603 - of the toolkit
    except OSError:
        return ""
    match = _VERSION.search(done.stdout)
    return match[1].decode() if match else ""
