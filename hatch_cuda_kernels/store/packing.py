"""Where the images of a store go: each into a file, or packed together; identical images are stored once.

A pack is a file of .xz streams, one per block. The images of neighbouring architectures are much alike, so a block is
far smaller than its images are apart; ``docs/explanation/packing.md`` has the measurements behind the numbers here. A
block of the store that a build replaces is not compressed again if its images did not change.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from hatch_cuda_kernels.digest import sha256
from hatch_cuda_kernels.errors import BuildError
from hatch_cuda_kernels.shape import check_shape
from hatch_cuda_kernels.store.index import INDEX_FILE, PLACES, Stored, module_names
from hatch_cuda_kernels.store.reader import unpack_whole

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path
    from typing import TypeAlias

    from hatch_cuda_kernels.store.index import ImageRecord
    from hatch_cuda_kernels.store.module import BuiltModule

    #: Packed blocks, each by the digests of its images in their order.
    Blocks: TypeAlias = Mapping[tuple[str, ...], bytes]

PACK_FILE: Final = "images.xz"
#: Most bytes of images in a block; a larger image is alone in its block. So what a reader unpacks is bounded.
BLOCK_BYTES: Final = 1 << 20
#: ``packing: auto`` packs a module whose images have this many bytes; a smaller one would save less than some 10 KB.
_WORTH_PACKING: Final = 32 << 10


def pack_block(data: bytes) -> bytes:
    """Return a block. Raises ModuleNotFoundError where this Python has no lzma."""
    import lzma  # only for packed stores, and not every Python has it

    # Preset 6 with a cheaper search (half the time, 4 % larger), and contexts for machine code: its instructions have 8
    # or 16 bytes.
    search: dict[str, Any] = {"mf": lzma.MF_HC4, "nice_len": 24, "depth": 8, "pb": 3, "lc": 1}
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 6, "dict_size": BLOCK_BYTES, **search}]
    return lzma.compress(data, lzma.FORMAT_XZ, check=lzma.CHECK_NONE, filters=filters)  # images have their digest


class LaidOut(NamedTuple):
    """What a module's folder holds of its images, and the index's records of them."""

    images: tuple[ImageRecord, ...]
    files: dict[str, bytes]


class NewImage(NamedTuple):
    """An image whose bytes no module before has, in the order of the build."""

    record: ImageRecord
    data: bytes


def lay_out(modules: Sequence[BuiltModule], before: Blocks, *, may_pack: bool = True) -> list[LaidOut]:
    """Return the layout of each module, ordered as given. An image equal to an earlier one is not stored again.

    ``before`` has blocks that need not be packed again, by the digests of what they hold. Raises BuildError where
    something is to be packed and this Python has no lzma.
    """
    taken: set[str] = set()
    new = [list(_first_seen(built, taken)) for built in modules]
    with ThreadPoolExecutor(os.cpu_count()) as threads:  # lzma runs without the GIL
        laid = list(threads.map(lambda built, images: _store(built, images, before, may_pack=may_pack), modules, new))
    places = {sha256: place for _, stored in laid for sha256, place in stored.items()}
    return [
        LaidOut(tuple(_placed(record, places[record.sha256], built) for record in built.images), files)
        for built, (files, _) in zip(modules, laid, strict=True)
    ]


def _first_seen(built: BuiltModule, taken: set[str]) -> Iterator[NewImage]:
    for record, entry in zip(built.images, built.entries, strict=True):
        if record.sha256 not in taken:
            taken.add(record.sha256)
            yield NewImage(record, entry.image)


def _placed(record: ImageRecord, place: Stored, built: BuiltModule) -> ImageRecord:
    own = Stored(f"{built.name}/{record.file}")
    return record if place == own else record._replace(stored=place)


def _store(
    built: BuiltModule, images: list[NewImage], before: Blocks, *, may_pack: bool
) -> tuple[dict[str, bytes], dict[str, Stored]]:
    """Return a module's files, and where each of the images is in the store, by digest."""
    name = built.name
    if not may_pack or not _is_packed(built.packing, images):
        files = {record.file: data for record, data in images}
        return files, {record.sha256: Stored(f"{name}/{record.file}") for record, _ in images}
    try:
        return _pack(f"{name}/{PACK_FILE}", images, before)
    except ImportError as error:
        message = f"this Python cannot pack images, because it has no lzma module ({error}); set packing: none"
        raise BuildError([f"{built.where}: {message}"]) from error


