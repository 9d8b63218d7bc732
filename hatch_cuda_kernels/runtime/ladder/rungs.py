"""The ladder: which image a kernel gets on a device, and why not another.

Each rung is a function that yields candidates, best first; a ladder is a tuple of rungs. A candidate is accepted or
carries the reason it was refused. The table proposes; where there is a device, its driver decides.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.arch import isa_refusal
from hatch_cuda_kernels.image import Candidate
from hatch_cuda_kernels.versions import version_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from hatch_cuda_kernels.image import Kind
    from hatch_cuda_kernels.runtime.ladder.request import Request
    from hatch_cuda_kernels.store.index import ImageRecord

    Rung = Callable[[Request], Iterator[Candidate]]

__all__ = ["ladder"]


def ladder(request: Request) -> tuple[Rung, ...]:
    """Return the rungs of the request's policy, in order.

    The rungs that compile are there under ``prebuilt``, too: they say why nothing is compiled.
    """
    if request.policy == "exact":
        return _EXACT
    return _TIER_UP if request.tier_up else _COMPATIBLE


def prebuilt_cubins(request: Request) -> Iterator[Candidate]:
    """Rung 1: CUBINs of the store, exact architecture first."""
    yield from _prebuilt(request, "cubin")


def exact_cubins(request: Request) -> Iterator[Candidate]:
    """Rung 1, only images made for exactly this compute capability."""
    yield from (c for c in _prebuilt(request, "cubin") if c.arch.capability == request.capability)


def other_cubins(request: Request) -> Iterator[Candidate]:
    """Rung 1, only images that ``exact_cubins`` leaves out."""
    yield from (c for c in _prebuilt(request, "cubin") if c.arch.capability != request.capability)


def prebuilt_ptx(request: Request) -> Iterator[Candidate]:
    """Rung 2: PTX of the store that the driver can assemble."""
    yield from _prebuilt(request, "ptx")


def cached(request: Request) -> Iterator[Candidate]:
    """Rung 3: an image that an earlier process (or a build on this machine) recorded in the disk cache."""
    from hatch_cuda_kernels.runtime.ladder.recorded import cached_candidates  # off the prebuilt path

    yield from cached_candidates(request)


def jitted(request: Request) -> Iterator[Candidate]:
    """Rung 4: the shipped source compiled by NVRTC to a CUBIN for this device, and recorded."""
    from hatch_cuda_kernels.runtime.ladder.jit import jit_candidates  # off the prebuilt path

    yield from jit_candidates(request)


def finished(request: Request) -> Iterator[Candidate]:
    """Rung 5: prebuilt PTX the driver does not know, or LTO-IR, finished to a CUBIN and recorded.

    It comes last, for its code is at best as good as that of a compile, and slower where nvJitLink makes it from PTX.
    """
    from hatch_cuda_kernels.runtime.ladder.finished import finished_candidates  # off the prebuilt path

    yield from finished_candidates(request)


_COMPATIBLE: Final[tuple[Rung, ...]] = (prebuilt_cubins, prebuilt_ptx, cached, jitted, finished)
_TIER_UP: Final[tuple[Rung, ...]] = (exact_cubins, cached, other_cubins, prebuilt_ptx, jitted, finished)
_EXACT: Final[tuple[Rung, ...]] = (exact_cubins, cached, jitted, other_cubins, prebuilt_ptx, finished)


def _prebuilt(request: Request, kind: Kind) -> Iterator[Candidate]:
    if not request.listed:
        return
    records = [record for record in request.module.images if record.kind == kind]
    for record in sorted(records, key=lambda record: record.arch.preference(request.capability)):
        refusal = _refusal(request, record)
        reason = refusal or _acceptance(request, record)
        yield Candidate("prebuilt", record.arch, kind, refusal is None, reason, partial(request.read, record))


def _refusal(request: Request, record: ImageRecord) -> str | None:
    """Return why a prebuilt image cannot be used; of several reasons, the one that helps most."""
    return (
        record.arch.refusal(request.capability)
        or request.source.stale
        or (isa_refusal(record.ptx_isa, request.driver, "the driver") if record.kind == "ptx" else None)
        or _lack(request, record)
        or request.refused(record.sha256)
    )


def _lack(request: Request, record: ImageRecord) -> str | None:
    lowered = request.kernel.lowered
    return f"the kernel is not in this image ({lowered})" if lowered in record.lacks else None


def _acceptance(request: Request, record: ImageRecord) -> str:
    if record.kind == "ptx":
        return f"PTX ISA {version_text(record.ptx_isa)}, assembled by the driver"
    # CUBINs of CUDA 13 are promised to load from R580 on, those of CUDA 12 from R525 on (minor version compatibility).
    wrote = record.ptx_isa[0] + 4
    old = request.driver is not None and request.driver[0] < wrote
    caveat = f", though CUDA {wrote} wrote it, which this driver is not promised to load" if old else ""
    if record.arch.capability == request.capability:
        return f"made for this device{caveat}"
    return f"runs on {request.capability} as code of the same {'family' if record.arch.suffix else 'major'}{caveat}"
