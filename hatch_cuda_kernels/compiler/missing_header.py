"""What to do about a header that NVRTC could not open."""

from __future__ import annotations

import re
from fnmatch import fnmatch
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.compiler.output.log import parse_log
from hatch_cuda_kernels.compiler.toolchain.parts import PARTS
from hatch_cuda_kernels.compiler.toolchain.standard_headers import HOST_HEADERS, device_header

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["missing_header"]

_MISSING: Final = re.compile(r'(?:cannot|could not) open source file "([^"\n]+)"')


def missing_header(log: str, *, computed: Sequence[str], release: tuple[int, int]) -> str | None:
    """Return which header a failed compile lacked and what to do, None when it failed for another reason.

    ``log`` names files as the project does; ``computed`` are the ``path:line`` of includes whose header a macro names;
    ``release`` is NVRTC's, of which the packages should be.
    """
    for found in parse_log(log):
        match = _MISSING.search(found.message)
        if match is not None:
            name = match[1].removeprefix("/hatch-cuda-kernels/")
            by_macro = f"{found.file}:{found.line}" in computed
            return f"header {name!r} is missing: {_advice(name, release, by_macro=by_macro)}"
    return None


def _advice(name: str, release: tuple[int, int], *, by_macro: bool) -> str:
    if name in HOST_HEADERS:
        instead = device_header(name)
        if instead is None:
            return "NVRTC has no host library; keep this include from it with #ifndef __CUDACC_RTC__"
        brought = _install(["nvidia-cuda-cccl"], release)
        return f"NVRTC has no host library; include <{instead}>, which {brought} brings"
    packages = _packages(name, release[0])
    if packages:
        return f"{_install(packages, release)} brings it"
    if by_macro:
        return "a macro names it; a project header that is included so is declared under 'headers:'"
    return "it is not in the project; list its folder under 'include:', or copy it into the project"


def _packages(name: str, major: int) -> list[str]:
    """Return the distributions that bring a toolkit header."""
    if name == "mma.h":
        return ["nvidia-cuda-runtime", *_packages("crt/mma.h", major)]
    if name.startswith("cuda/") and "." in name and not name.startswith("cuda/std/"):
        return []  # libcu++'s own have no suffix, a project's have
    for part in PARTS.values():
        if any(fnmatch(name, pattern) for pattern in part.files):
            wheel = part.wheels[0 if major >= 13 else 1]
            return [f"nvidia-{wheel.replace('_', '-')}"]
    return ["nvidia-curand"] if fnmatch(name, "curand*.h") else []


def _install(packages: Sequence[str], release: tuple[int, int]) -> str:
    major, minor = release
    suffix = "" if major >= 13 else f"-cu{major}"
    pins = (
        f"{package}{suffix}=={major}.{minor}.*" if package.startswith("nvidia-cuda-") else f"{package}{suffix}"
        for package in packages
    )
    return f"python3 -m pip install {' '.join(map(repr, pins))}"