def _is_packed(packing: str, images: Sequence[NewImage]) -> bool:
    if packing == "auto":
        return len(images) > 1 and sum(len(image.data) for image in images) >= _WORTH_PACKING
    return packing == "solid" and bool(images)


def _pack(file: str, images: Iterable[NewImage], before: Blocks) -> tuple[dict[str, bytes], dict[str, Stored]]:
    pack = b""
    places = {}
    for block in blocks(images):
        packed = _packed(block, before)
        skip = 0
        for record, data in block:
            places[record.sha256] = Stored(file, len(pack), len(packed), skip)
            skip += len(data)
        pack += packed
    return {PACK_FILE: pack}, places


def _packed(block: list[NewImage], before: Blocks) -> bytes:
    packed = before.get(tuple(image.record.sha256 for image in block))
    return pack_block(b"".join(image.data for image in block)) if packed is None else packed


def blocks(images: Iterable[NewImage]) -> Iterator[list[NewImage]]:
    """Yield the images of each block of a pack, in the order in which they stand there."""
    block: list[NewImage] = []
    size = 0
    # CUBINs ascending by architecture, then LTO-IR or PTX: images that are alike pack well together.
    for image in sorted(images, key=lambda image: image.record.kind):
        if block and size + len(image.data) > BLOCK_BYTES:
            yield block
            block, size = [], 0
        block.append(image)
        size += len(image.data)
    if block:
        yield block


class _Packed(NamedTuple):
    """An image of a block."""

    sha256: str
    bytes: int


def read_blocks(store: Path) -> Blocks:
    """Return the packed blocks of a store; none where there is no store, it is damaged, or other code packed it.

    Each was unpacked: it holds the images that have these digests, and nothing else.
    """
    try:
        found = [(_read(store, place), images) for place, images in _blocks(store)]
        packed = {tuple(record.sha256 for record in images): block for block, images in found if _holds(block, images)}
        # Another liblzma, or other settings, may pack the same images to other bytes than a build into an empty folder.
        block, images = min(found, key=lambda one: _unpacked(one[1]), default=(b"", []))
        return packed if images and _is_ours(block, _unpacked(images)) else {}
    except (OSError, ValueError, ImportError, RecursionError):
        return {}


def _holds(block: bytes, images: list[_Packed]) -> bool:
    data = unpack_whole(block, _unpacked(images))
    if data is None:
        return False
    ends = accumulate(record.bytes for record in images)
    parts = [data[end - record.bytes : end] for record, end in zip(images, ends, strict=True)]
    return [sha256(part).hexdigest() for part in parts] == [record.sha256 for record in images]


def _blocks(store: Path) -> Iterator[tuple[Stored, list[_Packed]]]:
    """Yield where each block is, and its images in their order."""
    blocks: defaultdict[Stored, dict[int, _Packed]] = defaultdict(dict)
    for name in module_names(store):
        index = json.loads((store / name / INDEX_FILE).read_bytes())
        check_shape(index, PLACES)
        for image in index["images"]:
            stored = image.get("stored")
            if stored is not None and stored["size"]:
                place = Stored(stored["file"], stored["at"], stored["size"])
                blocks[place][stored["skip"]] = _Packed(image["sha256"], image["bytes"])
    for place, images in blocks.items():
        yield place, [images[skip] for skip in sorted(images)]


def _unpacked(images: list[_Packed]) -> int:
    return sum(record.bytes for record in images)


def _read(store: Path, place: Stored) -> bytes:
    with (store / place.file).open("rb") as pack:
        pack.seek(place.at)
        return pack.read(place.size)


def _is_ours(block: bytes, size: int) -> bool:
    """Return whether this process packs a block's images to the same bytes."""
    data = unpack_whole(block, size)
    return data is not None and pack_block(data) == block
