"""Which toolchain a compile would use here, remembered with the state of every file that decides it.

A process that finds the files unchanged takes the answer from here, and need not look for NVRTC and its headers. That
search, and loading the code for it, would cost more than reading the image.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from typing import TYPE_CHECKING, Any, Final

from hatch_cuda_kernels.cache.location import default_cache_path
from hatch_cuda_kernels.cache.trust import distrust

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

__all__ = ["recall", "remember", "stamp"]

_FILE: Final = "recall.json"
#: One answer for each set of headers and each search path; there are few on a machine.
_MOST: Final = 64


def stamp(path: str | Path) -> str:
    """Return text that changes when a file or folder does: its path, size and modification time, or that it is not."""
    try:
        found = os.stat(path)  # noqa: PTH116 - Path takes several times as long, on the way to a cached kernel
    except (OSError, ValueError):
        return f"{path} is not there"
    return f"{path} {found.st_size} {found.st_mtime_ns}"


def recall(outside: tuple[str, ...] | None, *, lto: bool) -> dict[str, str] | None:
    """Return what of the toolchain enters the key of a compile that takes these headers from outside the project.

    None where it is not remembered for this search path, or where a file that decides it has changed.
    """
    known = _read().get(_question(outside, lto=lto))
    try:
        valid = known is not None and all(stamp(line["path"]) == line["stamp"] for line in known["files"])
        return {str(name): str(value) for name, value in known["part"].items()} if known and valid else None
    except (TypeError, KeyError, AttributeError):
        return None


def remember(outside: tuple[str, ...] | None, *, lto: bool, part: dict[str, str], files: Iterable[str]) -> None:
    """Keep the answer, valid as long as ``files`` (and folders) are as they are, or are not there."""
    root = default_cache_path()
    if root is None or distrust(root) is not None:
        return
    searched = [os.path.join(entry, "nvidia") for entry in sys.path if entry]  # noqa: PTH118
    lines = [{"path": path, "stamp": stamp(path)} for path in sorted({*files, *searched})]
    known = _read()
    known.pop(_question(outside, lto=lto), None)
    kept = dict(list(known.items())[1 - _MOST :])
    kept[_question(outside, lto=lto)] = {"part": part, "files": lines}
    staged = root / f"{_FILE}.{os.getpid()}"
    with contextlib.suppress(OSError):  # the next process searches again
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        staged.write_text(json.dumps(kept), encoding="utf-8")
        staged.replace(root / _FILE)


def _question(outside: tuple[str, ...] | None, *, lto: bool) -> str:
    return json.dumps([outside, lto, sys.path])


def _read() -> dict[str, Any]:
    root = default_cache_path()
    if root is None or distrust(root) is not None:
        return {}
    try:
        data = json.loads((root / _FILE).read_bytes())
    except (OSError, ValueError):
        return {}
    return data if isinstance(data, dict) else {}
