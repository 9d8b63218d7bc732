"""The second half of a compile that shares its front end: from PTX or LTO-IR to one architecture's images."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from hatch_cuda_kernels.compiler.job import Compiled
from hatch_cuda_kernels.compiler.output.cubin import read_cubin
from hatch_cuda_kernels.compiler.output.ptx import read_ptx
from hatch_cuda_kernels.compiler.ptxas import assemble
from hatch_cuda_kernels.compiler.toolchain.assembler import require_ptxas
from hatch_cuda_kernels.compiler.toolchain.installed import load_toolchain
from hatch_cuda_kernels.errors import CompileError

if TYPE_CHECKING:
    from hatch_cuda_kernels.compiler.finish_job import FinishInput, FinishJob
    from hatch_cuda_kernels.compiler.job import Finished
    from hatch_cuda_kernels.compiler.output.cubin import Cubin
    from hatch_cuda_kernels.image import Kind

__all__ = ["finish"]


def finish(job: FinishJob) -> Compiled:
    """Finish one job and return its images with what they hold.

    The CUBIN is always made: where only PTX is asked for, it proves that the PTX can be assembled. Raises CompileError
    with the finisher's log, or when a symbol is lost; ToolchainError when the finisher is missing.
    """
    if job.input is None:
        message = f"the front-end run of module {job.module!r} has to come first"
        raise ValueError(message)
    start = time.perf_counter()
    isa = job.input.ptx_isa
    made = _assemble(job, job.input) if job.finisher == "ptxas" else _link(job, job.input)
    images: dict[Kind, bytes] = {"cubin": made.image}
    if "ptx" in job.kinds:
        images["ptx"] = _link(job, job.input, to_ptx=True).image
        isa = read_ptx(images["ptx"].decode()).isa
    held = read_cubin(made.image)
    _check_symbols(job, job.input, held)
    return Compiled(
        images={kind: images[kind] for kind in job.kinds},
        kernels=job.input.kernels,
        globals=job.input.globals,
        resources=held.resources,
        ptx_isa=isa,
        toolchain=job.toolchain(load_toolchain()),
        log=made.log.strip(),
        seconds=time.perf_counter() - start,
    )


def _assemble(job: FinishJob, given: FinishInput) -> Finished:
    ptxas = require_ptxas(load_toolchain().nvrtc).path
    return assemble(ptxas, given.image.decode(), arch=job.arch, options=job.front.options, name=job.module)


def _link(job: FinishJob, given: FinishInput, *, to_ptx: bool = False) -> Finished:
    from hatch_cuda_kernels.compiler.nvjitlink import link  # a 117 MB library

    keep = [symbol.lowered for symbol in given.globals]
    options = job.front.options
    return link(given.image, "ltoir", arch=job.arch, options=options, name=job.module, keep=keep, to_ptx=to_ptx)


def _check_symbols(job: FinishJob, given: FinishInput, held: Cubin) -> None:
    """Raise CompileError unless everything the input had is still there: a status of success does not prove it."""
    lost = tuple(symbol.name for symbol in given.kernels if symbol.lowered not in held.kernels)
    lost += tuple(f"&{symbol.name}" for symbol in given.globals if symbol.lowered not in held.variables)
    if lost:
        raise CompileError(job.module, str(job.arch), f"not in the image: {', '.join(lost)}", bad_names=lost)
