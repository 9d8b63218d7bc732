"""What one test run makes once, whichever of its processes comes to need it first."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import FileLock

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest

__all__ = ["SHARED", "SKIPPED_FILES", "make_once", "shared_folder"]


#: Set in runs of tests that a test starts: the shared folder of the run that it is part of.
SHARED = "TESTS_SHARED"
#: Of this run, the files that are skipped as they are collected, for they need what is not installed.
SKIPPED_FILES: set[str] = set()


def shared_folder(factory: pytest.TempPathFactory) -> Path:
    """Return the folder that all processes of this run share, those of pytest-xdist included."""
    if SHARED in os.environ:
        return Path(os.environ[SHARED])
    own = factory.getbasetemp()
    folder = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "shared"
    folder.mkdir(exist_ok=True)
    return folder


def make_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """Return a folder of this run that ``make`` has filled; processes that need it meanwhile wait."""
    folder = shared_folder(factory) / name
    made = folder.with_suffix(".made")
    with FileLock(folder.with_suffix(".lock")):
        if not made.exists():
            shutil.rmtree(folder, ignore_errors=True)  # what a process left that failed
            folder.mkdir()
            make(folder)
            made.touch()
    return folder
