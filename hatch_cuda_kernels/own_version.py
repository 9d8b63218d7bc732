"""This package's version, as it was installed: only the tags of the repository state it."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import Final

__all__ = ["__version__"]


def _installed() -> str:
    """Return the version of the installed distribution, which a source tree by itself does not have."""
    try:
        return version("hatch-cuda-kernels")
    except PackageNotFoundError:
        return "0+unknown"


__version__: Final = _installed()
