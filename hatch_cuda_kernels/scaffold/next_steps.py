"""The commands that come after ``init``, as they work where it was run: under pip, uv, uvx, pipx or hatch."""

from __future__ import annotations

import os
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from hatch_cuda_kernels.compiler.toolchain.packages import own

__all__ = ["next_commands"]

_PROGRAM: Final = "hatch-cuda-kernels"
#: Sets where the running uv is, for the processes that it starts.
_UV: Final = "UV"


def next_commands() -> list[str]:
    """Return how to check the manifest, build the wheel and look into it."""
    program = _program()
    return [f"{program} check", _build(), f"{program} inspect dist/*.whl"]


def _program() -> str:
    """Return what runs this program again."""
    place = Path(sys.prefix).parts
    if os.environ.get(_UV) and not os.environ.get("VIRTUAL_ENV"):  # uvx makes an environment for one run
        return f'uvx --from "{own("build")}" {_PROGRAM}'
    if "pipx" in place:
        return f'pipx run --spec "{own("build")}" {_PROGRAM}'
    found = shutil.which(_PROGRAM)
    if found is not None and Path(found).parent == Path(sys.executable).parent:
        return _PROGRAM
    return f"{_python()} -m hatch_cuda_kernels"


def _build() -> str:
    """Return what builds a wheel: the first front end that is here."""
    if os.environ.get(_UV) or (find_spec("pip") is None and shutil.which("uv")):
        return "uv build --wheel"
    if find_spec("build") is not None:
        return f"{_python()} -m build --wheel"
    if find_spec("pip") is not None:
        return f"{_python()} -m pip wheel --no-deps --wheel-dir dist ."
    return "pipx run build --wheel"


def _python() -> str:
    """Return what starts this Python."""
    for name in ("python", "python3"):
        found = shutil.which(name)
        if found is not None and Path(found).absolute().parent == Path(sys.executable).parent:
            return name
    return sys.executable if " " not in sys.executable else f'"{sys.executable}"'
