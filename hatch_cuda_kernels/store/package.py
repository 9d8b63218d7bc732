"""Open the store of whatever a user may name: a wheel file, a store folder, a package folder or an import package."""

from __future__ import annotations

import tempfile
import zipfile
import zlib
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.errors import InputError, StoreError
from hatch_cuda_kernels.store.index import KERNELS_FILE, STORE_FOLDER
from hatch_cuda_kernels.store.reader import StoreReader, find_store

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

#: What reading a member of a damaged wheel raises.
UNREADABLE: Final = (OSError, EOFError, RuntimeError, ValueError, zipfile.BadZipFile, zlib.error)
_MODULES: Final = (".py", ".pyc", ".pyd", ".so")
_METHODS: Final = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
#: PyPI refuses what unpacks to more bytes than this, and to so many times its size.
_MUCH: Final = 64 << 20
_MANY_TIMES: Final = 50


@contextmanager
def open_package(package: str) -> Iterator[StoreReader]:
    """Yield the reader of a package's store, which messages call by the name given; a wheel is unpacked for the time.

    Raises InputError for a package without a store, and in place of any StoreError raised while it is open.
    """
    try:
        if package.endswith(".whl"):
            with tempfile.TemporaryDirectory(prefix="hatch-cuda-kernels-") as folder:
                yield StoreReader(_unpack(Path(package), Path(folder)), package)
        else:
            yield StoreReader(_find(package), package)
    except StoreError as error:
        raise InputError(str(error)) from error


def _find(package: str) -> Path:
    """Return the store of a folder, or else of an import package. Raises StoreError if there is none."""
    named = Path(package)
    if any((folder / KERNELS_FILE).is_file() for folder in (named, named / STORE_FOLDER)):
        return find_store(named)
    try:
        return find_store(package)
    except StoreError:
        if named.is_dir():
            return find_store(named)
        raise


def _unpack(wheel: Path, folder: Path) -> Path:
    """Unpack a wheel's store and return its folder. Raises StoreError if there is none."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            names = [name for name in archive.namelist() if f"/{STORE_FOLDER}/" in name]
            for name in names:
                _check_member(archive, name)
            archive.extractall(folder, names)
    except UNREADABLE as error:
        problem = "there is no such file" if isinstance(error, FileNotFoundError) else f"not a wheel: {error}"
        raise StoreError(str(wheel), problem) from error
    listing = next((name for name in names if name.endswith(f"/{STORE_FOLDER}/{KERNELS_FILE}")), None)
    if listing is None:
        raise StoreError(str(wheel), "the wheel has no kernel store")
    return (folder / listing).parent


def modules_of(folder: str, names: Iterable[str]) -> list[str]:
    """Return which files of a wheel are Python modules below a folder; no store has any."""
    below = f"{folder}/" if folder else ""
    inside = (name for name in names if name.startswith(below) and name.endswith(_MODULES))
    return [name for name in inside if f"/{STORE_FOLDER}/" not in name]


def read_member(archive: zipfile.ZipFile, name: str) -> bytes:
    """Return a member of a wheel, whole. Raises one of UNREADABLE if it is damaged, or packed as no wheel is."""
    _check_member(archive, name)
    return archive.read(name)


def is_bomb(size: int, packed: int) -> bool:
    """Return whether nothing but a decompression bomb unpacks to so many bytes."""
    return size > max(_MUCH, _MANY_TIMES * packed)


def _check_member(archive: zipfile.ZipFile, name: str) -> None:
    found = archive.getinfo(name)
    if found.compress_type not in _METHODS:
        message = f"{name} is neither stored nor deflated"
        raise zipfile.BadZipFile(message)
    if is_bomb(found.file_size, found.compress_size):
        message = f"{name} unpacks to {found.file_size:,} bytes, and is a decompression bomb"
        raise zipfile.BadZipFile(message)
