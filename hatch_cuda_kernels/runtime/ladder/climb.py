"""Climb the ladder: try candidates in order until one is taken."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from hatch_cuda_kernels.arch import SmArch
from hatch_cuda_kernels.errors import (
    CompileError,
    ImageRefusedError,
    InputError,
    NoImageError,
    StoreError,
    ToolchainError,
    reason_of,
)
from hatch_cuda_kernels.runtime.ladder.rungs import ladder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from hatch_cuda_kernels.image import Candidate, Image
    from hatch_cuda_kernels.runtime.ladder.request import Request

__all__ = ["attempt", "obtain"]

T = TypeVar("T")


class Attempt(NamedTuple, Generic[T]):
    """The outcome of one candidate: the candidate with its final reason, and the result for its image."""

    candidate: Candidate
    taken: T | None = None
    failure: Exception | None = None
    """What is raised if no candidate is taken: a CompileError, or a StoreError of damaged sources."""
    leave_rung: bool = False
    """Whether the driver would refuse the rung's other images as well."""


def obtain(request: Request, take: Callable[[Image], T]) -> T:
    """Return the result of ``take`` for the first image that it does not refuse by raising ImageRefusedError.

    Raises NoImageError with every candidate's reason; in its place CompileError, if a compile failed, or StoreError, if
    damage of the store's files forbade it.
    """
    attempts = list(climb(request, take))
    if attempts and attempts[-1].taken is not None:
        return attempts[-1].taken
    failures = [attempt.failure for attempt in attempts if attempt.failure is not None]
    raise failures[0] if failures else _no_image(request, [attempt.candidate for attempt in attempts])


def climb(request: Request, take: Callable[[Image], T]) -> Iterator[Attempt[T]]:
    """Try candidates in order. The climb ends with the one that is taken, if any is."""
    for rung in ladder(request):
        for candidate in rung(request):
            tried = attempt(candidate, take)
            yield tried
            if tried.taken is not None:
                return
            if tried.leave_rung:
                break


def attempt(candidate: Candidate, take: Callable[[Image], T]) -> Attempt[T]:
    """Read or compile an accepted candidate and pass it to ``take``; an error becomes the reason to refuse it.

    Raises what ``take`` raises, except ImageRefusedError.
    """
    if not candidate.accepted or candidate.get is None:
        return Attempt(candidate, failure=candidate.damage)
    try:
        return Attempt(candidate, take(candidate.get()))
    except (InputError, StoreError, ToolchainError) as error:
        return Attempt(candidate.refuse(reason_of(error)))
    except CompileError as error:
        return Attempt(candidate.refuse(reason_of(error)), failure=error)
    except ImageRefusedError as error:
        return Attempt(candidate.refuse(error.reason), leave_rung=error.whole_rung)


def _no_image(request: Request, considered: list[Candidate]) -> NoImageError:
    from hatch_cuda_kernels.runtime.ladder.fixes import suggest_fixes  # only for the error

    device = str(SmArch.of_device(request.capability))
    return NoImageError(request.kernel.name, device, considered, suggest_fixes(request, considered))
