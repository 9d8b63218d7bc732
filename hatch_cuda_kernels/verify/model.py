"""What a verification is asked to prove, and what it answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from hatch_cuda_kernels.arch import ComputeCapability
    from hatch_cuda_kernels.problem import Problem

__all__ = ["Demands", "Outcome", "Result", "Verification"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Demands:
    """What to prove beyond the promises that the store records, or in their place."""

    devices: tuple[ComputeCapability, ...] = ()
    driver: tuple[int, int] | None = None
    max_spill_bytes: int | None = None
    """For every module."""
    max_size: int | None = None
    """Bytes of the wheel file; of the store's files without a wheel."""
    rebuild: bool = False
    keep: Path | None = None
    """A folder in which a rebuild leaves both stores, to compare them."""
    skip: frozenset[str] = frozenset()
    """Names of checks."""


class Outcome(NamedTuple):
    """What a check looked at, and the problems it found: each names its module, or its module and image."""

    checked: int
    """How many."""
    what: str
    """Of what, as a plural."""
    problems: tuple[Problem, ...]
    skipped: str = ""
    """Why there was nothing to check."""

    @classmethod
    def of(cls, checked: int, what: str, problems: Iterable[Problem]) -> Outcome:
        """Return the outcome of a check that ran."""
        return cls(checked, what, tuple(problems))

    @classmethod
    def skip(cls, reason: str) -> Outcome:
        """Return the outcome of a check that has nothing to do."""
        return cls(0, "", (), reason)


class Result(NamedTuple):
    """A check by name with its outcome."""

    check: str
    outcome: Outcome

    @property
    def state(self) -> str:
        """``ok``, ``failed`` or ``skipped``."""
        if self.outcome.problems:
            return "failed"
        return "skipped" if self.outcome.skipped else "ok"

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object of ``verify --json``."""
        checked, what, problems, skipped = self.outcome
        return {
            "check": self.check,
            "state": self.state,
            "checked": checked,
            "what": what,
            "skipped": skipped,
            "findings": [_finding(problem) for problem in problems],
        }


def _finding(problem: Problem) -> dict[str, str]:
    module, _, image = problem.where.partition("/")
    return {"module": module, "image": image, "problem": problem.message, "fix": problem.fix}


class Verification(NamedTuple):
    """Every check's result, in the order they ran."""

    results: tuple[Result, ...]

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Everything that is wrong."""
        return tuple(problem for result in self.results for problem in result.outcome.problems)

    @property
    def ok(self) -> bool:
        """Whether no check found a problem."""
        return not self.problems
