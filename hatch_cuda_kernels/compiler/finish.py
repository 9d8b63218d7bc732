"""The second half of a compile: from the PTX or LTO-IR of a shared front end, or from objects, to images."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING

from hatch_cuda_kernels.compiler.job import Compiled
from hatch_cuda_kernels.compiler.link_faults import check_inputs, explain_refusal
from hatch_cuda_kernels.compiler.output import read_cubin, read_ptx
from hatch_cuda_kernels.compiler.ptxas import assemble
from hatch_cuda_kernels.compiler.toolchain import load_toolchain, require_ptxas
from hatch_cuda_kernels.errors import CompileError
from hatch_cuda_kernels.names import found_names, normalize_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hatch_cuda_kernels.compiler.finish_job import FinishJob
    from hatch_cuda_kernels.compiler.job import CompileJob, Finished
    from hatch_cuda_kernels.compiler.output import Cubin, Ptx
    from hatch_cuda_kernels.image import Kind, Symbol

__all__ = ["finish", "finish_lto"]


def finish(job: FinishJob) -> Compiled:
    """Finish one job, which has its inputs, and return its images with what they hold.

    The CUBIN is always made: where only PTX is asked for, it proves that the PTX can be assembled. Raises CompileError
    with the finisher's log, or when a symbol is lost; ToolchainError when the finisher is missing.
    """
    start = time.perf_counter()
    isa = max(given.ptx_isa for given in job.inputs)
    kernels, variables = _kernels(job), tuple(symbol for given in job.inputs for symbol in given.globals)
    made = _assemble(job) if job.finisher == "ptxas" else _link(job)
    images: dict[Kind, bytes] = {"cubin": made.image}
    if "ptx" in job.kinds:
        images["ptx"] = _link(job, to_ptx=True).image
        isa = read_ptx(images["ptx"].decode()).isa
    held = read_cubin(made.image)
    _check_symbols(job, kernels, variables, held)
    own = {symbol.lowered for symbol in kernels}  # libraries have kernels, too
    return Compiled(
        images={kind: images[kind] for kind in job.kinds},
        kernels=kernels,
        globals=variables,
        resources={name: used for name, used in held.resources.items() if name in own},
        ptx_isa=isa,
        toolchain=job.toolchain(load_toolchain()),
        log="\n".join(filter(None, dict.fromkeys([*(given.log for given in job.inputs), made.log.strip()]))),
        seconds=time.perf_counter() - start,
    )


def finish_lto(job: CompileJob, ltoir: bytes, keep: list[str], log: str) -> tuple[dict[Kind, bytes], Ptx, str]:
    """Finish a job's LTO-IR with nvJitLink: the CUBIN is an image or the proof that the LTO-IR can become one.

    That of a unit cannot, by itself; its PTX says what is in it.
    """
    from hatch_cuda_kernels.compiler.nvjitlink import LinkInput, link  # a 117 MB library

    given, kept = LinkInput(ltoir, "ltoir", job.module), None if job.is_unit else keep
    finish_for = partial(link, given, arch=job.arch, options=job.options, name=job.module, keep=kept)
    ptx = finish_for(to_ptx=True).image
    if job.is_unit:
        return {"ltoir": ltoir}, read_ptx(ptx.decode()), log
    linked = finish_for()
    return {"ltoir": ltoir, "cubin": linked.image, "ptx": ptx}, read_ptx(ptx.decode()), f"{log}\n{linked.log}"


def _kernels(job: FinishJob) -> tuple[Symbol, ...]:
    """Return the kernels of all inputs, each once: those that were asked for as they are, others by their own names.

    Two units may share a plain name without knowing of each other.
    """
    if len(job.inputs) == 1:
        return job.inputs[0].kernels
    asked = dict(_asked(job))
    others = {symbol.lowered: symbol for given in job.inputs for symbol in given.kernels if symbol.lowered not in asked}
    return (*asked.values(), *(others[lowered]._replace(name=name) for lowered, name in found_names(others).items()))


def _asked(job: FinishJob) -> Iterator[tuple[str, Symbol]]:
    for front, given in zip(job.fronts, job.inputs, strict=True):
        names = set(map(normalize_name, front.names))
        yield from ((symbol.lowered, symbol) for symbol in given.kernels if normalize_name(symbol.name) in names)


def _assemble(job: FinishJob) -> Finished:
    ptxas = require_ptxas(load_toolchain().nvrtc).path
    ptx = job.inputs[0].image.decode()
    return assemble(ptxas, ptx, arch=job.arch, options=job.fronts[0].options, name=job.module)


def _link(job: FinishJob, *, to_ptx: bool = False) -> Finished:
    from hatch_cuda_kernels.compiler.nvjitlink import LinkInput, link  # a 117 MB library

    units = [
        LinkInput(given.image, job.input_kind, front.source_path)
        for front, given in zip(job.fronts, job.inputs, strict=True)
    ]
    check_inputs(job, units)
    libraries = [LinkInput(library.data, library.kind, library.name) for library in job.libraries]
    keep = [symbol.lowered for given in job.inputs for symbol in given.globals]
    options = job.fronts[0].options
    try:
        return link(*units, *libraries, arch=job.arch, options=options, name=job.module, keep=keep, to_ptx=to_ptx)
    except CompileError as error:
        raise explain_refusal(error, units) from error


def _check_symbols(job: FinishJob, kernels: tuple[Symbol, ...], variables: tuple[Symbol, ...], held: Cubin) -> None:
    """Raise CompileError unless everything the inputs had is still there: a status of success does not prove it."""
    lost = tuple(symbol.name for symbol in kernels if symbol.lowered not in held.kernels)
    lost += tuple(f"&{symbol.name}" for symbol in variables if symbol.lowered not in held.variables)
    if lost:
        raise CompileError(job.module, str(job.arch), f"not in the image: {', '.join(lost)}", bad_names=lost)
