"""The README, the tutorial and the how-tos, followed step by step, give what they show."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from doc_blocks import DOCS, README, ROOT, assert_printed, blocks_of, masked, run_page, write

from hatch_cuda_kernels import open_store
from hatch_cuda_kernels.build import build_store
from hatch_cuda_kernels.manifest import load_manifest

LADDER = DOCS / "explanation" / "ladder.md"


def test_the_ladder_shows_what_explain_says(example_store, fresh_cache, monkeypatch):
    """The explanation on the page of the ladder is that of the example project, whole."""
    monkeypatch.setenv("HATCH_CUDA_KERNELS_JIT", "0")
    (shown,) = (block.text for block in blocks_of(LADDER) if block.text.startswith("saxpy on sm_75"))
    assert masked(shown) == masked(str(open_store(example_store).explain("saxpy", arch="sm_75")))


@pytest.mark.slow
def test_readme_lists_the_files_of_a_store(make_project):
    """The files shown in the README are those of a store."""
    manifest = "{schema: 1, arches: [sm_90, compute_80], modules: {saxpy: {source: kernels/saxpy.cu}}}"
    root = make_project(manifest, **{"kernels/saxpy.cu": 'extern "C" __global__ void saxpy() {}'})
    build_store(load_manifest(root / "kernels.yaml"), root / "_kernels")
    (shown,) = (block.text for block in blocks_of(README) if block.text.startswith("mylib/_kernels"))
    built = {f"mylib/{path.relative_to(root)}" for path in (root / "_kernels").rglob("*") if path.is_file()}
    assert {line.split()[0] for line in shown.splitlines()} == built


def execute(script, folder):
    """Run a script as a newcomer would, in the environment that the tutorial made, and return its output."""
    environment = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "VIRTUAL_ENV"}} | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "HATCH_CUDA_KERNELS_CACHE_DIR": str(folder / "cache"),
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    }
    activated = f"test ! -d .venv || . .venv/bin/activate\n{script.replace('PATH/TO/CHECKOUT', str(ROOT))}"
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", activated],
        cwd=folder / "project", env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    assert done.returncode == 0, f"{script}\n{done.stdout}"
    return done.stdout


def test_tutorial_works_as_written(tmp_path, slow):
    """From an empty folder, every command and file of the tutorial gives what it says, the installing one included."""
    (tmp_path / "project").mkdir()
    printed = ""
    for block in blocks_of(DOCS / "tutorial.md"):
        if block.title is not None:
            write(tmp_path / "project" / block.title, block.text)
        elif block.language in {"bash", "shell"}:
            printed = execute(block.text, tmp_path)
        elif block.language == "text":
            assert_printed(block.text, printed)
        else:
            assert block.mark == "gpu", block
    commands = [block.text for block in blocks_of(DOCS / "tutorial.md") if block.language == "bash"]
    assert any("hatch-cuda-kernels verify dist/" in text for text in commands)


HOW_TOS = sorted((DOCS / "howto").glob("*.md"))


@pytest.mark.parametrize("page", HOW_TOS, ids=lambda page: page.stem)
def test_how_to_runs(page, tmp_path, slow):
    """Every block that needs neither a device nor a network runs, and the commands print what is shown."""
    printed = {block: result["printed"] for block, result in run_page(page, tmp_path, gpu=False)}
    for above, below in pairwise(blocks_of(page)):
        if above in printed and below.language == "text":
            assert_printed(below.text, printed[above])
