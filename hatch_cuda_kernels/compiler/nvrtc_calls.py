"""NVRTC's calls as functions: a program, what a compile says of it, what it gives, and what stays of it.

With every NVRTC tried, 12.9, 13.0 and 13.5, a compile with ``--restrict`` makes each later one in the process take all
pointer parameters for ``__restrict__``: it may load through the non-coherent cache what the kernel itself writes. The
flag cannot be taken back. ``-Ofc=mid`` stays with the assembler in the same way. Therefore a compile with flags in
``extra`` has a process to itself; and where others may use NVRTC in this one, its state is looked at after a compile.
"""

from __future__ import annotations

from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, Final

from cuda.bindings import nvrtc

from hatch_cuda_kernels.child_process import is_child
from hatch_cuda_kernels.compiler.placement import shows_place, with_descriptors

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_CANARY: Final = b"__global__ void canary(float* y, const float* x) { *y = *x; }"
_FLAGS: Final = (b"-arch=compute_80", b"--minimal", b"-no-cache", b"--modify-stack-limit=false")
#: What NVRTC writes for a load that no store of the kernel can reach.
_NON_COHERENT: Final = b"ld.global.nc"
_found = False


class NvrtcError(Exception):
    """A call failed that does not depend on the source."""


@contextmanager
def open_program(
    source: str, name: str, headers: Sequence[tuple[str, str]], expressions: Iterable[str] = ()
) -> Iterator[Any]:  # an opaque handle
    """Yield a program with headers in memory, by name, and name expressions. Raises NvrtcError."""
    texts, names = [text.encode() for _, text in headers], [header.encode() for header, _ in headers]
    program = _check(nvrtc.nvrtcCreateProgram(source.encode(), name.encode(), len(names), texts, names))
    try:
        for expression in expressions:
            _check(nvrtc.nvrtcAddNameExpression(program, expression.encode()))
        yield program
    finally:
        nvrtc.nvrtcDestroyProgram(program)


def compile_program(program: Any, flags: Sequence[str]) -> tuple[bool, str]:  # an opaque handle
    """Return whether NVRTC took a program, and what it said."""
    with with_descriptors(flags) if shows_place(flags) else nullcontext() as placed:
        given = placed.flags if placed else flags
        (status,) = nvrtc.nvrtcCompileProgram(program, len(given), [flag.encode() for flag in given])
    log = output(program, "ProgramLog").rstrip(b"\0").decode(errors="replace")
    return int(status) == 0, placed.as_installed(log) if placed else log


def lowered_name(program: Any, expression: str) -> str:  # an opaque handle
    """Return the symbol of a name expression."""
    _, name = nvrtc.nvrtcGetLoweredName(program, expression.encode())
    return str(name.decode())


def output(program: Any, what: str) -> bytes:  # an opaque handle
    """Return the ``PTX``, ``CUBIN``, ``LTOIR`` or ``ProgramLog`` of a program, empty where there is none.

    Never read into ``b" " * 1``: the bindings would write into CPython's shared one-byte object.
    """
    size = getattr(nvrtc, f"nvrtcGet{what}Size")(program)[1]
    if size <= 1:
        return b""
    buffer = bytes(size)
    getattr(nvrtc, f"nvrtcGet{what}")(program, buffer)
    return buffer


def _check(result: tuple[Any, ...]) -> Any:  # whatever the binding returned
    status, *values = result
    if int(status) != 0:
        raise NvrtcError(f"NVRTC failed with {status.name}")
    return values[0] if values else None


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
