"""Kills a process at every step of a build's way through its workspace: ``python staging_kills.py FOLDER``."""

from __future__ import annotations

import sys
import warnings
from itertools import count
from pathlib import Path

from cache_kills import die_at

from hatch_cuda_kernels.store.writer import workspace


def build(parent):
    """Make a store of two files in a workspace, and give it up."""
    with workspace(parent, ".out.") as folder:
        for name in ("a", "z"):
            (folder / name).mkdir()
            (folder / name / "index.json").write_text("{}")


def at_every_step(parent):
    """Kill at one step after another until the build gets to its end; return how many kills there were."""
    parent.mkdir()
    build(parent)  # imports what it needs, once
    for step in count(1):
        killed = die_at(step, build, parent)
        build(parent)
        left = [path.relative_to(parent) for path in parent.rglob("*")]
        assert left == [], f"killed at step {step}, it leaves {left}"
        if not killed:
            return step - 1
    raise AssertionError


if __name__ == "__main__":
    warnings.simplefilter("error")
    sys.stdout.write(f"{at_every_step(Path(sys.argv[1]))}")
