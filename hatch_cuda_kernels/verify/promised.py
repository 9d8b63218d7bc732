"""Checks of what was promised: devices and driver, spills, size."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hatch_cuda_kernels.names import listed_module
from hatch_cuda_kernels.store.promises.model import version_text
from hatch_cuda_kernels.store.promises.spills import find_spills
from hatch_cuda_kernels.store.promises.supports import find_gaps
from hatch_cuda_kernels.verify.model import Finding, Outcome

if TYPE_CHECKING:
    from hatch_cuda_kernels.store.index import ModuleIndex
    from hatch_cuda_kernels.store.promises.model import Gap
    from hatch_cuda_kernels.verify.subject import Subject

__all__ = ["check_size", "check_spills", "check_supports"]


def check_supports(subject: Subject) -> Outcome:
    """Check that every kernel runs on every promised device with the promised driver, without a JIT."""
    supports = subject.supports
    if supports is None:
        return Outcome.skip("no devices are promised: write 'supports:' in the manifest, or give --supports-devices")
    findings = [
        _finding(index, gap)
        for index in subject.modules
        for gap in find_gaps(supports, subject.kernels(index.module), index.images)
    ]
    driver = "any driver" if supports.driver is None else f"CUDA {version_text(supports.driver)}"
    count = len(supports.devices) * len({line.lowered for line in subject.lines if not line.key.startswith("&")})
    return Outcome.of(count, f"pairs of kernel and device, with {driver}", findings)


def check_spills(subject: Subject) -> Outcome:
    """Check that no kernel spills more bytes than its module may."""
    asked, promised = subject.demands.max_spill_bytes, subject.promises.max_spill_bytes
    limits = (
        promised if asked is None else dict.fromkeys((listed_module(index.module) for index in subject.modules), asked)
    )
    limited = [index for index in subject.modules if listed_module(index.module) in limits]
    if not limited:
        return Outcome.skip("no limit: write 'max_spill_bytes:' in the manifest, or give --max-spill-bytes")
    findings = [
        _finding(index, gap)
        for index in limited
        for gap in find_spills(limits[listed_module(index.module)], subject.kernels(index.module), index.images)
    ]
    cubins = sum(image.kind == "cubin" for index in limited for image in index.images)
    return Outcome.of(cubins, "CUBINs", findings)


def _finding(index: ModuleIndex, gap: Gap) -> Finding:
    return Finding(gap.problem, gap.fix, index.module, gap.image)


def check_size(subject: Subject) -> Outcome:
    """Check the size of the wheel; without one, that of the store where a size is asked for."""
    asked, promised = subject.demands.max_size, subject.promises.max_wheel_size
    limit = promised if asked is None else asked
    if limit is None:
        return Outcome.skip("no budget: write 'max_wheel_size:' in the manifest, or give --max-size")
    if subject.wheel is None and asked is None:
        return Outcome.skip(f"the budget of {limit:,} bytes is for the wheel file, and this is none")
    files = [path for path in subject.files.folder.rglob("*") if path.is_file()] if not subject.wheel else []
    size = subject.wheel.stat().st_size if subject.wheel else sum(path.stat().st_size for path in files)
    what = "wheel" if subject.wheel else "store"
    if size <= limit:
        return Outcome.of(size, f"bytes of {what}, of {limit:,}", ())
    largest = max(subject.images, key=lambda image: image.record.bytes, default=None)
    most = f", or take out architectures: {largest.record.file} is the largest image" if largest else ""
    problem = f"the {what} has {size:,} bytes, {size - limit:,} more than the budget of {limit:,}"
    return Outcome.of(size, f"bytes of {what}", [Finding(problem, f"raise the budget{most}")])
