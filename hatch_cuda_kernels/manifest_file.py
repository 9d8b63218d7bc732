"""Finds the manifest of the project that a folder is in, as git finds its repository."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Any, Final

from hatch_cuda_kernels.errors import InputError

__all__ = ["MANIFEST_FILE", "find_manifest", "hook_table"]

MANIFEST_FILE: Final = "kernels.yaml"
_HOOK: Final = "cuda-kernels"


def find_manifest(folder: Path) -> Path:
    """Return the manifest in a folder or the next one above it, as a path relative to the folder.

    That is ``kernels.yaml``, or what the hook's table in ``pyproject.toml`` names. Raises InputError if there is none.
    """
    folder = folder.absolute()
    for place in (folder, *folder.parents):
        stated = _stated(place / "pyproject.toml")
        for name in filter(None, (stated, MANIFEST_FILE)):
            if (place / name).is_file():
                return Path(os.path.relpath(place / name, folder))
    raise InputError(
        f"there is no {MANIFEST_FILE} in {folder} or above\n"
        "  to fix: name one, or let hatch-cuda-kernels init write the first"
    )


def _stated(pyproject: Path) -> str | None:
    try:
        data = tomllib.loads(pyproject.read_text(encoding="utf-8"))
        manifest = (hook_table(data["tool"]["hatch"]) or {}).get("manifest")
    except (OSError, ValueError, LookupError, TypeError, AttributeError):  # whoever builds it is told
        return None
    return manifest if isinstance(manifest, str) else None


def hook_table(data: dict[str, Any]) -> dict[str, Any] | None:
    """Return the hook's table, of wheels or of all targets, below ``build``; None if there is none."""
    build = data.get("build", {})
    for place in (build.get("targets", {}).get("wheel", {}), build):
        table = place.get("hooks", {}).get(_HOOK)
        if table is not None:
            return dict(table)
    return None
