"""Checks of what was promised: devices and driver, spills, size."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hatch_cuda_kernels.names import listed_module
from hatch_cuda_kernels.problem import Problem
from hatch_cuda_kernels.store.promises.spills import find_spills
from hatch_cuda_kernels.store.promises.supports import find_gaps
from hatch_cuda_kernels.verify.model import Outcome
from hatch_cuda_kernels.versions import version_text

if TYPE_CHECKING:
    from hatch_cuda_kernels.store.index import ModuleIndex
    from hatch_cuda_kernels.verify.subject import Subject

__all__ = ["check_size", "check_spills", "check_supports"]


def check_supports(subject: Subject) -> Outcome:
    """Check that every kernel runs on every promised device with the promised driver, without JIT."""
    supports = subject.supports
    if supports is None:
        return Outcome.skip("no devices are promised: write 'supports:' in the manifest, or give --supports-devices")
    problems = [
        _located(gap, index)
        for index in subject.modules
        for gap in find_gaps(supports, subject.kernels(index.module), index.images)
    ]
    driver = "any driver" if supports.driver is None else f"CUDA {version_text(supports.driver)}"
    count = len(supports.devices) * len({line.lowered for line in subject.lines if not line.key.startswith("&")})
    return Outcome.of(count, f"pairs of kernel and device, with {driver}", problems)


def check_spills(subject: Subject) -> Outcome:
    """Check that no kernel spills more bytes than its module may."""
    asked, promised = subject.demands.max_spill_bytes, subject.promises.max_spill_bytes
    limits = (
        promised if asked is None else dict.fromkeys((listed_module(index.module) for index in subject.modules), asked)
    )
    limited = [index for index in subject.modules if listed_module(index.module) in limits]
    if not limited:
        return Outcome.skip("no limit: write 'max_spill_bytes:' in the manifest, or give --max-spill-bytes")
    problems = [
        _located(spill, index)
        for index in limited
        for spill in find_spills(limits[listed_module(index.module)], subject.kernels(index.module), index.images)
    ]
    cubins = sum(image.kind == "cubin" for index in limited for image in index.images)
    return Outcome.of(cubins, "CUBINs", problems)


def _located(problem: Problem, index: ModuleIndex) -> Problem:
    return problem._replace(where="/".join(filter(None, (index.module, problem.where))))


def check_size(subject: Subject) -> Outcome:
    """Check the size of the wheel; without a wheel, that of the store, if a size is demanded."""
    asked, promised = subject.demands.max_size, subject.promises.max_wheel_size
    limit = promised if asked is None else asked
    if limit is None:
        return Outcome.skip("no budget: write 'max_wheel_size:' in the manifest, or give --max-size")
    if subject.wheel is None and asked is None:
        return Outcome.skip(f"the budget of {limit:,} bytes is for the wheel file, and this is not a wheel")
    files = [path for path in subject.reader.folder.rglob("*") if path.is_file()] if not subject.wheel else []
    size = subject.wheel.stat().st_size if subject.wheel else sum(path.stat().st_size for path in files)
    what = "wheel" if subject.wheel else "store"
    if size <= limit:
        return Outcome.of(size, f"bytes of {what}, of {limit:,}", ())
    largest = max(subject.images, key=lambda image: image.record.bytes, default=None)
    fewer = f", or drop architectures: {largest.record.file} is the largest image" if largest else ""
    message = f"the {what} has {size:,} bytes, {size - limit:,} more than the budget of {limit:,}"
    return Outcome.of(size, f"bytes of {what}", [Problem(message, f"raise the budget{fewer}")])
