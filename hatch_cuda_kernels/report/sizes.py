"""What files and images cost in a wheel; in a folder or an installed package, on disk."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from hatch_cuda_kernels.store.index import STORE_FOLDER

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

__all__ = ["FileSize", "ImageKey", "add_packed", "file_sizes", "image_shares", "total_size"]


class FileSize(NamedTuple):
    """A file and what it costs: its compressed bytes in a wheel, else its own."""

    path: str
    """With ``/``; that of a store's file contains ``_kernels/``."""
    bytes: int


class ImageKey(NamedTuple):
    """What tells an image from all others of a store."""

    module: str
    arch: str
    kind: str


def file_sizes(package: str, store: Path) -> tuple[FileSize, ...]:
    """Return the files of a wheel; else those of a store, or of the package around it."""
    if package.endswith(".whl"):
        with zipfile.ZipFile(package) as archive:
            return tuple(
                FileSize(file.filename, file.compress_size) for file in archive.infolist() if not file.is_dir()
            )
    around = store.parent if (store.parent / "__init__.py").is_file() else None
    root = around or store
    before = "" if around else f"{STORE_FOLDER}/"
    files = (path for path in sorted(root.rglob("*")) if path.is_file() and "__pycache__" not in path.parts)
    return tuple(FileSize(f"{before}{path.relative_to(root).as_posix()}", path.stat().st_size) for path in files)


def total_size(package: str, files: Iterable[FileSize]) -> int:
    """Return the bytes of the wheel file, or of all files."""
    return Path(package).stat().st_size if package.endswith(".whl") else sum(file.bytes for file in files)


def add_packed(contents: Mapping[str, Any], files: Sequence[FileSize]) -> None:
    """Add ``packed`` to what ``inspect --json`` prints: bytes of the files that an image or a module takes."""
    modules: dict[str, int] = {}
    for file in files:
        _, store, path = f"/{file.path}".rpartition(f"/{STORE_FOLDER}/")
        if store:
            module = path.partition("/")[0]
            modules[module] = modules.get(module, 0) + file.bytes
    for name, module_contents in contents["modules"].items():
        module_contents["packed"] = modules.get(name, 0)
    found = {key: size for images in image_shares(files, contents).values() for key, size in images.items()}
    for key, image in _images(contents):
        image["packed"] = found.get(key, 0)


def image_shares(files: Iterable[FileSize], contents: Mapping[str, Any]) -> dict[str, dict[ImageKey, int]]:
    """Return what each image takes of the file that holds it, by the file's path; together it is the file's size.

    What was compressed together is shared by the images' own sizes. The very bytes of another image cost nothing.
    """
    held: dict[str, dict[ImageKey, float]] = {}
    blocks: dict[tuple[str, int], dict[int, tuple[ImageKey, int]]] = {}
    size_of: dict[tuple[str, int], int] = {}
    for key, image in _images(contents):
        stored = image.get("stored")
        if stored is None:
            held[f"{key.module}/{image['file']}"] = {key: 1}
        elif stored["size"]:
            block = stored["file"], stored["at"]
            size_of[block] = stored["size"]
            blocks.setdefault(block, {}).setdefault(stored["skip"], (key, image["bytes"]))
    for block, inside in blocks.items():
        total = sum(size for _, size in inside.values()) or 1
        held.setdefault(block[0], {}).update({key: size_of[block] * size / total for key, size in inside.values()})
    shares = {}
    for file in files:
        _, store, path = f"/{file.path}".rpartition(f"/{STORE_FOLDER}/")
        if store and path in held:
            shares[file.path] = dict(_whole(held[path], file.bytes))
    return shares


def _whole(weights: Mapping[ImageKey, float], total: int) -> Iterator[tuple[ImageKey, int]]:
    """Yield whole parts of a total, in proportion; their sum is the total."""
    scale, passed, given = total / (sum(weights.values()) or 1), 0.0, 0
    for key, weight in weights.items():
        passed += weight * scale
        yield key, round(passed) - given
        given = round(passed)


def _images(contents: Mapping[str, Any]) -> Iterator[tuple[ImageKey, dict[str, Any]]]:
    for name, module in contents["modules"].items():
        for image in module["images"]:
            yield ImageKey(name, image["arch"], image["kind"]), image
