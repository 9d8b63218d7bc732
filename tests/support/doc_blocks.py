"""The fenced blocks of the documentation, and how those of a page are run together.

After the language, a fence may say ``gpu`` (needs a device: compiled everywhere, run by ``tests/gpu``) or ``shown``
(needs what no test has: compiled only), and ``title="PATH"`` (it is that file). ``bash`` is run; ``shell`` is not: it
needs a network or the reader's own package (that of the tutorial is run all the same). ``text`` below a ``bash`` block
is what that prints.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
README = ROOT / "README.md"
CLI_PAGE = DOCS / "reference" / "cli.md"
PAGES = [README, ROOT / "CHANGELOG.md", *sorted(DOCS.rglob("*.md"))]
#: What snippets import and the tests need not have.
FRAMEWORKS = ("torch", "triton", "cupy", "cupyx", "jax", "jax_triton", "numba", "cuda.core", "setuptools", "mylib")

FENCE = re.compile(
    r'^```(?P<language>\w*)(?: (?P<mark>gpu|shown))?(?: title="(?P<title>[^"]+)")?\n(?P<text>.*?)^```$',
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    page: Path
    line: int
    language: str
    mark: str | None
    title: str | None
    text: str

    def __str__(self):
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def blocks_of(page):
    """Return the fenced blocks of a page in order."""
    text = page.read_text()
    return [Block(page, text.count("\n", 0, found.start()) + 1, **found.groupdict()) for found in FENCE.finditer(text)]


def blocks(language):
    """Return the blocks of a language on all pages."""
    return [block for page in PAGES for block in blocks_of(page) if block.language == language]


def write(path, text):
    """Write a file, making its folders."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


#: The project that pages talk about which show none of their own.
PROJECT = {
    "mylib/__init__.py": "",
    "kernels/saxpy.cu": """\
extern "C" __global__ void saxpy(float* y, const float* x, long long n, float a) {
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
""",
    "kernels.yaml": """\
schema: 1
arches: [sm_80, sm_90, sm_100, sm_120, compute_80]
modules:
  saxpy:
    source: kernels/saxpy.cu
""",
}

#: Runs a page's blocks in order, in one process as one reader would, and writes what became of each.
RUNNER = r"""
import json, subprocess, sys

names, results, missing = {"__name__": "__main__"}, [], False
for block in json.load(open(sys.argv[1])):
    result = {"label": block["label"], "state": "run", "printed": ""}
    results.append(result)
    if block["language"] == "bash":
        command = ["bash", "-euo", "pipefail", "-c", block["text"]]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        result["printed"] = done.stdout
        if done.returncode:
            sys.exit(f"{block['label']}: status {done.returncode}\n{done.stdout}")
        continue
    try:
        exec(compile(block["text"], block["label"], "exec"), names)
    except ModuleNotFoundError as error:
        if error.name.partition(".")[0] not in block["frameworks"]:
            raise
        result["state"], missing = f"skipped: no {error.name}", True
    except NameError as error:
        if not missing:
            raise
        result["state"] = f"skipped: {error}"
json.dump(results, open(sys.argv[1], "w"))
"""


def run_page(page, folder, *, gpu):
    """Run a page's blocks in a project made of its files; with ``gpu``, those that need a device, too.

    Returns pairs: each block that was run, and its result (``state`` and ``printed``).
    """
    from hatch_cuda_kernels.build import build_store
    from hatch_cuda_kernels.manifest import load_manifest

    found = blocks_of(page)
    project = folder / "project"
    for name, text in (PROJECT | files_of(found)).items():
        write(project / name, text)
    build_store(load_manifest(project / "kernels.yaml"), project / "mylib" / "_kernels")
    steps = [block for block in found if runs(block, gpu=gpu)]
    write(folder / "steps.json", json.dumps([step(block) for block in steps]))
    write(folder / "runner.py", RUNNER)
    environment = os.environ | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(folder),
        "HATCH_CUDA_KERNELS_CACHE_DIR": str(folder / "cache"),
        "PYTHONPATH": os.pathsep.join([str(project), str(ROOT), os.environ.get("PYTHONPATH", "")]),
        "MYPYPATH": str(ROOT),
    }
    done = subprocess.run(
        [sys.executable, folder / "runner.py", folder / "steps.json"],
        cwd=project, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    return list(zip(steps, json.loads((folder / "steps.json").read_text()), strict=True))


def files_of(found):
    """Return the files that blocks are: by their titles, and a whole manifest without one."""
    files = {block.title: block.text for block in reversed(found) if block.title is not None}
    manifests = [block.text for block in found if block.language == "yaml" and block.text.startswith("schema:")]
    return {"kernels.yaml": manifests[0]} | files if manifests else files


def runs(block, *, gpu):
    """Tell whether a block is to be run."""
    if block.title is not None or block.language not in {"bash", "python"}:
        return False
    return block.mark is None or (gpu and block.mark == "gpu")


def step(block):
    """Return what the runner is told of a block."""
    frameworks = [name.partition(".")[0] for name in FRAMEWORKS]
    return {"label": str(block), "language": block.language, "text": block.text, "frameworks": frameworks}


def masked(text):
    """Return a text's lines with numbers, long digests and runs of spaces made alike.

    The short digests that people compare by eye, those of images, are the same on every machine.
    """
    text = re.sub(r"\b[0-9a-f]{13,}\b", "#", text)
    text = re.sub(r"(?<!\w)(?![0-9a-f]{12}\b)\d[\d,.]*", "#", text)
    return [" ".join(line.split()) for line in text.splitlines()]


def assert_printed(shown, printed):
    """Check that the lines shown are printed in this order, perhaps with others between them."""
    remaining = iter(masked(printed))
    for line in masked(shown):
        assert any(line == other for other in remaining), f"not printed, or not in this order: {line}\n{printed}"
