"""Where the store of an import package is, or of a folder."""

from __future__ import annotations

import sys
from pathlib import Path

from hatch_cuda_kernels.errors import StoreError
from hatch_cuda_kernels.store.index import KERNELS_FILE, STORE_FOLDER

__all__ = ["find_store"]


def find_store(package: str | Path) -> Path:
    """Return the store folder of an import package (given by name, not imported) or of a path.

    Raises StoreError if the package or its store does not exist.
    """
    if isinstance(package, Path) or "/" in package or "\\" in package:
        folder = Path(package)
        candidates = [folder, folder / STORE_FOLDER]
    else:
        candidates = [folder / STORE_FOLDER for folder in _package_folders(package)]
    for folder in candidates:
        if (folder / KERNELS_FILE).is_file():
            return folder
    if not candidates:
        raise StoreError(str(package), "no wheel or folder here, and no import package installed, has this name")
    where = ", ".join(str(folder) for folder in candidates)
    source = next((folder for folder in candidates if (folder.parent / "__init__.py").is_file()), None)
    raise StoreError(str(package), f"no kernel store here (looked for {KERNELS_FILE} in {where}){_hint(source)}")


def _hint(source: Path | None) -> str:
    if source is None:
        return ""
    from hatch_cuda_kernels.compiler.toolchain.packages import editable_install  # no store is found without it

    return f"; a source tree has none until it is installed: {editable_install(source)}"


def _package_folders(package: str) -> list[Path]:
    """Return where a package's files are; without importing it."""
    module = sys.modules.get(package)
    locations = getattr(module, "__path__", None)
    if locations is None:
        from importlib.util import find_spec  # most callers are the package itself

        try:
            spec = find_spec(package)
        except (ImportError, ValueError):
            return []
        locations = spec.submodule_search_locations if spec is not None else None
    return [Path(location) for location in locations or ()]
