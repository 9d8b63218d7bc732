"""Work that requests itself, which would wait for itself for ever."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.errors import ReentryError

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

#: The work in progress. A thread that another one waits for runs in a copy of that one's context.
_UNDER_WAY: Final[ContextVar[frozenset[Hashable]]] = ContextVar("hatch_cuda_kernels_under_way", default=frozenset())


@contextmanager
def refuse_reentry(work: Hashable, what: str) -> Iterator[None]:
    """Do ``work`` in the body. Raises ReentryError if the caller is part of the same work: it would wait for itself."""
    under_way = _UNDER_WAY.get()
    if work in under_way:
        message = "asked for by its own loading; a logging handler or a finaliser that runs meanwhile must not use it"
        raise ReentryError(f"{what} was {message}")
    token = _UNDER_WAY.set(under_way | {work})
    try:
        yield
    finally:
        _UNDER_WAY.reset(token)
