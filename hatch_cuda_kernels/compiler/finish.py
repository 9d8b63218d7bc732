"""The second half of a compile that shares its front end: from PTX or LTO-IR to one architecture's images."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from hatch_cuda_kernels.compiler.job import Compiled
from hatch_cuda_kernels.compiler.output.cubin import read_cubin
from hatch_cuda_kernels.compiler.output.ptx import read_ptx
from hatch_cuda_kernels.compiler.toolchain.installed import load_toolchain
from hatch_cuda_kernels.errors import CompileError

if TYPE_CHECKING:
    from hatch_cuda_kernels.compiler.link_job import LinkInput, LinkJob
    from hatch_cuda_kernels.compiler.output.cubin import Cubin
    from hatch_cuda_kernels.image import Kind

__all__ = ["finish"]


def finish(job: LinkJob) -> Compiled:
    """Finish one job with nvJitLink and return its images with what they hold.

    The CUBIN is always made: where only PTX is asked for, it proves that the PTX can be assembled. Raises CompileError
    with nvJitLink's log, or when a symbol is lost; ToolchainError when nvJitLink is missing.
    """
    from hatch_cuda_kernels.compiler.nvjitlink import link  # a 117 MB library

    if job.input is None:
        message = f"the front-end run of module {job.module!r} has to come first"
        raise ValueError(message)
    start = time.perf_counter()
    image, options, isa = job.input.image, job.front.options, job.input.ptx_isa
    keep = [symbol.lowered for symbol in job.input.globals]
    linked = link(image, job.input_kind, arch=job.arch, options=options, name=job.module, keep=keep)
    images: dict[Kind, bytes] = {"cubin": linked.image}
    if "ptx" in job.kinds:
        images["ptx"] = link(
            image, job.input_kind, arch=job.arch, options=options, name=job.module, keep=keep, to_ptx=True
        ).image
        isa = read_ptx(images["ptx"].decode()).isa
    held = read_cubin(linked.image)
    _check_symbols(job, job.input, held)
    return Compiled(
        images={kind: images[kind] for kind in job.kinds},
        kernels=job.input.kernels,
        globals=job.input.globals,
        resources=held.resources,
        ptx_isa=isa,
        toolchain=job.toolchain(load_toolchain()),
        log=linked.log.strip(),
        seconds=time.perf_counter() - start,
    )


def _check_symbols(job: LinkJob, given: LinkInput, held: Cubin) -> None:
    """Raise CompileError unless everything the input had is still there: a status of success does not prove it."""
    lost = tuple(symbol.name for symbol in given.kernels if symbol.lowered not in held.kernels)
    lost += tuple(f"&{symbol.name}" for symbol in given.globals if symbol.lowered not in held.variables)
    if lost:
        raise CompileError(job.module, str(job.arch), f"not in the image: {', '.join(lost)}", bad_names=lost)
