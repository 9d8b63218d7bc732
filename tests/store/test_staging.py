"""Folders for what is not finished yet: whoever is killed leaves nothing that the next process does not remove."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from hatch_cuda_kernels.store.staging import workspace

KILLS = Path(__file__).parents[1] / "support" / "staging_kills.py"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
def test_killed_at_any_step(tmp_path):
    """Also on the way in, before there is a lock, and on the way out, when half of the folder is removed."""
    done = subprocess.run([sys.executable, KILLS, tmp_path / "parent"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 10


def test_a_folder_that_another_process_takes_for_a_dead_ones(tmp_path, monkeypatch):
    """A new folder is empty until it is locked: whoever finds it then removes it, and the next one is taken."""
    made = []

    def mkdtemp(prefix, dir):  # noqa: A002 - tempfile's name
        made.append(tmp_path / f"{prefix}{len(made)}")
        if len(made) > 1:
            made[-1].mkdir()
        return str(made[-1])

    monkeypatch.setattr("hatch_cuda_kernels.store.staging.tempfile.mkdtemp", mkdtemp)
    with workspace(tmp_path, "new.") as folder:
        assert folder == tmp_path / "new.1"
    assert not folder.exists()
