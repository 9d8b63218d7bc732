"""Launches in C beside those in Python: random ones have the same outcome, and sanitizers find nothing meanwhile."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from built_accelerator import sanitized_accelerator, sanitizers
from launch_fuzz import STEPS, compare
from shared import SHARED, shared_folder

HERE = Path(__file__).parent
#: ``tests/support/launch_fuzz.py`` takes more of them by hand.
SECONDS = 3


@pytest.mark.slow
def test_random_launches_are_the_same(compiled):
    """What reaches the driver, byte for byte, and the class and the text of every error; nothing is left behind."""
    ends = compare(Path(compiled.__file__).parent, seconds=2)
    assert ends["steps"] == STEPS * ends["cases"] > 0
    assert ends["launches"] > 0
    assert ends["ArgumentError"] > 0


@pytest.mark.slow
def test_random_launches_are_the_same_under_sanitizers(tmp_path_factory):
    """Other ones; no memory is used before it is there, after it was freed, or beyond its end."""
    folder = sanitized_accelerator(tmp_path_factory)
    assert compare(folder, SECONDS, seed=1_000_000, environment=sanitizers()[1])["launches"] > 0


@pytest.mark.slow
def test_the_accelerators_own_tests_pass_under_sanitizers(tmp_path_factory, example_store):
    """What they do on purpose is nothing that C leaves undefined. What they share is made without."""
    sanitized_accelerator(tmp_path_factory)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-k", "compiled"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    files = [str(HERE / f"{name}.py") for name in ("test_accelerator", "test_codegen")]
    environment |= sanitizers()[1] | {SHARED: str(shared_folder(tmp_path_factory))}
    ran = subprocess.run([*command, *files], env=environment, cwd=HERE.parents[1], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout[-8000:] + ran.stderr[-4000:]
