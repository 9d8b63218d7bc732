"""What files and images cost: in a wheel, compressed bytes; in a folder or an installed package, bytes on disk."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from hatch_cuda_kernels.arch import SmArch
from hatch_cuda_kernels.image import ImageId
from hatch_cuda_kernels.store.index import STORE_FOLDER

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

__all__ = ["FileSize", "add_packed", "file_sizes", "image_id", "image_shares", "listed_images", "total_size"]


class FileSize(NamedTuple):
    """A file and what it costs: its compressed bytes in a wheel, otherwise its size on disk."""

    path: str
    """Posix; the path of a store's file contains ``_kernels/``."""
    bytes: int


def file_sizes(package: str, store: Path) -> tuple[FileSize, ...]:
    """Return the files of a wheel, or else those of a store or of the package around it."""
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
    """Return the size of the wheel file, or of all files together."""
    return Path(package).stat().st_size if package.endswith(".whl") else sum(file.bytes for file in files)


def add_packed(contents: Mapping[str, Any], files: Sequence[FileSize]) -> None:
    """Add ``packed`` to what ``inspect --json`` prints: the bytes that an image or a module takes of the files."""
    modules: dict[str, int] = {}
    for file in files:
        _, store, path = f"/{file.path}".rpartition(f"/{STORE_FOLDER}/")
        if store:
            module = path.partition("/")[0]
            modules[module] = modules.get(module, 0) + file.bytes
    for name, module_contents in contents["modules"].items():
        module_contents["packed"] = modules.get(name, 0)
    found = {key: size for images in image_shares(files, contents).values() for key, size in images.items()}
    for key, image in listed_images(contents):
        image["packed"] = found.get(key, 0)


def image_shares(files: Iterable[FileSize], contents: Mapping[str, Any]) -> dict[str, dict[ImageId, int]]:
    """Return what each image takes of the file that holds it, by the file's path; the shares add up to the file's size.

    Images that are compressed together share a block in proportion to their sizes. An image whose bytes are those of
    another one costs nothing.
    """
    held: dict[str, dict[ImageId, float]] = {}
    blocks: dict[tuple[str, int], dict[int, tuple[ImageId, int]]] = {}
    size_of: dict[tuple[str, int], int] = {}
    for key, image in listed_images(contents):
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


def _whole(weights: Mapping[ImageId, float], total: int) -> Iterator[tuple[ImageId, int]]:
    """Yield integer parts of a total, in proportion to the weights; their sum is the total."""
    scale, passed, given = total / (sum(weights.values()) or 1), 0.0, 0
    for key, weight in weights.items():
        passed += weight * scale
        yield key, round(passed) - given
        given = round(passed)


def listed_images(contents: Mapping[str, Any]) -> Iterator[tuple[ImageId, dict[str, Any]]]:
    """Yield every image that ``inspect --json`` prints, with what it is called."""
    for name, module in contents["modules"].items():
        for image in module["images"]:
            yield image_id(name, image), image


def image_id(module: str, image: Mapping[str, Any]) -> ImageId:
    """Return what an image is called, from its JSON. Raises KeyError or ValueError for anything else."""
    return ImageId(module, SmArch.parse(image["arch"]), image["kind"])
