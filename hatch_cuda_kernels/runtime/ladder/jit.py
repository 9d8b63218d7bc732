"""Rung 4: a JIT compile of the shipped source."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from hatch_cuda_kernels.errors import CompileError, InputError, StoreError, ToolchainError, reason_of
from hatch_cuda_kernels.image import Candidate
from hatch_cuda_kernels.runtime.ladder.recorded import recorded_or_made

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hatch_cuda_kernels.cache import Entry
    from hatch_cuda_kernels.image import Image
    from hatch_cuda_kernels.runtime.ladder.notices import Notice
    from hatch_cuda_kernels.runtime.ladder.request import Request

__all__ = ["jit_candidates"]


def jit_candidates(request: Request) -> Iterator[Candidate]:
    """Yield the compile that would serve this device; ``get`` runs it."""
    damage = None
    try:
        refusal = request.compile_refusal or _compiler_refusal(request)
    except StoreError as error:
        damage, refusal = error, reason_of(error)
    if refusal is not None:
        yield Candidate("jitted", request.arch, "cubin", accepted=False, reason=refusal, damage=damage)
        return
    from hatch_cuda_kernels.compiler.toolchain.remembered import current_toolchain  # off the cached path

    reason = f"compiled from {', '.join(request.module.sources)} by NVRTC {current_toolchain().nvrtc}"
    yield Candidate("jitted", request.arch, "cubin", accepted=True, reason=reason, get=lambda: _jit(request))


def _compiler_refusal(request: Request) -> str | None:
    """Return why this request is not compiled here, or None. Raises StoreError for damage of what would be."""
    from hatch_cuda_kernels.compiler.toolchain.installed import supports_arch  # off the cached path
    from hatch_cuda_kernels.compiler.toolchain.remembered import current_toolchain

    arch = request.arch
    try:
        toolchain = current_toolchain()
        request.source.key(arch, request.instance, toolchain)
        request.source.check()
        return None if supports_arch(arch, toolchain.release) else f"NVRTC {toolchain.nvrtc} does not know {arch}"
    except InputError as error:
        request.source.check()  # what is wrong with the source may be wrong in the index alone
        return reason_of(error)
    except ToolchainError as error:
        return reason_of(error)


def _jit(request: Request) -> Image:
    """Compile to a CUBIN and record it, unless another process is doing so. Raises CompileError with NVRTC's log."""
    from hatch_cuda_kernels.compiler.toolchain.remembered import current_toolchain

    key = request.source.key(request.arch, request.instance, current_toolchain())
    return recorded_or_made(request, key, partial(_compile, request))


def _compile(request: Request, notice: Notice) -> Entry:
    from hatch_cuda_kernels.compiler.toolchain.installed import load_toolchain  # only in the one that compiles

    toolchain = load_toolchain()  # says what to install if it is missing
    from hatch_cuda_kernels.compiler.nvrtc import compile as compile_job
    from hatch_cuda_kernels.compiler.record import entry_of

    source = request.source
    used, keyed = source.toolchain(toolchain), source.job(request.arch, request.instance)
    job = keyed if used is toolchain else source.job(request.arch, request.instance, as_here=True)
    with notice.compiling(job.arch, f"NVRTC {toolchain.nvrtc}"):
        while True:
            try:
                compiled = replace(compile_job(job), toolchain=keyed.toolchain(used))
                break
            except CompileError as error:
                further = source.job_after(error, request.arch, request.instance)
                if further is None:
                    raise
                job = further
        return entry_of(keyed, "cubin", compiled, wanted=request.kernel.name)
