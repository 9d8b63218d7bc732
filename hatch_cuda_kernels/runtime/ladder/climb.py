"""Climb the ladder: candidates in order, until one can be read or compiled, and is taken by whoever asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from hatch_cuda_kernels.errors import (
    CompileError,
    ImageRefusedError,
    InputError,
    StoreError,
    ToolchainError,
)
from hatch_cuda_kernels.runtime.ladder.rungs import ladder

if TYPE_CHECKING:
    from collections.abc import Callable

    from hatch_cuda_kernels.image import Candidate, Image
    from hatch_cuda_kernels.runtime.ladder.rungs import Request

__all__ = ["climb", "try_candidate"]

T = TypeVar("T")


class Attempt(NamedTuple, Generic[T]):
    """What came of one candidate: as it stands now, what was loaded, and whether the rest of its rung is in vain."""

    candidate: Candidate
    loaded: T | None = None
    leave_rung: bool = False


def climb(request: Request, load: Callable[[Image], T], considered: list[Candidate]) -> T | None:
    """Return the first image that ``load`` takes, or None; every candidate met is appended to ``considered``.

    ``load`` raises ImageRefusedError to send the climb on. A compile that fails sends it on too; where nothing else
    serves, its CompileError is raised.
    """
    failures: list[CompileError] = []
    for rung in ladder(request.policy, tier_up=request.tier_up):
        for candidate in rung(request):
            attempt = try_candidate(candidate, load, failures)
            considered.append(attempt.candidate)
            if attempt.loaded is not None:
                return attempt.loaded
            if attempt.leave_rung:
                break
    if failures:
        raise failures[0]
    return None


def try_candidate(candidate: Candidate, load: Callable[[Image], T], failures: list[CompileError]) -> Attempt[T]:
    """Read or compile an accepted candidate and load it; what keeps it from that becomes its reason."""
    if not candidate.accepted or candidate.get is None:
        return Attempt(candidate)
    try:
        return Attempt(candidate, load(candidate.get()))
    except ToolchainError as error:
        return Attempt(candidate.refuse(error.message))
    except (InputError, StoreError) as error:
        return Attempt(candidate.refuse(str(error)))
    except CompileError as error:
        failures.append(error)
        return Attempt(candidate.refuse(error.message))
    except ImageRefusedError as refusal:
        return Attempt(candidate.refuse(str(refusal)), leave_rung=refusal.whole_rung)
