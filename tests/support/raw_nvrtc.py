"""NVRTC with nothing of this package around it, for tests that need to know what NVRTC itself does."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from cuda.bindings import nvrtc

from hatch_cuda_kernels.compiler.nvrtc_calls import HOST_FLAGS

VIRTUAL_SOURCE = "/dev/null/hatch-cuda-kernels/k.cu"


@dataclass(frozen=True, slots=True)
class RawResult:
    """What one compile left; the images are empty when it failed."""

    ok: bool
    log: str
    ptx: str = ""
    cubin: bytes = b""
    lowered: dict[str, str] = field(default_factory=dict)


def compile_raw(
    source: str,
    *flags: str,
    name: str = VIRTUAL_SOURCE,
    headers: tuple[tuple[str, str], ...] = (),
    arch: str = "sm_80",
    expressions: tuple[str, ...] = (),
) -> RawResult:
    """Compile with the given flags, a fixed seed and no cache of NVRTC's own; plain char is as on x86-64."""
    texts = [text.encode() for _, text in headers]
    names = [header.encode() for header, _ in headers]
    program = _call(nvrtc.nvrtcCreateProgram, source.encode(), name.encode(), len(names), texts, names)
    try:
        for expression in expressions:
            _call(nvrtc.nvrtcAddNameExpression, program, expression.encode())
        options = [f"-arch={arch}", "--frandom-seed=1", "-no-cache", *flags, *HOST_FLAGS]
        (status,) = nvrtc.nvrtcCompileProgram(program, len(options), [option.encode() for option in options])
        log = _text(nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog, program)
        if int(status) != 0:
            return RawResult(ok=False, log=log)
        return RawResult(
            ok=True,
            log=log,
            ptx=_text(nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX, program),
            cubin=_bytes(nvrtc.nvrtcGetCUBINSize, nvrtc.nvrtcGetCUBIN, program),
            lowered={text: _call(nvrtc.nvrtcGetLoweredName, program, text.encode()).decode() for text in expressions},
        )
    finally:
        nvrtc.nvrtcDestroyProgram(program)


def _call(function: Any, *arguments: Any) -> Any:
    status, *values = function(*arguments)
    assert int(status) == 0, status
    return values[0] if values else None


def _bytes(size_of: Any, read: Any, program: Any) -> bytes:
    size = _call(size_of, program)
    buffer = b"\0" * size  # not b" " * size: the bindings write into it, and CPython shares one-byte objects
    if size > 1:
        _call(read, program, buffer)
    return buffer


def _text(size_of: Any, read: Any, program: Any) -> str:
    return _bytes(size_of, read, program).rstrip(b"\0").decode()
