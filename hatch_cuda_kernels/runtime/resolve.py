"""The ladder: which image a kernel gets on a device, and why not another.

Each rung is a function that yields candidates, best first; the ladder is a tuple of rungs. A candidate is accepted or
carries the reason it was refused. The table proposes: where a device is at hand the driver decides (see ``loader``).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

from hatch_cuda_kernels.arch import ptx_isa_of_driver

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from hatch_cuda_kernels.arch import ComputeCapability, SmArch
    from hatch_cuda_kernels.image import Image, ImageRecord, Kind, ModuleIndex, Origin
    from hatch_cuda_kernels.runtime.reader import KernelLine
    from hatch_cuda_kernels.runtime.source import ModuleSource

__all__ = ["POLICIES", "Candidate", "Explanation", "Policy", "Request", "Rung", "candidates", "explain", "ladder"]

Policy = Literal["compatible", "exact", "prebuilt"]
POLICIES: Final = ("compatible", "exact", "prebuilt")


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One question to the ladder: this kernel of this module, on such a device, under such a driver."""

    kernel: KernelLine
    listed: bool
    """Whether the manifest lists the kernel; an unlisted instance has no prebuilt image."""
    module: ModuleIndex
    source: ModuleSource
    capability: ComputeCapability
    driver: tuple[int, int] | None
    """Newest CUDA the driver supports; None when there is no driver to ask, which then limits nothing."""
    policy: Policy
    jit: bool
    read: Callable[[ImageRecord], Image]
    refused: Callable[[str], str | None] = field(default=lambda _: None)
    """Why the driver refused an image (by digest) earlier in this process, or None."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """One image that was considered, or one that could be compiled."""

    origin: Origin
    arch: SmArch
    kind: Kind
    accepted: bool
    reason: str
    get: Callable[[], Image] | None = field(default=None, repr=False, compare=False)
    path: Path | None = field(default=None, repr=False, compare=False)

    def __str__(self) -> str:
        return f"{'accepted' if self.accepted else 'refused '} {self.origin} {self.arch} {self.kind}: {self.reason}"

    def __reduce__(self) -> tuple[object, ...]:
        return Candidate, (self.origin, self.arch, self.kind, self.accepted, self.reason)

    def refuse(self, reason: str) -> Candidate:
        """Return the same candidate, refused."""
        return Candidate(self.origin, self.arch, self.kind, accepted=False, reason=reason)

    def to_json(self) -> dict[str, object]:
        """Return the JSON object of ``explain --json``."""
        return {
            "origin": self.origin,
            "arch": str(self.arch),
            "kind": self.kind,
            "accepted": self.accepted,
            "reason": self.reason,
        }


Rung = "Callable[[Request], Iterator[Candidate]]"


@dataclass(frozen=True, slots=True)
class Explanation:
    """The ladder for one kernel: every candidate in order, and the one chosen."""

    kernel: str
    arch: SmArch
    driver: tuple[int, int] | None
    chosen: Candidate | None
    candidates: tuple[Candidate, ...]
    fixes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, object]:
        """Return the JSON object of ``explain --json``."""
        chosen = self.chosen
        return {
            "kernel": self.kernel,
            "arch": str(self.arch),
            "driver": None if self.driver is None else f"{self.driver[0]}.{self.driver[1]}",
            "chosen": chosen and {"origin": chosen.origin, "arch": str(chosen.arch), "kind": chosen.kind},
            "candidates": [candidate.to_json() for candidate in self.candidates],
        }

    def __str__(self) -> str:
        driver = "any driver" if self.driver is None else f"a driver for CUDA {self.driver[0]}.{self.driver[1]}"
        lines = [f"{self.kernel} on {self.arch} with {driver}:"]
        for candidate in self.candidates:
            mark = "->" if candidate is self.chosen else "  "
            lines.append(f" {mark} {candidate}")
        if self.chosen is None:
            lines.append(" no image")
            lines += [f"  to fix: {fix}" for fix in self.fixes]
        return "\n".join(lines)


def prebuilt_cubins(request: Request) -> Iterator[Candidate]:
    """Rung 1: CUBINs of the store, exact architecture first."""
    yield from _prebuilt(request, "cubin")


def exact_cubins(request: Request) -> Iterator[Candidate]:
    """Rung 1, kept to images made for this very compute capability."""
    yield from (c for c in _prebuilt(request, "cubin") if c.arch.capability == request.capability)


def other_cubins(request: Request) -> Iterator[Candidate]:
    """Rung 1, the images that ``exact_cubins`` leaves."""
    yield from (c for c in _prebuilt(request, "cubin") if c.arch.capability != request.capability)


def prebuilt_ptx(request: Request) -> Iterator[Candidate]:
    """Rung 2: PTX of the store that the driver can assemble."""
    yield from _prebuilt(request, "ptx")


def cached(request: Request) -> Iterator[Candidate]:
    """Rung 3: an image that an earlier JIT compile (or a build on this machine) recorded in the disk cache."""
    from hatch_cuda_kernels.runtime.jit import cached_candidates  # noqa: PLC0415 - off the prebuilt path

    yield from cached_candidates(request)


def jitted(request: Request) -> Iterator[Candidate]:
    """Rung 5: compile the shipped source to a CUBIN for this device, and record it."""
    from hatch_cuda_kernels.runtime.jit import jit_candidates  # noqa: PLC0415 - off the prebuilt path

    yield from jit_candidates(request)


_LADDERS: Final[dict[str, tuple[Callable[[Request], Iterator[Candidate]], ...]]] = {
    "compatible": (prebuilt_cubins, prebuilt_ptx, cached, jitted),
    "exact": (exact_cubins, cached, jitted, other_cubins, prebuilt_ptx),
    "prebuilt": (prebuilt_cubins, prebuilt_ptx, cached, jitted),
}


def ladder(policy: Policy) -> tuple[Callable[[Request], Iterator[Candidate]], ...]:
    """Return the rungs of a policy, in order; ``prebuilt`` keeps the JIT rung only to say that it is off."""
    return _LADDERS[policy]


def candidates(request: Request) -> Iterator[Candidate]:
    """Yield the candidates of every rung in order, compiling nothing."""
    for rung in ladder(request.policy):
        yield from rung(request)


def explain(request: Request, *, fixes: tuple[str, ...] = ()) -> Explanation:
    """Return every candidate and the first accepted one; reads indexes, compiles nothing."""
    considered = tuple(candidates(request))
    chosen = next((candidate for candidate in considered if candidate.accepted), None)
    arch = request.source.device_arch(request)
    return Explanation(request.kernel.name, arch, request.driver, chosen, considered, fixes)


def _prebuilt(request: Request, kind: Kind) -> Iterator[Candidate]:
    if not request.listed:
        return
    records = [record for record in request.module.images if record.kind == kind]
    for record in sorted(records, key=lambda record: record.arch.preference(request.capability)):
        reason = _refusal(request, record)
        yield Candidate(
            "prebuilt",
            record.arch,
            kind,
            accepted=reason is None,
            reason=reason or _praise(request, record),
            get=lambda record=record: request.read(record),  # type: ignore[misc]
        )


def _refusal(request: Request, record: ImageRecord) -> str | None:
    """Return why a prebuilt image cannot serve, in the order a user would want to know."""
    return (
        record.arch.refusal(request.capability)
        or request.source.stale
        or (_isa_refusal(request, record) if record.kind == "ptx" else None)
        or (f"the kernel is not in this image ({request.kernel.lowered})" if _lacks(request, record) else None)
        or request.refused(record.sha256)
    )


def _lacks(request: Request, record: ImageRecord) -> bool:
    return request.kernel.lowered in record.lacks


def _isa_refusal(request: Request, record: ImageRecord) -> str | None:
    known = None if request.driver is None else ptx_isa_of_driver(request.driver)
    if known is None or record.ptx_isa <= known:
        return None
    wrote, knows = (f"{isa[0]}.{isa[1]}" for isa in (record.ptx_isa, known))
    return f"written as PTX ISA {wrote}, the driver knows up to {knows}"


def _praise(request: Request, record: ImageRecord) -> str:
    if record.kind == "ptx":
        return f"PTX ISA {record.ptx_isa[0]}.{record.ptx_isa[1]}, assembled by the driver"
    if record.arch.capability == request.capability:
        return "made for this device"
    return f"runs on {request.capability} as code of the same {'family' if record.arch.suffix else 'major'}"
