"""What the tests of real front ends (``python -m build``, pip) share."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

__all__ = [
    "EXAMPLE",
    "PYPROJECT",
    "REPOSITORY",
    "build_isolated",
    "build_wheel",
    "copy_project",
    "of_one_arch",
    "run",
    "without_cub",
]

REPOSITORY = Path(__file__).parents[2]
EXAMPLE = REPOSITORY / "example_project"
#: A project with the hook and the package ``p``, which may lie in the root beside others.
PYPROJECT = """
[build-system]
requires = ["hatchling", "hatch-cuda-kernels[build]"]
build-backend = "hatchling.build"
[project]
name = "p"
version = "1.0"
[tool.hatch.build.targets.wheel]
packages = ["p"]
[tool.hatch.build.targets.wheel.hooks.cuda-kernels]
"""


def run(*command, cwd=None, **environment):
    """Run a command and return its standard output; its output is in the failure."""
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, env=os.environ | environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def build_wheel(project, out, **environment):
    """Build a project's wheel with what is installed here, and return what was printed."""
    return run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", out, project, **environment)


def build_isolated(project, out, *options, offered, **environment):
    """Build in an environment of its own, with the wheels offered beside the index, and return what was printed.

    uv makes the environment that pip would make, in a tenth of the time; ``test_wheel`` builds with pip.
    """
    command = [sys.executable, "-m", "build", "--installer", "uv", *options, "--outdir", out, project]
    return run(*command, UV_FIND_LINKS=str(offered), **environment)


def copy_project(folder, project=EXAMPLE):
    """Return a copy of a project without what builds and tests left in it."""
    junk = shutil.ignore_patterns("_kernels", "dist", "build", "*.egg-info", "__pycache__", ".*_cache")
    return shutil.copytree(project, folder, ignore=junk)


def without_cub(manifest):
    """Return the example's manifest without the module that uses CUB: nine tenths of what its build takes."""
    before, _, after = manifest.partition("  radix_sort:")
    return before + after[after.index("  filter:") :]


def of_one_arch(manifest):
    """Return the example's manifest with one architecture, so without what it promises of others."""
    lines = (line for line in manifest.partition("supports:")[0].splitlines(keepends=True))
    return "".join("arches: [sm_90]\n" if line.startswith("arches:") else line for line in lines)
