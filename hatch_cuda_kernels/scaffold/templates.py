"""The files of a new project, as text. ``NAME`` is the project's name, ``PACKAGE`` what Python imports."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from hatch_cuda_kernels.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from pathlib import Path


#: Of all targets: in an sdist, the hook includes the sources and leaves out what an editable install has compiled.
TABLE: Final = "tool.hatch.build.hooks.cuda-kernels"
#: The store of an editable install, in the package's folder.
_IGNORED: Final = "_kernels/"
CI_FILE: Final = ".github/workflows/kernels.yml"

#: What a manifest states beside its modules.
HEAD: Final[Mapping[str, Any]] = {"schema": 1, "cuda": "13.0", "arches": ["sm_80", "sm_90", "sm_120", "compute_80"]}
MANIFEST_HEAD: Final = f"""\
# What hatch-cuda-kernels compiles while the wheel is built.
schema: {HEAD["schema"]}
cuda: "{HEAD["cuda"]}"  # the toolkit release that compiles; its PTX needs a driver for this release or newer
# Real architectures give CUBINs. The virtual one gives PTX, which the driver compiles for any other device from 8.0 on.
arches: [{", ".join(HEAD["arches"])}]
"""
_MANIFEST: Final = f"""\
{MANIFEST_HEAD}modules:
  saxpy:
    source: kernels/saxpy.cu
"""

_KERNEL: Final = """\
// extern "C" makes the kernel's symbol plain saxpy. Such kernels need not be listed in kernels.yaml.
extern "C" __global__ void saxpy(float* y, const float* x, long long n, float a) {
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
"""

_WRAPPER: Final = '''\
"""A first kernel."""

from hatch_cuda_kernels import open_store

STORE = open_store("PACKAGE")  # reads nothing yet, so it may stand at module level


def saxpy(a, x, y):
    """Set y = a * x + y, for contiguous float32 arrays on the current device, and return y."""
    n = y.shape[0]
    STORE.get_kernel("saxpy")[(n + 255) // 256, 256](y, x, n, a)
    return y
'''

_TEST: Final = '''\
"""The first kernel is in the package for the devices it is built for, and gives the right result on a device."""

import pytest

from PACKAGE.saxpy import STORE, saxpy


@pytest.mark.parametrize("arch", ["sm_80", "sm_86", "sm_90", "sm_120"])
def test_saxpy_needs_no_compiler(arch):
    assert STORE.find_image("saxpy", arch=arch, policy="prebuilt").origin == "prebuilt"


def test_saxpy_on_a_device():
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("needs a CUDA device")
    x, y = torch.ones(1000, device="cuda"), torch.zeros(1000, device="cuda")
    assert saxpy(2.0, x, y).sum().item() == 2000.0
'''

_PYPROJECT: Final = """\
[build-system]
requires = ["hatchling>=1.27"]
build-backend = "hatchling.build"

[project]
name = "NAME"
version = "0.1.0"
readme = "README.md"
requires-python = ">=3.11"

[project.optional-dependencies]
# For devices and template instances that are not in the wheel.
jit = ["OWN_JIT"]
# The compiler of the release that kernels.yaml states: what is edited is compiled as a build compiles it.
test = [
  "pytest>=8",
RELEASE
]
"""

_BUILDING: Final = """\
| | with pip | with uv |
|---|---|---|
| make the wheel | `python -m build` | `uv build` |
| install for development | `python -m pip install --editable ".[jit,test]"` | `uv sync --extra jit --extra test` |
| run the tests | `python -m pytest` | `uv run pytest` |

After the second, an edited kernel is compiled when it is used.
"""

_README: Final = """\
# NAME

CUDA kernels in a Python package, compiled while the wheel is built.

```python
import torch

from PACKAGE.saxpy import saxpy

x, y = torch.ones(1000, device="cuda"), torch.zeros(1000, device="cuda")
saxpy(2.0, x, y)
```

"""

_GITIGNORE: Final = """\
__pycache__/
.venv/
dist/
_kernels/
"""

#: Builds the wheel and proves it, on a machine without a GPU.
_CI: Final = """\
name: kernels
on: [push, pull_request]
jobs:
  wheel:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with:
          python-version: "3.12"
      - uses: actions/cache@v4  # only what changed is compiled
        with:
          path: ~/.cache/hatch-cuda-kernels
          key: kernels-${{ hashFiles('kernels.yaml') }}-${{ github.run_id }}
          restore-keys: kernels-
      - run: python -m pip install build
      - run: python -m build
      - run: python -m pip install pytest "$(ls dist/*.whl)[jit]"
      - run: hatch-cuda-kernels verify dist/*.whl
"""
_TEST_FILE: Final = "tests/test_saxpy.py"

#: Path in the project (``FOLDER`` is the package's folder) and text.
FIRST_KERNEL: Final = {
    "kernels.yaml": _MANIFEST,
    "kernels/saxpy.cu": _KERNEL,
    "FOLDER/saxpy.py": _WRAPPER,
    _TEST_FILE: _TEST,
}
NEW_PROJECT: Final = {
    "pyproject.toml": _PYPROJECT,
    "README.md": _README + _BUILDING,
    ".gitignore": _GITIGNORE,
    "FOLDER/__init__.py": '"""CUDA kernels in a Python package."""\n',
}
#: Of a new project around kernels that are there.
README_OF_SOURCES: Final = (
    "# NAME\n\nCUDA kernels in a Python package, compiled while the wheel is built: kernels.yaml lists them, and\n"
    f'`open_store("PACKAGE")` of hatch_cuda_kernels finds them.\n\n{_BUILDING}'
)


def ci_text(files: Collection[str]) -> str:
    """Return the file for a CI of a project with these files; it runs the test that is among them."""
    return f"{_CI}      - run: python -m pytest {_TEST_FILE}\n" if _TEST_FILE in files else _CI


class Scaffold(NamedTuple):
    """What was done: files created, additions to files, files kept; and what is left to do."""

    created: tuple[str, ...]
    changed: tuple[str, ...]
    kept: tuple[str, ...]
    notes: tuple[str, ...]
    steps: tuple[str, ...]
    """What else the project's build system needs."""
    next: tuple[str, ...]
    """Commands; none if nothing was done."""


def fill_template(text: str, words: Mapping[str, str]) -> str:
    """Return a template with its words filled in."""
    return re.sub(rf"\b(?:{'|'.join(words)})\b", lambda found: words[found[0]], text)


def read_text(path: Path) -> str:
    """Return a file's text. Raises InputError if it cannot be read."""
    try:
        return path.read_bytes().decode()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read: {error}") from error


def write_missing(root: Path, files: dict[str, str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Write the files that do not exist yet; return the names of those written and of those kept.

    Raises InputError if one cannot be written.
    """
    created, kept = [], []
    for name, text in files.items():
        path = root / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("x", encoding="utf-8", newline="\n") as file:
                file.write(text)
        except FileExistsError:
            kept.append(name)
        except OSError as error:
            raise InputError(f"{path} cannot be written: {error.strerror}") from error
        else:
            created.append(name)
    return tuple(created), tuple(kept)


def ignore_store(root: Path) -> tuple[str, ...]:
    """Have git leave out the store of an editable install; return the change."""
    path = root / ".gitignore"
    text = read_text(path) if path.is_file() else ""
    if any(line.strip().strip("/").removeprefix("**/") == _IGNORED.strip("/") for line in text.splitlines()):
        return ()
    path.write_bytes(f"{text}{'' if not text or text.endswith(chr(10)) else chr(10)}{_IGNORED}\n".encode())
    return (f".gitignore: {_IGNORED}",)
