"""What files of the toolkit hold. A file is read once, and again when its state has changed, by whichever process."""

from __future__ import annotations

import json
from base64 import urlsafe_b64encode
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from hatch_cuda_kernels.cache import Notes, default_cache_path
from hatch_cuda_kernels.digest import sha256

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

__all__ = ["Contents", "contents_at", "digest_of_all", "record_digest"]

_NOTES: Final = Notes("includes")


class Contents:
    """Facts that a reader finds in files, remembered with the state of each, here and in a note about their place."""

    def __init__(self, place: str, read: Callable[[str], list[str]]) -> None:
        self._place = place
        self._read = read
        self._known: dict[str, Any] | None = None
        self._changed = False

    def of(self, path: str, state: str) -> list[str]:
        """Return the facts about a file that is in this state."""
        if self._known is None:
            self._known = _NOTES.read(self._place)
        known = self._known.get(path)
        if not isinstance(known, list) or known[:1] != [state]:
            known = self._known[path] = [state, *self._read(path)]
            self._changed = True
        return known[1:]

    def save(self) -> None:
        """Write the note if a file was read; without it, the next process reads that file again."""
        if self._changed and self._known is not None:
            self._changed = False
            _NOTES.write(self._place, dict(self._known))


def contents_at(place: str, read: Callable[[str], list[str]]) -> Contents:
    """Return what is known of the files at a place. ``read`` returns the facts in a file, and must not raise."""
    return _contents_at(place, read, default_cache_path())


@cache
def _contents_at(place: str, read: Callable[[str], list[str]], _cache: Path | None) -> Contents:
    return Contents(place, read)


def record_digest(digest: bytes) -> str:
    """Return a sha256 as a wheel's RECORD spells it."""
    return urlsafe_b64encode(digest).rstrip(b"=").decode()


def digest_of_all(files: Iterable[tuple[str, str]]) -> str:
    """Return 16 hex digits for files given by name and digest, in any order; empty for no file."""
    listed = sorted(map(list, files))
    return sha256(json.dumps(listed).encode()).hexdigest()[:16] if listed else ""
