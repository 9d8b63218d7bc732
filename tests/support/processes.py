"""What /proc tells of other processes."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

__all__ = ["children_of", "command_of", "descendants", "linux", "runs", "workers_of"]

linux = pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="looks for processes in /proc")


def children_of(pid):
    """Return the processes that a process has started, whichever of its threads did."""
    found = []
    for listing in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            found += map(int, listing.read_text().split())
    return found


def descendants(pid):
    """Return the processes that a process and its children have started."""
    children = children_of(pid)
    return children + [below for child in children for below in descendants(child)]


def workers_of(pid):
    """Return the worker processes of a build."""
    found = []
    for child in children_of(pid):
        with contextlib.suppress(OSError):
            found += [child] if b"serve(" in Path(f"/proc/{child}/cmdline").read_bytes() else []
    return found


def command_of(pid):
    """Return the name of the program that a process runs; empty where there is no such process."""
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def runs(pid):
    """Return whether a process is there and more than a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False
