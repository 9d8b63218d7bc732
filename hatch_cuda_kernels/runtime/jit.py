"""Rungs that need a compiler: what the disk cache recorded, and a JIT compile of the shipped source."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hatch_cuda_kernels.cache import Entry, open_cache
from hatch_cuda_kernels.errors import InputError, ToolchainError
from hatch_cuda_kernels.image import Image
from hatch_cuda_kernels.runtime.resolve import Candidate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hatch_cuda_kernels.compiler.job import CompileJob
    from hatch_cuda_kernels.compiler.toolchain import Toolchain
    from hatch_cuda_kernels.image import Origin
    from hatch_cuda_kernels.runtime.resolve import Request

__all__ = ["JIT_VARIABLE", "cached_candidates", "jit_candidates"]

JIT_VARIABLE = "HATCH_CUDA_KERNELS_JIT"


def cached_candidates(request: Request) -> Iterator[Candidate]:
    """Yield the recorded image of this device's architecture, if there is one."""
    arch = request.source.device_arch(request)
    try:
        job, toolchain = request.source.job(request), _toolchain()
    except (InputError, ToolchainError) as error:
        yield Candidate("cached", arch, "cubin", accepted=False, reason=f"cannot be looked up: {error}")
        return
    entry = open_cache().get(job.key("cubin", toolchain))
    if entry is None:
        absent = f"nothing recorded for NVRTC {toolchain.nvrtc}"
        yield Candidate("cached", arch, "cubin", accepted=False, reason=absent)
        return
    image = _image(entry, "cached")
    reason = request.refused(image.sha256)
    yield Candidate(
        "cached",
        arch,
        "cubin",
        accepted=reason is None,
        reason=reason or f"compiled on {entry.created} in {entry.seconds:.2f} s",
        get=lambda: image,
    )


def jit_candidates(request: Request) -> Iterator[Candidate]:
    """Yield the compile that would serve this device; ``get`` runs it."""
    arch = request.source.device_arch(request)
    reason = _jit_refusal(request)
    if reason is not None:
        yield Candidate("jitted", arch, "cubin", accepted=False, reason=reason)
        return
    yield Candidate(
        "jitted",
        arch,
        "cubin",
        accepted=True,
        reason=f"compiled from {request.module.source} by NVRTC {_toolchain().nvrtc}",
        get=lambda: jit(request.source.job(request)),
    )


def jit(job: CompileJob) -> Image:
    """Compile a job to its CUBIN and record it. Raises CompileError with NVRTC's log."""
    from hatch_cuda_kernels.compiler.nvrtc import compile as compile_job  # noqa: PLC0415 - loads NVRTC

    compiled = compile_job(job)
    entry = Entry.of(job, "cubin", compiled)
    open_cache().put(entry)
    return _image(entry, "jitted")


def _jit_refusal(request: Request) -> str | None:
    if request.policy == "prebuilt":
        return "policy 'prebuilt' never compiles"
    if not request.jit:
        return f"{JIT_VARIABLE}=0 forbids compiling"
    try:
        toolchain = _toolchain()
        request.source.job(request)
    except (InputError, ToolchainError) as error:
        return str(error)
    from hatch_cuda_kernels.compiler.toolchain import supported_numbers  # noqa: PLC0415

    arch = request.source.device_arch(request)
    if arch.number not in supported_numbers():
        return f"NVRTC {toolchain.nvrtc} does not know {arch}"
    return None


def _toolchain() -> Toolchain:
    from hatch_cuda_kernels.compiler.toolchain import load_toolchain  # noqa: PLC0415 - loads NVRTC

    return load_toolchain()


def _image(entry: Entry, origin: Origin) -> Image:
    return Image(
        module=entry.module,
        origin=origin,
        arch=entry.arch,
        kind=entry.kind,
        data=entry.image,
        sha256=entry.sha256,
        path=open_cache().path_of(entry),
        kernels=entry.kernels,
    )
