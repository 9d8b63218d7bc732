"""The headers in the toolkit's folders that no part's version stands for: each is hashed, with what it includes there.

Other wheels (cuRAND, ...) unpack into the same folders, and people put files there. The parts' own headers ask for each
other and for headers of a host compiler's library; those are looked for as well.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.compiler.toolchain.parts import belongs
from hatch_cuda_kernels.compiler.toolchain.standard_headers import HOST_HEADERS
from hatch_cuda_kernels.digest import sha256

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["HeaderMemo", "other_headers"]


class HeaderMemo:
    """What headers hold, remembered by path, size and modification time: here, and in a file where one is given."""

    def __init__(self, file: Path | None = None) -> None:
        self._file = file
        self._known: dict[str, tuple[list[int], str, list[str]]] | None = None if file else {}
        self._changed = False

    def read(self, path: str) -> tuple[str, list[str]]:
        """Return a header's digest and the includes in it as spelled; nothing of one that cannot be read."""
        if self._known is None:
            self._known = self._load()
        found = os.stat(path)  # noqa: PTH116 - Path takes several times as long, on the way to a cached kernel
        stamp = [found.st_size, found.st_mtime_ns]
        known = self._known.get(path)
        if known is None or known[0] != stamp:
            try:
                data = Path(path).read_bytes()
            except OSError:  # NVRTC cannot read it either
                return "", []
            from hatch_cuda_kernels.compiler.source.directives import find_directives  # only for a new file

            includes = {directive.spelling for directive in find_directives(data.decode(errors="replace"))} - {""}
            known = self._known[path] = stamp, sha256(data).hexdigest(), sorted(includes)
            self._changed = True
        return known[1], known[2]

    def save(self) -> None:
        """Write the file where something was read anew; what cannot be written is read again by the next process."""
        if self._file is None or not self._changed:
            return
        staged = self._file.with_suffix(f".{os.getpid()}")
        with contextlib.suppress(OSError):
            self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            staged.write_text(json.dumps(dict(self._known or {})), encoding="utf-8")
            staged.replace(self._file)
        self._changed = False

    def _load(self) -> dict[str, tuple[list[int], str, list[str]]]:
        try:
            data = json.loads(self._file.read_bytes()) if self._file else {}
            return {path: (stamp, str(digest), list(includes)) for path, (stamp, digest, includes) in data.items()}
        except (OSError, ValueError, TypeError, AttributeError):
            return {}


_IN_PROCESS: Final = HeaderMemo()


def other_headers(
    names: Iterable[str], folders: tuple[str, ...], memo: HeaderMemo | None = None, asked: set[str] | None = None
) -> str:
    """Return a digest of every file that the names lead to and that is none of a part's; empty where there is none.

    ``asked`` receives every path that was looked for, there or not.
    """
    memo = memo or _IN_PROCESS
    found: dict[str, str] = {}
    waiting = [(name, "") for name in (*names, *_host_headers(folders))]
    asked = set() if asked is None else asked
    while waiting:
        name, beside = waiting.pop()
        for path in _new_strangers(name, (beside, *folders) if beside else folders, folders, asked):
            found[path], includes = memo.read(path)
            folder = os.path.dirname(path)  # noqa: PTH120
            waiting += [(spelling[1:-1], folder if spelling[0] == '"' else "") for spelling in includes]
    if not found:
        return ""
    memo.save()
    listed = sorted([_place(path, folders)[1], digest] for path, digest in found.items())
    return sha256(json.dumps(listed).encode()).hexdigest()[:16]


def _new_strangers(name: str, searched: Iterable[str], folders: tuple[str, ...], asked: set[str]) -> Iterator[str]:
    """Yield the files a name leads to in any of the searched folders, each once, without the parts' own."""
    for folder in searched:
        path = os.path.normpath(name if name.startswith("/") else f"{folder}/{name}")
        if path in asked:
            continue
        asked.add(path)
        try:
            found = os.stat(path)  # noqa: PTH116
        except (OSError, ValueError):
            continue
        owner, below = _place(path, folders)
        if stat.S_ISREG(found.st_mode) and not (owner and belongs(owner, below, found.st_size)):
            yield path


def _place(path: str, folders: tuple[str, ...]) -> tuple[str, str]:
    """Return the innermost of the folders a file is in, and its path from there; else nothing and its bare name."""
    inside = [folder for folder in folders if path.startswith(f"{folder}/")]
    if not inside:
        return "", path.rpartition("/")[2]
    owner = max(inside, key=len)
    return owner, path[len(owner) + 1 :]


@cache
def _host_headers(folders: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of host library headers that the folders hold; a toolkit below ``/usr/include`` has many."""
    found: set[str] = set()
    for folder in folders:
        with contextlib.suppress(OSError):
            found |= HOST_HEADERS.intersection(os.listdir(folder))  # noqa: PTH208
    return tuple(sorted(found))
