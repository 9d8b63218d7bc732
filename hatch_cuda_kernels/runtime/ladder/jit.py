"""Rungs 3 and 5: what the disk cache recorded, and a JIT compile of the shipped source."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.cache import Entry, open_cache
from hatch_cuda_kernels.errors import InputError, ToolchainError
from hatch_cuda_kernels.image import Candidate, Image

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hatch_cuda_kernels.image import Origin
    from hatch_cuda_kernels.runtime.ladder.rungs import Request

__all__ = ["JIT_VARIABLE", "cached_candidates", "image_of", "jit_candidates", "jit_refusal", "recorded"]

JIT_VARIABLE: Final = "HATCH_CUDA_KERNELS_JIT"


def cached_candidates(request: Request) -> Iterator[Candidate]:
    """Yield the recorded compile of this source for this device, if there is one."""
    recalled = request.source.recalled_key(request.arch, request.instance)
    found = recorded(request, open_cache().get(recalled)) if recalled is not None else None
    if found is not None:
        yield found
        return
    from hatch_cuda_kernels.compiler.toolchain.remembered import known_toolchains  # where nothing is remembered

    arch = request.arch
    try:
        toolchains = known_toolchains()
        keys = [request.source.key(arch, request.instance, toolchain) for toolchain in toolchains]
    except (InputError, ToolchainError) as error:
        yield Candidate(
            "cached", arch, "cubin", accepted=False, reason=f"cannot be looked up: {getattr(error, 'message', error)}"
        )
    else:
        entries = (open_cache().get(key) for key in keys)
        found = recorded(request, next((entry for entry in entries if entry is not None), None))
        if found is not None:
            request.source.remember_key()
        versions = " or ".join(toolchain.nvrtc for toolchain in toolchains)
        absent = f"nothing recorded for NVRTC {versions}"
        yield found or Candidate("cached", arch, "cubin", accepted=False, reason=absent)


def recorded(request: Request, entry: Entry | None) -> Candidate | None:
    """Return the candidate of a cache entry, None where there is no entry."""
    if entry is None:
        return None
    image = image_of(entry, "cached")
    reason = request.refused(image.sha256)
    praise = f"compiled on {entry.created} in {entry.seconds:.2f} s"
    return Candidate("cached", entry.arch, "cubin", reason is None, reason or praise, lambda: image)


def jit_candidates(request: Request) -> Iterator[Candidate]:
    """Yield the compile that would serve this device; ``get`` runs it."""
    arch = request.arch
    reason = jit_refusal(request) or _compiler_refusal(request)
    if reason is not None:
        yield Candidate("jitted", arch, "cubin", accepted=False, reason=reason)
        return
    from hatch_cuda_kernels.compiler.toolchain.remembered import current_toolchain  # off the cached path

    praise = f"compiled from {request.module.source} by NVRTC {current_toolchain().nvrtc}"
    yield Candidate("jitted", arch, "cubin", accepted=True, reason=praise, get=lambda: _jit(request))


def jit_refusal(request: Request) -> str | None:
    """Return why nothing may be compiled for this request, or None when it may."""
    if request.policy == "prebuilt":
        return "policy 'prebuilt' never compiles"
    return None if request.jit else f"{JIT_VARIABLE}=0 forbids compiling"


def image_of(entry: Entry, origin: Origin) -> Image:
    """Return the loadable image of a cache entry."""
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


def _jit(request: Request) -> Image:
    """Compile to a CUBIN and record it, unless another process does just now. Raises CompileError with NVRTC's log."""
    from hatch_cuda_kernels.compiler.toolchain.remembered import current_toolchain

    toolchain = current_toolchain()

    def compile_now() -> Entry:
        from hatch_cuda_kernels.compiler.toolchain.installed import load_toolchain  # only in the one that compiles

        load_toolchain()  # says what to install where it is missing
        from hatch_cuda_kernels.compiler.nvrtc import compile as compile_job
        from hatch_cuda_kernels.compiler.record import entry_of
        from hatch_cuda_kernels.runtime.ladder.notices import compiling

        job = request.source.job(request.arch, request.instance)
        with compiling(request, job.arch, f"NVRTC {toolchain.nvrtc}"):
            return entry_of(job, "cubin", compile_job(job), wanted=request.kernel.name)

    entry, made = open_cache().get_or_make(request.source.key(request.arch, request.instance, toolchain), compile_now)
    return image_of(entry, "jitted" if made else "cached")


def _compiler_refusal(request: Request) -> str | None:
    from hatch_cuda_kernels.compiler.toolchain.installed import supports_arch  # off the cached path
    from hatch_cuda_kernels.compiler.toolchain.remembered import current_toolchain

    arch = request.arch
    try:
        toolchain = current_toolchain()
        request.source.key(arch, request.instance, toolchain)
        return None if supports_arch(arch, toolchain.release) else f"NVRTC {toolchain.nvrtc} does not know {arch}"
    except (InputError, ToolchainError) as error:
        return getattr(error, "message", str(error))
