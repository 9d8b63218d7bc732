"""The code that decides what NVRTC is shown of sources: another version of it may make something else of them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

__all__ = ["rule_files"]

#: What the toolkit's headers ask for is no rule, but an answer that is compared.
_FOLDERS: Final = ("cpp", "execution_space", "includes", "libraries")
_FILES: Final = ("compiler/output/log.py", "compiler/recipe_reader.py", "names.py", "options.py")


def rule_files() -> list[str]:
    """Return the paths of that code, sorted, without the standard headers; none where the package is not in files."""
    package = Path(__file__).parents[1]
    found = [path for folder in _FOLDERS for path in (package / folder).glob("*") if path.is_file()]
    return sorted(map(os.fspath, [*found, *(package / name for name in _FILES)])) if found else []
