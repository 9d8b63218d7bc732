"""The tests pass whoever starts them: under uvx, pipx, hatch or conda, with colours, on a narrow terminal."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
#: What people and programs set; nothing is at these places.
VARIABLES = {
    "UV": "/nowhere/uv", "UV_RUN_RECURSION_DEPTH": "1", "PIPX_HOME": "/nowhere/pipx", "VIRTUAL_ENV": "/nowhere/venv",
    "HATCH_ENV_ACTIVE": "hatch-test", "HATCH_VERBOSE": "2", "HATCH_CUDA_KERNELS_JIT": "0",
    "CONDA_PREFIX": "/nowhere/conda", "CUDA_HOME": "/nowhere/cuda", "CUDA_CACHE_MAXSIZE": "17",
    "PYTHONSAFEPATH": "1", "PYTHONIOENCODING": "latin-1", "PYTHONWARNINGS": "default",
    "LC_ALL": "C", "TERM": "dumb", "COLUMNS": "40", "LINES": "5", "FORCE_COLOR": "1", "CLICOLOR_FORCE": "1",
}  # fmt: skip
#: Of each kind of test that such a variable changed.
TESTS = (
    "tests/cache/test_cache_once.py::test_who_waits_takes_the_image_as_soon_as_it_is_there",
    "tests/cli/test_cli.py::test_explain_json_and_status",
    "tests/cli/test_messages.py::test_colours_are_for_terminals",
    "tests/docs/test_walkthroughs.py::test_how_to_runs[start-a-project]",
    "tests/docs/test_walkthroughs.py::test_how_to_runs[several-sources]",
    "tests/manifest/test_manifest.py::test_a_dynamic_version_is_what_hatchling_says",
    "tests/pool/test_progress.py::test_a_terminal_sees_what_runs",
    "tests/scaffold/test_init.py::test_other_back_ends",
    "tests/scaffold/test_init.py::test_what_comes_next_works_here",
)


def test_variables_of_the_caller_change_no_test(tmp_path, slow):
    """All of them at once, and another home and path."""
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", "--color", "no", *TESTS]
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])  # as in an active environment
    places = {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache"), "PATH": path}
    environment = os.environ | VARIABLES | places
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
