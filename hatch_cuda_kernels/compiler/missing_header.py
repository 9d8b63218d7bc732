"""What to do about a header that NVRTC could not open."""

from __future__ import annotations

import re
from fnmatch import fnmatch
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.compiler.output.log import parse_log
from hatch_cuda_kernels.compiler.toolchain.packages import curand, pinned, pip_install
from hatch_cuda_kernels.compiler.toolchain.parts import PARTS
from hatch_cuda_kernels.compiler.toolchain.standard_headers import HOST_HEADERS, device_header
from hatch_cuda_kernels.names import VIRTUAL_ROOT

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["is_for_device", "missing_header"]

_MISSING: Final = re.compile(r'(?:cannot|could not) open source file "([^"\n]+)"')


def missing_header(log: str, *, computed: Sequence[str], release: tuple[int, int]) -> str | None:
    """Return which header a failed compile lacked and what to do about it; None if it failed for another reason.

    ``log`` names files as the project does. ``computed`` are the ``path:line`` of the includes whose header a macro
    names. ``release`` is NVRTC's, and that of the packages to install.
    """
    for found in parse_log(log):
        match = _MISSING.search(found.message)
        if match is not None:
            name = match[1].removeprefix(VIRTUAL_ROOT)
            by_macro = f"{found.file}:{found.line}" in computed
            return f"header {name!r} is missing: {_advice(name, release, by_macro=by_macro)}"
    return None


def _advice(name: str, release: tuple[int, int], *, by_macro: bool) -> str:
    if name in HOST_HEADERS:
        instead = device_header(name)
        if instead is None:
            return "NVRTC has no host library; keep this include from it with #ifndef __CUDACC_RTC__"
        brought = pip_install(pinned("cccl", release))
        return f"NVRTC has no host library; include <{instead}>, which {brought} brings"
    requirements = _requirements(name, release)
    if requirements:
        return f"{pip_install(*requirements)} brings it"
    if by_macro:
        return "a macro names it; a project header that is included so is declared under 'headers:'"
    return "it is not in the project; list its folder under 'include:', or copy it into the project"


def is_for_device(name: str) -> bool:
    """Return whether device code may need a header, installed or not: the toolkit's, a standard one of use, a .cuh."""
    return device_header(name) is not None or name.endswith(".cuh") or fnmatch(name, "curand*.h") or bool(_parts(name))


def _requirements(name: str, release: tuple[int, int]) -> list[str]:
    """Return the requirements for a header of this toolkit release; none if the header is not the toolkit's."""
    if fnmatch(name, "curand*.h"):
        return [curand(release)]
    return [pinned(part, release) for part in _parts(name)]


def _parts(name: str) -> list[str]:
    """Return the parts of the toolkit that a header needs; none if the header is not the toolkit's."""
    if name == "mma.h":
        return ["cudart", "crt"]  # it includes crt/mma.h
    if name.startswith("cuda/") and "." in name and not name.startswith("cuda/std/"):
        return []  # libcu++'s own have no suffix, a project's have
    owners = (part for part, facts in PARTS.items() if any(fnmatch(name, pattern) for pattern in facts.files))
    return [owner] if (owner := next(owners, None)) else []
