"""What files of the toolkit hold, looked up once for as long as a file stays as it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from hatch_cuda_kernels.cache.notes import Notes

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Contents"]

_NOTES: Final = Notes("contents")


class Contents:
    """What a function says of files, remembered by the state of each file: here, and in a note about their place."""

    def __init__(self, place: str, look: Callable[[str], list[str]]) -> None:
        self._place = place
        self._look = look
        self._known: dict[str, Any] | None = None
        self._changed = False

    def of(self, path: str, state: str) -> list[str]:
        """Return what the function says of a file that is in this state."""
        if self._known is None:
            self._known = _NOTES.read(self._place)
        known = self._known.get(path)
        if not isinstance(known, list) or known[:1] != [state]:
            known = self._known[path] = [state, *self._look(path)]
            self._changed = True
        return known[1:]

    def save(self) -> None:
        """Write the note where something was looked up anew; without it, the next process looks again."""
        if self._changed and self._known is not None:
            _NOTES.write(self._place, self._known)
            self._changed = False
