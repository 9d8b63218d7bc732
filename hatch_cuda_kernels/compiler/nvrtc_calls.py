"""NVRTC's calls as functions: a program, what a compile says of it, and what it gives."""

from __future__ import annotations

from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from cuda.bindings import nvrtc

from hatch_cuda_kernels.compiler.rooted import shows_place, with_descriptors

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

__all__ = ["NvrtcError", "compile_program", "lowered_name", "open_program", "output"]


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
