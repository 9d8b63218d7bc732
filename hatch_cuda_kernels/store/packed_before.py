"""The packs of the store that a build replaces: a block of images that did not change is not compressed again."""

from __future__ import annotations

import json
from collections import defaultdict
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from hatch_cuda_kernels.digest import sha256
from hatch_cuda_kernels.shape import check_shape
from hatch_cuda_kernels.store.image_record import Stored
from hatch_cuda_kernels.store.index import INDEX_FILE, module_names
from hatch_cuda_kernels.store.pack import pack_block, unpack_whole
from hatch_cuda_kernels.store.shapes import PLACES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path
    from typing import TypeAlias

    #: Packed blocks, each by the digests of its images in their order.
    Blocks: TypeAlias = Mapping[tuple[str, ...], bytes]

__all__ = ["packed_before"]


class _Packed(NamedTuple):
    """An image of a block."""

    sha256: str
    bytes: int


def packed_before(store: Path) -> Blocks:
    """Return the packed blocks of a store; none where there is no store, it is damaged, or other code packed it.

    Each was unpacked, and holds the images whose digests are told, and nothing else.
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
