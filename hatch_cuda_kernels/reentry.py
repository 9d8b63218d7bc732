"""Work that asks for itself: found before it waits for itself for ever."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.errors import ReentryError

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

__all__ = ["refuse_reentry"]

#: What is under way here. Threads that work for the one that waits for them run in a copy of its context.
_UNDER_WAY: Final[ContextVar[frozenset[Hashable]]] = ContextVar("hatch_cuda_kernels_under_way", default=frozenset())


@contextmanager
def refuse_reentry(work: Hashable, what: str) -> Iterator[None]:
    """Do ``work`` in the body. Raises ReentryError if it is being done by whoever asks: it would wait for itself."""
    under_way = _UNDER_WAY.get()
    if work in under_way:
        message = "asked for by its own loading; a logging handler or a finaliser that runs meanwhile must not use it"
        raise ReentryError(f"{what} was {message}")
    token = _UNDER_WAY.set(under_way | {work})
    try:
        yield
    finally:
        _UNDER_WAY.reset(token)
