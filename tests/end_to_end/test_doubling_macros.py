"""Macros that double from line to line, sixty times: nothing that reads sources runs out of memory, or of time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import doubling_macros
import pytest
from doubling_macros import INCLUDES, KERNEL, MARK, OTHERS, READERS, SOURCES
from waiting import HANG_SECONDS

from hatch_cuda_kernels.build import build_store
from hatch_cuda_kernels.includes.computed import _BUDGET
from hatch_cuda_kernels.manifest import load_manifest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits memory as Linux does")

#: What reads no source.
BLIND = {"inspect"}
#: Where the includes are.
LINES = {"include": 62, "hidden include": 63, "nested calls": 3}


@pytest.fixture(scope="module")
def store(tmp_path_factory, isolation):
    """Return a store whose source has a line to be replaced; readers replace it in copies."""
    root = tmp_path_factory.mktemp("doubling")
    (root / "kernels.yaml").write_text("{schema: 1, arches: [sm_90], modules: {k: {source: k.cu}}}")
    (root / "k.cu").write_text(MARK + KERNEL)
    build_store(load_manifest(root / "kernels.yaml"), root / "store")
    return root / "store"


@pytest.mark.parametrize("reader", READERS)
def test_every_reader_has_a_budget(store, tmp_path, slow, reader):
    """Beyond it, a computed include is an error that says where; what includes nothing is read as it is."""
    read_all(reader, store, tmp_path, 2_000)


def test_the_budget_is_a_matter_of_seconds(store, tmp_path, slow):
    """With the budget that everybody has, some take less than a minute of processor time together, and 4 GiB."""
    read_all("check", store, tmp_path, _BUDGET, "calls", "definitions")


def read_all(reader, store, tmp_path, budget, *names):
    """Let one reader read every source in a process of limited time and memory, and look at what it says of each."""
    support = Path(doubling_macros.__file__)
    folder = tmp_path / "read"
    folder.mkdir()
    done = subprocess.run(
        [sys.executable, support, reader, store, folder, str(budget), *(names or SOURCES)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(support.parent), os.environ.get("PYTHONPATH", "")])},
        capture_output=True,
        text=True,
        timeout=HANG_SECONDS,
        check=False,
    )
    read = {name: (status, told) for name, status, told in map(json.loads, done.stdout.splitlines())}
    assert (done.returncode, list(read)) == (0, [*(names or SOURCES)]), done.stderr
    told = {name: any("macros make more than" in str(part) for part in found) for name, found in read.items()}
    assert told == {name: name in INCLUDES and reader not in BLIND for name in read}
    assert all(f".cu:{line}: macros make" in f"{read[name]}" for name, line in LINES.items() if told.get(name))
    assert {read[name][0] for name in OTHERS if name in read} <= ({0, 1} if "verify" in reader else {0})
