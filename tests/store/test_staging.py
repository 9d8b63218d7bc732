"""Folders for what is not finished yet: whoever is killed leaves nothing that the next process does not remove."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

KILLS = Path(__file__).parents[1] / "support" / "staging_kills.py"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
def test_killed_at_any_step(tmp_path):
    """Also on the way in, before there is a lock, and on the way out, when half of the folder is removed."""
    done = subprocess.run([sys.executable, KILLS, tmp_path / "parent"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 10
