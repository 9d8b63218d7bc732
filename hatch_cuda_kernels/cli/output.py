"""What the commands share: JSON on request, and the way to open a store, a wheel or a package."""

from __future__ import annotations

import json
import tempfile
import zipfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from hatch_cuda_kernels.errors import InputError, StoreError
from hatch_cuda_kernels.store.index import KERNELS_FILE, STORE_FOLDER

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from hatch_cuda_kernels.runtime.store import Store

__all__ = ["add_json", "open_any", "print_json"]


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add ``--json``."""
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")


def print_json(data: object) -> None:
    """Print data as indented JSON."""
    print(json.dumps(data, indent=2))


@contextmanager
def open_any(package: str) -> Iterator[Store]:
    """Yield the store of a wheel file, a folder or an import package. Raises InputError when there is none."""
    from hatch_cuda_kernels.runtime.store import open_store  # one command needs it, others do not

    try:
        if package.endswith(".whl"):
            with tempfile.TemporaryDirectory(prefix="hatch-cuda-kernels-") as folder:
                store = open_store(_unpack(Path(package), Path(folder)))
                _ = store.path  # found before the store is renamed to what messages should call it
                store.package = package
                yield store
        else:
            yield _open(package)
    except StoreError as error:
        raise InputError(str(error)) from error


def _open(package: str) -> Store:
    """Return the store of a folder, or else of an import package. Raises StoreError."""
    from hatch_cuda_kernels.runtime.store import open_store  # one command needs it, others do not

    named = Path(package)
    if (named / KERNELS_FILE).is_file() or (named / STORE_FOLDER / KERNELS_FILE).is_file():
        return open_store(named)
    store = open_store(package)
    _ = store.path
    return store


def _unpack(wheel: Path, folder: Path) -> Path:
    """Unpack a wheel's store and return its folder."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            names = [name for name in archive.namelist() if f"/{STORE_FOLDER}/" in name]
            archive.extractall(folder, names)
    except (OSError, zipfile.BadZipFile) as error:
        raise StoreError(str(wheel), f"not a wheel: {error}") from error
    listing = next((name for name in names if name.endswith(f"/{STORE_FOLDER}/{KERNELS_FILE}")), None)
    if listing is None:
        raise StoreError(str(wheel), "the wheel has no kernel store")
    return (folder / listing).parent
