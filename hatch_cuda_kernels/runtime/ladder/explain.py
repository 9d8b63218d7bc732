"""The ladder as an answer to read: every candidate with its reason, and the one chosen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hatch_cuda_kernels.runtime.ladder.climb import try_candidate
from hatch_cuda_kernels.runtime.ladder.fixes import suggest_fixes
from hatch_cuda_kernels.runtime.ladder.rungs import candidates

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from hatch_cuda_kernels.arch import SmArch
    from hatch_cuda_kernels.image import Candidate, Image
    from hatch_cuda_kernels.runtime.ladder.rungs import Request

__all__ = ["Explanation", "explain"]


@dataclass(frozen=True, slots=True)
class Explanation:
    """The ladder for one kernel: every candidate in order, and the one chosen."""

    kernel: str
    arch: SmArch
    driver: tuple[int, int] | None
    chosen: Candidate | None
    candidates: tuple[Candidate, ...]
    fixes: tuple[str, ...]
    """What would help, where nothing was chosen."""

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
        lines += [f" {'->' if candidate is self.chosen else '  '} {candidate}" for candidate in self.candidates]
        if self.chosen is None:
            lines.append(" no image")
            lines += [f"  to fix: {fix}" for fix in self.fixes]
        return "\n".join(lines)


def explain(request: Request, load: Callable[[Image], object] | None) -> Explanation:
    """Return every candidate and the first accepted one; compiles nothing.

    With ``load``, which raises ImageRefusedError, the driver is asked about what the table accepts, up to the first
    image it takes.
    """
    considered = tuple(candidates(request) if load is None else _asked(request, load))
    chosen = next((candidate for candidate in considered if candidate.accepted), None)
    fixes = suggest_fixes(request, considered) if chosen is None else ()
    arch = request.arch
    return Explanation(request.kernel.name, arch, request.driver, chosen, considered, fixes)


def _asked(request: Request, load: Callable[[Image], object]) -> Iterator[Candidate]:
    decided = False
    for candidate in candidates(request):
        asks = candidate.accepted and not decided and candidate.origin != "jitted"
        settled = try_candidate(candidate, load, []).candidate if asks else candidate
        decided = decided or settled.accepted
        yield settled
