"""Notes about this machine, kept as JSON in the user's cache folder. A note that is missing is made again.

A note holds the states of the files that it depends on, so that a reader can tell whether it is still true.
"""

from __future__ import annotations

import contextlib
import json
import os
from typing import TYPE_CHECKING, Any, Final

from hatch_cuda_kernels.cache.disk import default_cache_path
from hatch_cuda_kernels.cache.entry import NOTES, EntryFolder
from hatch_cuda_kernels.cache.files import Folder
from hatch_cuda_kernels.digest import sha256

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

#: How many notes of one name are kept. A machine needs few, but each build in a throw-away environment leaves some.
_MOST: Final = 64
#: A longer note is damage, which must not fill the memory.
_MOST_BYTES: Final = 16 << 20


class Notes:
    """All notes of one name. Each is a JSON object about a subject. No method raises, whatever the disk does."""

    def __init__(self, name: str) -> None:
        self._name = name

    def read(self, subject: str) -> dict[str, Any]:
        """Return the note about a subject; an empty one if it is missing or damaged, or the folder is not trusted."""
        with contextlib.suppress(OSError), _opened() as notes:
            return _read(notes, self._file(subject))
        return {}

    def read_all(self) -> list[dict[str, Any]]:
        """Return every note of this name, in no particular order."""
        with contextlib.suppress(OSError), _opened() as notes:
            return [_read(notes, file) for file in self._files(notes)]
        return []

    def write(self, subject: str, note: Mapping[str, Any]) -> None:
        """Write the note about a subject, replacing an older one.

        Do nothing if the folder is not trusted, or the note is longer than one that is read.
        """
        from hatch_cuda_kernels.cache.files import remove, replace  # a process that finds its notes needs none of it

        data = json.dumps(note).encode()
        if len(data) > _MOST_BYTES:
            return
        with contextlib.suppress(OSError), _opened(make=True) as notes:
            replace(notes, self._file(subject), data, notes)
            for file in sorted(self._files(notes), key=lambda file: notes.status(file).st_mtime_ns)[:-_MOST]:
                remove(notes, file)

    def _file(self, subject: str) -> str:
        return f"{self._name}-{sha256(subject.encode(errors='surrogateescape')).hexdigest()[:32]}.json"

    def _files(self, notes: Folder) -> list[str]:
        return [name for name in notes.names() if name.startswith(f"{self._name}-")]


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


@contextlib.contextmanager
def _opened(*, make: bool = False) -> Iterator[Folder]:
    """Open the folder of notes. Raises OSError, also for one that another user may write to, or if there is none."""
    path = default_cache_path()
    if path is None:
        raise FileNotFoundError
    with EntryFolder(path).open_top(make=make) as top, (_made if make else Folder.folder)(top, NOTES) as notes:
        yield notes


def _made(top: Folder, name: str) -> Folder:
    from hatch_cuda_kernels.cache.files import made  # as above

    return made(top, name)


def _read(notes: Folder, file: str) -> dict[str, Any]:
    try:
        data = json.loads(notes.read(file, _MOST_BYTES))
    except (OSError, ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}
