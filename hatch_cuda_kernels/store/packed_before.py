"""The packs of the store that a build replaces: a block of images that did not change is not compressed again."""

from __future__ import annotations

import json
from collections import defaultdict
from itertools import accumulate
from typing import TYPE_CHECKING

from hatch_cuda_kernels.digest import sha256
from hatch_cuda_kernels.store.index import INDEX_FILE, ModuleIndex, module_names
from hatch_cuda_kernels.store.pack import pack_block, unpack_whole

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path
    from typing import TypeAlias

    from hatch_cuda_kernels.store.image_record import ImageRecord, Stored

    #: Packed blocks, each by the digests of its images in their order.
    Blocks: TypeAlias = Mapping[tuple[str, ...], bytes]

__all__ = ["packed_before"]


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
    except (OSError, ValueError, ImportError):
        return {}


def _holds(block: bytes, images: list[ImageRecord]) -> bool:
    data = unpack_whole(block, _unpacked(images))
    if data is None:
        return False
    ends = accumulate(record.bytes for record in images)
    parts = [data[end - record.bytes : end] for record, end in zip(images, ends, strict=True)]
    return [sha256(part).hexdigest() for part in parts] == [record.sha256 for record in images]


def _blocks(store: Path) -> Iterator[tuple[Stored, list[ImageRecord]]]:
    """Yield where each block is, and its images in their order."""
    blocks: defaultdict[Stored, dict[int, ImageRecord]] = defaultdict(dict)
    for name in module_names(store):
        index = ModuleIndex.from_json(json.loads((store / name / INDEX_FILE).read_bytes()))
        for record in index.images:
            if record.stored is not None and record.stored.size:
                blocks[record.stored._replace(skip=0)][record.stored.skip] = record
    for place, images in blocks.items():
        yield place, [images[skip] for skip in sorted(images)]


def _unpacked(images: list[ImageRecord]) -> int:
    return sum(record.bytes for record in images)


def _read(store: Path, place: Stored) -> bytes:
    with (store / place.file).open("rb") as pack:
        pack.seek(place.at)
        return pack.read(place.size)


def _is_ours(block: bytes, size: int) -> bool:
    """Return whether this process packs a block's images to the same bytes."""
    data = unpack_whole(block, size)
    return data is not None and pack_block(data) == block
