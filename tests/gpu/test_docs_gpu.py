"""The documentation's snippets for a device, run from top to bottom, page by page."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from doc_blocks import DOCS, README, blocks_of, files_of, run_page, runs, write

from hatch_cuda_kernels.build import build_store
from hatch_cuda_kernels.manifest import load_manifest

PAGES = [
    page
    for page in (README, *sorted((DOCS / "howto").glob("*.md")))
    if any(block.mark == "gpu" and runs(block, gpu=True) for block in blocks_of(page))
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_page_runs_on_a_device(page, device, tmp_path):
    """Every block runs, less those of frameworks that are not installed; where that leaves none, it is skipped."""
    results = [result for block, result in run_page(page, tmp_path, gpu=True) if block.mark == "gpu"]
    skipped = [f"{result['label']} {result['state']}" for result in results if result["state"] != "run"]
    if len(skipped) == len(results):
        pytest.skip("; ".join(skipped))


def test_the_tutorial_launches_its_kernel(device, tmp_path):
    """The tutorial's package, with its first manifest, gives the result that its last step shows."""
    pytest.importorskip("torch")
    found = blocks_of(DOCS / "tutorial.md")
    for name, text in files_of(found).items():
        write(tmp_path / name, text)
    build_store(load_manifest(tmp_path / "kernels.yaml"), tmp_path / "src" / "mylib" / "_kernels")
    (program,) = (block.text for block in found if block.mark == "gpu")
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path / "src"), *sys.path])},
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.stdout.split() == program.rpartition("#")[2].split(), done.stderr
