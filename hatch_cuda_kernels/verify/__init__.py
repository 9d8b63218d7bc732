"""``verify``: a release gate without a GPU. Checks what a store holds against its indexes and its promises."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.errors import InputError
from hatch_cuda_kernels.verify.assembly import check_assembly
from hatch_cuda_kernels.verify.files import check_digests, check_files, check_index, check_record
from hatch_cuda_kernels.verify.images import check_architectures, check_kernels
from hatch_cuda_kernels.verify.model import Demands, Finding, Outcome, Report, Result
from hatch_cuda_kernels.verify.promised import check_size, check_spills, check_supports
from hatch_cuda_kernels.verify.rebuild import check_rebuild
from hatch_cuda_kernels.verify.sources import check_sources
from hatch_cuda_kernels.verify.subject import read_subject

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from hatch_cuda_kernels.verify.model import StoreFiles
    from hatch_cuda_kernels.verify.subject import Subject

__all__ = ["CHECKS", "Demands", "Finding", "Report", "verify_store"]

#: Every check by name, in the order they run. A check never raises for a damaged store: what it finds, it returns.
CHECKS: Final[dict[str, Callable[[Subject], Outcome]]] = {
    "index": check_index,
    "files": check_files,
    "digests": check_digests,
    "record": check_record,
    "sources": check_sources,
    "architectures": check_architectures,
    "kernels": check_kernels,
    "supports": check_supports,
    "spills": check_spills,
    "size": check_size,
    "assembly": check_assembly,
    "rebuild": check_rebuild,
}


def verify_store(files: StoreFiles, demands: Demands | None = None, *, wheel: Path | None = None) -> Report:
    """Run every check on a store and return what they found. Needs no GPU, and NVRTC only to build again.

    ``wheel`` is the file the store was unpacked from. Raises InputError for a demand that cannot be met: a check to
    skip that there is not, or a driver without devices.
    """
    demands = demands or Demands()
    unknown = sorted(demands.skip - CHECKS.keys())
    if unknown:
        raise InputError(f"there is no check {unknown[0]!r} to skip; there are {', '.join(CHECKS)}")
    subject = read_subject(files, demands, wheel)
    if demands.driver is not None and subject.supports is None:
        raise InputError("a driver without devices promises nothing, and the store records none: name devices too")
    return Report(tuple(Result(name, _run(name, subject)) for name in CHECKS))


def _run(name: str, subject: Subject) -> Outcome:
    return Outcome.skip("as asked") if name in subject.demands.skip else CHECKS[name](subject)
