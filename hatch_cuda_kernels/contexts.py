"""What is kept by context: made current for a while on the right device, and dropped when the context is gone."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, TypeVar

from hatch_cuda_kernels.driver import check, cuda, current_context_id, primary_context

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["add_by_context", "on_context", "on_device"]

T = TypeVar("T")

#: The handle of each context that something is kept for, by id.
_HANDLES: Final[dict[int, Any]] = {}


@contextmanager
def on_device(ordinal: int | None) -> Iterator[None]:
    """Let a context of a device be current for the body: the current one if it is of that device, else its primary.

    None stands for the current device, which is device 0 in a thread without a context. Raises DriverError.
    """
    driver = cuda()
    status, here = driver.cuCtxGetDevice()
    if ordinal is None or ordinal == (0 if int(status) else int(here)):
        current_context_id()
        yield
        return
    check("cuCtxPushCurrent", driver.cuCtxPushCurrent(primary_context(ordinal)))
    try:
        yield
    finally:
        check("cuCtxPopCurrent", driver.cuCtxPopCurrent())


@contextmanager
def on_context(context_id: int) -> Iterator[bool]:
    """Let a context that something is kept for be current for the body, and yield True; False if it is gone."""
    alive = _is_alive(context_id)
    if alive:
        check("cuCtxPushCurrent", cuda().cuCtxPushCurrent(_HANDLES[context_id]))
    try:
        yield alive
    finally:
        if alive:
            check("cuCtxPopCurrent", cuda().cuCtxPopCurrent())


def add_by_context(table: dict[int, T], context_id: int, value: T) -> None:
    """Keep a value for the current context, which has that id, and drop what the table has for contexts now gone."""
    for other in [*table]:
        if not _is_alive(other):
            table.pop(other, None)
    if context_id not in _HANDLES:
        for other in [*_HANDLES]:
            if not _is_alive(other):
                _HANDLES.pop(other, None)
        _HANDLES[context_id] = check("cuCtxGetCurrent", cuda().cuCtxGetCurrent())
    table[context_id] = value


def _is_alive(context_id: int) -> bool:
    """Return whether a context still exists: its handle may be another one's by now, which has another id."""
    handle = _HANDLES.get(context_id)
    if handle is None:
        return False
    status, found = cuda().cuCtxGetId(handle)
    return int(status) == 0 and int(found) == context_id
