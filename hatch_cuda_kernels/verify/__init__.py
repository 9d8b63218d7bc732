"""``verify``: a release gate that needs no GPU. It checks a store against its own indexes and promises."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.errors import InputError
from hatch_cuda_kernels.verify.files import check_digests, check_files, check_index, check_sources
from hatch_cuda_kernels.verify.images import check_architectures, check_kernels
from hatch_cuda_kernels.verify.promises import check_assembly, check_size, check_spills, check_supports
from hatch_cuda_kernels.verify.rebuild import check_rebuild
from hatch_cuda_kernels.verify.subject import Demands, Outcome, Subject, Verification, read_subject
from hatch_cuda_kernels.verify.wheel import check_record, check_sbom, check_wheel

if TYPE_CHECKING:
    from pathlib import Path

    from hatch_cuda_kernels.store import StoreReader

__all__ = ["CHECKS", "Demands", "Outcome", "Verification", "verify_store"]

#: Every check by name, in the order they run. A check never raises for a damaged store: it returns the problems.
CHECKS: Final[dict[str, Callable[[Subject], Outcome]]] = {
    "index": check_index,
    "files": check_files,
    "digests": check_digests,
    "wheel": check_wheel,
    "record": check_record,
    "sbom": check_sbom,
    "sources": check_sources,
    "architectures": check_architectures,
    "kernels": check_kernels,
    "supports": check_supports,
    "spills": check_spills,
    "size": check_size,
    "assembly": check_assembly,
    "rebuild": check_rebuild,
}


def verify_store(reader: StoreReader, demands: Demands | None = None, *, wheel: Path | None = None) -> Verification:
    """Run every check on a store and return the results. Only ``rebuild`` needs NVRTC, and nothing needs a GPU.

    ``wheel`` is the file the store was unpacked from. Raises InputError for demands that cannot be met: an unknown
    check to skip, a driver without devices, ``keep`` without a rebuild or with a folder that exists.
    """
    demands = demands or Demands()
    unknown = sorted(demands.skip - CHECKS.keys())
    if unknown:
        raise InputError(f"cannot skip {unknown[0]!r}: the checks are {', '.join(CHECKS)}")
    if demands.keep is not None and (not demands.rebuild or demands.keep.exists()):
        wrong = "exists already; name a new folder" if demands.rebuild else "needs --rebuild; add it"
        raise InputError(f"--keep {demands.keep}: {wrong}")
    subject = read_subject(reader, demands, wheel)
    if demands.driver is not None and subject.supports is None:
        raise InputError("--driver needs devices, and the store records none; add --supports-devices")
    skipped = Outcome.skip("on request")
    return Verification({name: skipped if name in demands.skip else check(subject) for name, check in CHECKS.items()})
