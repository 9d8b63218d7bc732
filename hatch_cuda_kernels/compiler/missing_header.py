"""What to do about a header that NVRTC could not open."""

from __future__ import annotations

import re
from fnmatch import fnmatch
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.compiler.toolchain import PARTS, curand, part_files, pinned, pip_install
from hatch_cuda_kernels.includes import packaged_standard_headers
from hatch_cuda_kernels.libraries import is_torch_header, standard_headers
from hatch_cuda_kernels.names import VIRTUAL_ROOT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hatch_cuda_kernels.compiler.output import Diagnostic

__all__ = ["header_advice", "is_for_device", "is_known"]

_MISSING: Final = re.compile(r'(?:cannot|could not) open source file "([^"\n]+)"')
_NO_TORCH: Final = (
    "NVRTC cannot compile PyTorch's headers, which are the host's; 'host_code: drop' cuts their includes, and "
    "declares what kernels use of them, such as c10::Half; or keep the include from it with #ifndef __CUDACC_RTC__, "
    "pass pointers instead of tensors, and use CUDA's types, such as __half for c10::Half"
)


def header_advice(found: Diagnostic, *, computed: Sequence[str], release: tuple[int, int]) -> str | None:
    """Return what to do about a header that NVRTC could not open; None for any other error.

    ``computed`` are the ``path:line`` of the includes whose header a macro names. ``release`` is NVRTC's, and that of
    the packages to install.
    """
    match = _MISSING.search(found.message)
    if match is None:
        return None
    name = match[1].removeprefix(VIRTUAL_ROOT)
    advice = _advice(name, release, by_macro=f"{found.file}:{found.line}" in computed)
    if not found.file.startswith("/"):
        return advice
    return f"{_short(found.file)}, of the toolkit, asks for it: {advice}"


def _short(path: str) -> str:
    """Return a toolkit header as it is included."""
    return path.rpartition("/include/")[2].removeprefix("cccl/")


def _advice(name: str, release: tuple[int, int], *, by_macro: bool) -> str:
    if is_torch_header(name):
        return _NO_TORCH
    if name in standard_headers():
        if name in packaged_standard_headers():
            return "NVRTC has no host library; without 'standard_headers: false', this package's own is found"
        return "NVRTC has no host library; keep this include from it with #ifndef __CUDACC_RTC__"
    requirements = _requirements(name, release)
    if requirements:
        return f"{pip_install(*requirements)} brings it"
    if by_macro:
        return "a macro names it; declare a project header under 'headers:', by its path if patterns do not help"
    return (
        "it is not in the project; list its folder under 'include:', copy it there, or write it first if a build does"
    )


def is_for_device(name: str) -> bool:
    """Return whether device code may need a header, installed or not: the toolkit's, a standard one of use, a .cuh."""
    return is_known(name) or name.endswith(".cuh")


def is_known(name: str) -> bool:
    """Return whether a header is the toolkit's, installed or not, or a standard one of this package."""
    return name in packaged_standard_headers() or fnmatch(name, "curand*.h") or bool(_parts(name))


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
    owners = (part for part in PARTS if any(fnmatch(name, pattern) for pattern in part_files(part)))
    return [owner] if (owner := next(owners, None)) else []
