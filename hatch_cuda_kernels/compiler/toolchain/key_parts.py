"""The toolchain's part of a key, remembered with the state of every file that decides it. A cache hit asks only this.

While these files are unchanged, a process need not look for NVRTC and its headers. That search, and loading the code
for it, would take longer than reading the image.
"""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.cache.notes import Notes, file_state, unchanged

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["keep_key_part", "recall_key_part"]

_NOTES: Final = Notes("key-part")


def recall_key_part(outside: tuple[str, ...] | None, *, lto: bool) -> dict[str, str] | None:
    """Return the toolchain's part of the key of a compile that takes these headers from outside the project.

    None if it is not remembered for this search path, or if anything that decides it has changed.
    """
    note = _NOTES.read(_question(outside, lto=lto))
    try:
        valid = bool(note) and unchanged(note["states"])
        return {str(name): str(value) for name, value in note["part"].items()} if valid else None
    except (TypeError, KeyError, AttributeError):
        return None


def keep_key_part(
    outside: tuple[str, ...] | None, *, lto: bool, part: Mapping[str, str], states: Mapping[str, str]
) -> None:
    """Remember the answer for as long as these paths have these states, and no wheel appears ahead of them."""
    searched = [os.path.join(entry, "nvidia") for entry in sys.path if entry]  # noqa: PTH118
    every = {path: file_state(path) for path in searched} | dict(states)
    _NOTES.write(_question(outside, lto=lto), {"part": dict(part), "states": every})


def _question(outside: tuple[str, ...] | None, *, lto: bool) -> str:
    return json.dumps([outside, lto, sys.path])
