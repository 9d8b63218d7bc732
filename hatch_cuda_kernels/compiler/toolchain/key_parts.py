"""The toolchain's part of a key, remembered with the state of every file that decides it. A cache hit asks only this.

While these files are unchanged, a process need not look for NVRTC and its headers. That search, and loading the code
for it, would take longer than reading the image. CUB alone has a thousand files, so a process that loads one kernel
after another does not look at them for each.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.cache import Notes, default_cache_path, file_state

if TYPE_CHECKING:
    from pathlib import Path

_NOTES: Final = Notes("key-part")
#: What decides which libraries and which headers a process finds, besides the wheels on its path.
_ENVIRONMENT: Final = ("CONDA_PREFIX", "CUDA_HOME", "CUDA_PATH", "LD_LIBRARY_PATH")
#: So many files are looked at each time.
_FEW: Final = 100
#: Looking at more of them may take this part of a process's time.
_SHARE: Final = 0.1
_MOST: Final = 64
#: The parts by question and cache, and when to look at the files again, on the monotonic clock.
_answers: dict[tuple[str, Path | None], tuple[dict[str, str], float]] = {}


def recall_key_part(outside: tuple[str, ...] | None, *, built: str, lto: bool) -> dict[str, str] | None:
    """Return the toolchain's part of the key of a compile that takes these headers from outside the project.

    ``built`` is what a build took there. None if no answer is remembered for this search path, or if anything that
    decides it has changed. An answer from many files may be out of date for ten times as long as looking at them takes.
    """
    question = _question(outside, built, lto=lto)
    part, until = _answers.get((question, default_cache_path()), ({}, 0.0))
    if time.monotonic() < until:
        return part
    start = time.monotonic()
    note = _NOTES.read(question)
    try:
        if not note or not all(file_state(path) == state for path, state in note["states"].items()):
            return None
        part = {str(name): str(value) for name, value in note["part"].items()}
    except (TypeError, KeyError, AttributeError):
        return None
    if len(note["states"]) > _FEW:
        end = time.monotonic()
        if len(_answers) >= _MOST:
            _answers.clear()
        _answers[question, default_cache_path()] = part, end + seconds_to_trust(len(note["states"]), end - start)
    return part


def seconds_to_trust(files: int, seconds: float) -> float:
    """Return for how long so many files, which it takes these seconds to look at, are not looked at again."""
    return seconds / _SHARE if files > _FEW else 0.0


def searched_environment() -> list[str]:
    """Return the variables that say where else libraries and headers are looked for, with their values."""
    return [f"{name}={os.environ.get(name, '')}" for name in _ENVIRONMENT]


def keep_key_part(
    outside: tuple[str, ...] | None, *, built: str, lto: bool, part: Mapping[str, str], states: Mapping[str, str]
) -> None:
    """Remember the answer for as long as these paths have these states, and no wheel appears ahead of them."""
    searched = [os.path.join(entry, "nvidia") for entry in sys.path if entry]  # noqa: PTH118
    every = {path: file_state(path) for path in searched} | dict(states)
    _answers.clear()
    _NOTES.write(_question(outside, built, lto=lto), {"part": dict(part), "states": every})


def _question(outside: tuple[str, ...] | None, built: str, *, lto: bool) -> str:
    return json.dumps([outside, built, lto, sys.path, *searched_environment()])
