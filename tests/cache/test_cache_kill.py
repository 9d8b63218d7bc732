"""A process killed at every step of what it does to the cache leaves whole entries or none, and no trouble behind."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from slow_parameters import slow_but

KILLS = Path(__file__).parents[1] / "support" / "cache_kills.py"

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
#: Thousands of files are made and removed, twice as fast in memory.
MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


@pytest.fixture
def path():
    """Return a cache folder that does not exist yet."""
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        yield Path(folder) / "cache"


def run(path, scenario):
    """Return what the scenario printed. Fails with its traceback."""
    done = subprocess.run([sys.executable, str(KILLS), str(path), scenario], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


#: With how many of the entries 0 to 5 there are before and after.
SCENARIOS = {
    "put_first": (0, 1),
    "put_above_the_cap": (3, 2),
    "put_over_half_a_folder": (3, 2),
    "make": (3, 2),
    "set_aside": (2, 3),
    "prune": (3, 0),
    "clear": (3, 0),
}


@pytest.mark.slow
@pytest.mark.parametrize("scenario", slow_but(["put_first"], SCENARIOS))
def test_killed_at_any_step(path, scenario):
    """Whatever step it dies at, the next process sees whole entries, no error and no warning, and can put its own."""
    left = run(path, scenario)
    before, after = SCENARIOS[scenario]
    assert len(left) > 10
    assert left[0] == before
    assert left[-1] == after


@pytest.mark.slow
def test_killed_at_random_times(path):
    """Sixty processes killed while they read, write and evict do no harm to the one after them."""
    assert run(path, "at_random") == 60
