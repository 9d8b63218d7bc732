"""Shows what hatch-cuda-kernels does, on this project: build, verify, explain, run. `hatch run demo` starts it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import textwrap
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

PROJECT = Path(__file__).parent
DIST = PROJECT.parent / "dist" / "demo"
WHEEL = os.path.relpath(DIST / "example_project-0.1.0-py3-none-any.whl")
PYTHON = (sys.executable, "-m")
TOOL = (*PYTHON, "hatch_cuda_kernels")
PIP = (*PYTHON, "pip", "install", "-q", "--disable-pip-version-check", "--no-deps", "--force-reinstall")
UV = (os.environ.get("HATCH_UV", "uv"), "pip", "install", "-q", "--python", sys.executable, "--no-deps", "--reinstall")

STEPS = (
    (
        (
            "Build the wheel. Five CUDA C++ sources are compiled for three generations of "
            "GPUs, and as PTX for any other; no GPU, no driver and no nvcc is needed. The "
            "first time takes up to a minute; then the images come from a cache."
        ),
        (*PYTHON, "build", "--wheel", "--no-isolation", "--outdir", str(DIST), str(PROJECT)),
    ),
    (
        "Verify the wheel, as before a release: all that it promises is in it.",
        (*TOOL, "verify", WHEEL),
    ),
    (
        "Explain which image a kernel gets on an H100 (sm_90) ...",
        (*TOOL, "explain", "saxpy", "--package", WHEEL, "--arch", "sm_90"),
    ),
    (
        (
            "... and on a B300 (sm_103) with a driver for CUDA 12.8, for which nothing in the "
            "wheel is made: the kernel is compiled once, from the source in the wheel."
        ),
        (*TOOL, "explain", "saxpy", "--package", WHEEL, "--arch", "sm_103", "--driver", "12.8"),
    ),
    (
        "Install the wheel, and run every kernel if there is a GPU.",
        (*(PIP if find_spec("pip") else UV), WHEEL),  # where uv makes hatch's environments, they have no pip
        (*PYTHON, "example_project"),
    ),
)
END = """\
You saw one wheel of {size:,} bytes, for every Python and every GPU from sm_80
on: built without a GPU, verified, and each kernel traced to its image.

Next, what the wheel holds:
  {here} inspect {wheel}
A project of your own, with a first kernel:
  mkdir ~/mylib && cd ~/mylib && {there} init
From there to a release in ten minutes: docs/tutorial.md
"""


def programs(environment: Mapping[str, str]) -> tuple[str, str]:
    """Return what runs hatch-cuda-kernels in this checkout, and anywhere, where the demo was started."""
    anywhere = f"{sys.executable} -m hatch_cuda_kernels"
    if "HATCH_ENV_ACTIVE" not in environment:
        return anywhere, anywhere
    typed, path = Path(environment.get("_", "")).name, environment["PATH"]
    hatch = Path(environment.get("HATCH_UV", "/uv")).with_name("hatch")  # hatch brings uv with it
    notes = hatch.parent.parent / "pipx_metadata.json"
    if typed == "pipx" or (notes.is_file() and notes.parent.parent.name != "venvs"):
        return "pipx run hatch run hatch-cuda-kernels", f'pipx run --spec "{PROJECT.parent}[build]" hatch-cuda-kernels'
    if environment.get("UV") and shutil.which("uvx", path=path):
        return "uvx hatch run hatch-cuda-kernels", f'uvx --from "{PROJECT.parent}[build]" hatch-cuda-kernels'
    found = shutil.which("hatch", path=path)
    if hatch.is_file() and (found is None or not hatch.samefile(found)):
        found = os.path.relpath(hatch) if hatch.is_relative_to(Path.cwd()) else str(hatch)
        return f"{found} run hatch-cuda-kernels", anywhere
    return ("hatch run hatch-cuda-kernels" if found else anywhere), anywhere


def main() -> int:
    """Run the steps and return the first status that is not 0."""
    for number, (text, *commands) in enumerate(STEPS, 1):
        print(textwrap.fill(f"{number}/{len(STEPS)} {text}", 78, initial_indent="\n--- "), "\n", flush=True)
        for command in commands:
            status = subprocess.run(command, check=False).returncode  # noqa: S603 - the commands above
            if status:
                print(f"\nthis failed with status {status}: {' '.join(command[1:])}", file=sys.stderr)
                return status
    here, there = programs(os.environ)
    print(f"\n---\n{END.format(size=Path(WHEEL).stat().st_size, wheel=WHEEL, here=here, there=there)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
