"""Notes about this machine, kept as JSON in the user's cache folder. A note that is missing is made again.

A note holds the states of the files that it depends on, so that a reader can tell whether it is still true.
"""

from __future__ import annotations

import contextlib
import json
import os
from typing import TYPE_CHECKING, Any, Final

from hatch_cuda_kernels.cache.files import list_folder, make_folder, read_file, replace_file
from hatch_cuda_kernels.cache.folder import EntryFolder
from hatch_cuda_kernels.cache.location import default_cache_path
from hatch_cuda_kernels.cache.trust import distrust
from hatch_cuda_kernels.digest import sha256

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

__all__ = ["Notes", "file_state", "is_older", "unchanged"]

#: How many notes of one name are kept. A machine needs few, but each build in a throw-away environment leaves some.
_MOST: Final = 64


class Notes:
    """All notes of one name. Each is a JSON object about a subject. No method raises, whatever the disk does."""

    def __init__(self, name: str) -> None:
        self._name = name

    def read(self, subject: str) -> dict[str, Any]:
        """Return the note about a subject; an empty one if it is missing or damaged, or the folder is not trusted."""
        folder = _folder()
        return {} if folder is None else _read(folder.notes / self._file(subject))

    def read_all(self) -> Iterator[dict[str, Any]]:
        """Yield every note of this name, in no particular order."""
        folder = _folder()
        if folder is not None:
            yield from map(_read, self._files(folder.notes))

    def write(self, subject: str, note: Mapping[str, Any]) -> None:
        """Write the note about a subject, replacing an older one; do nothing if the folder is not trusted."""
        folder = _folder()
        if folder is None:
            return
        with contextlib.suppress(OSError):
            make_folder(folder.notes)
            if _folder() is None:  # another user has made it just now
                return
            replace_file(folder.notes / self._file(subject), json.dumps(note).encode(), folder.staging)
            self._drop_oldest(folder.notes)

    def _file(self, subject: str) -> str:
        return f"{self._name}-{sha256(subject.encode(errors='surrogateescape')).hexdigest()[:32]}.json"

    def _files(self, notes: Path) -> list[Path]:
        return [notes / found.name for found in list_folder(notes) if found.name.startswith(f"{self._name}-")]

    def _drop_oldest(self, notes: Path) -> None:
        for file in sorted(self._files(notes), key=lambda file: file.lstat().st_mtime_ns)[:-_MOST]:
            file.unlink()


def file_state(path: str | Path) -> str:
    """Return text that differs once a file or folder may have changed; empty if there is none.

    A modification time can be set back after an edit. The time of the last change of any kind (ctime) cannot.
    """
    try:
        found = os.stat(path)  # noqa: PTH116 - Path takes several times as long, on the way to a cached kernel
    except (OSError, ValueError):
        return ""
    return f"{found.st_size} {found.st_mtime_ns} {found.st_ctime_ns} {found.st_ino}"


def is_older(path: Path, than: Path) -> bool:
    """Return whether a file was last written, and last changed in any way, no later than another one."""
    try:
        found, other = path.stat(), than.stat()
    except OSError:
        return False
    return found.st_mtime_ns <= other.st_mtime_ns and found.st_ctime_ns <= other.st_ctime_ns


def unchanged(states: Mapping[str, str]) -> bool:
    """Return whether every path still has the given state."""
    return all(file_state(path) == state for path, state in states.items())


def _folder() -> EntryFolder | None:
    """Return the user's cache folder; None if there is none, or if another user may write to it."""
    path = default_cache_path()
    if path is None:
        return None
    folder = EntryFolder(path)
    trusted = all(distrust(place) is None for place in (folder.path, folder.root, folder.notes))
    return folder if trusted else None


def _read(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(read_file(path))
    except (OSError, ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}
