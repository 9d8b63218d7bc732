"""What NVRTC keeps of one compile for the next ones of a process, and how to tell that it did.

With every NVRTC tried, 12.9, 13.0 and 13.5, a compile with ``--restrict`` makes each later one in the process take all
pointer parameters for ``__restrict__``: it may load through the non-coherent cache what the kernel itself writes. The
flag cannot be taken back. ``-Ofc=mid`` stays with the assembler in the same way. Therefore a compile with flags in
``extra`` has a process to itself; and where others may use NVRTC in this one, its state is looked at after a compile.
"""

from __future__ import annotations

from typing import Final

from cuda.bindings import nvrtc

from hatch_cuda_kernels.child_process import is_child

__all__ = ["is_tainted"]

_CANARY: Final = b"__global__ void canary(float* y, const float* x) { *y = *x; }"
_FLAGS: Final = (b"-arch=compute_80", b"--minimal", b"-no-cache", b"--modify-stack-limit=false")
#: What NVRTC writes for a load that no store of the kernel can reach.
_NON_COHERENT: Final = b"ld.global.nc"

_found = False


def is_tainted() -> bool:
    """Return whether NVRTC compiles otherwise here than in a new process, as far as is known.

    It does so for good: a compile was right if this is false after it. Takes as long as the smallest compile, but for
    the processes that compile for this package alone.
    """
    global _found  # noqa: PLW0603 - a fact about the process
    if not is_child():
        _found = _found or _NON_COHERENT in _canary()
    return _found


def _canary() -> bytes:
    """Return the PTX of a kernel whose load may not be non-coherent: the two pointers may be one."""
    _, program = nvrtc.nvrtcCreateProgram(_CANARY, b"canary.cu", 0, [], [])
    try:
        nvrtc.nvrtcCompileProgram(program, len(_FLAGS), [*_FLAGS])
        ptx = bytes(nvrtc.nvrtcGetPTXSize(program)[1])
        nvrtc.nvrtcGetPTX(program, ptx)
        return ptx
    finally:
        nvrtc.nvrtcDestroyProgram(program)
