"""Warnings that point at the user's line, however deep in this package they arise."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Final

_PACKAGE: Final = str(Path(__file__).parent)
#: Calls back into this package: ``functools``, ``contextlib``, ``threading``.
_STANDARD: Final = str(Path(warnings.__file__).parent)


def warn_user(message: str) -> None:
    """Warn at the innermost caller outside this package. Python shows an equal warning of one line once.

    The message may hold text from elsewhere: what a terminal would not show as it is, is escaped.
    """
    from hatch_cuda_kernels.terminal import printable  # most processes warn of nothing

    level = 1
    frame = sys._getframe()  # noqa: SLF001 - what warnings itself uses; skip_file_prefixes needs Python 3.12
    while frame.f_back is not None and _is_inside(frame.f_code.co_filename):
        frame, level = frame.f_back, level + 1
    warnings.warn(printable(message, lines=True), RuntimeWarning, stacklevel=level)


def _is_inside(file: str) -> bool:
    """Return whether a file is one of this package, or of the standard library that it goes through."""
    return file.startswith(_PACKAGE) or (file.startswith(_STANDARD) and "-packages" not in file)
