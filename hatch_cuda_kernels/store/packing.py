"""Where the images of a store go: each into a file, or packed together; identical images are stored once."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final, NamedTuple

from hatch_cuda_kernels.errors import BuildError
from hatch_cuda_kernels.store.image_record import Stored
from hatch_cuda_kernels.store.pack import BLOCK_BYTES, PACK_FILE, pack_block

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from hatch_cuda_kernels.store.built import BuiltModule
    from hatch_cuda_kernels.store.image_record import ImageRecord
    from hatch_cuda_kernels.store.packed_before import Blocks

__all__ = ["LaidOut", "NewImage", "blocks", "lay_out"]

#: ``packing: auto`` packs a module whose images have this many bytes; a smaller one would save less than some 10 KB.
_WORTH_PACKING: Final = 32 << 10


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
    # CUBINs ascending by architecture, then LTO-IR or PTX: the closer the kin, the better they pack.
    for image in sorted(images, key=lambda image: image.record.kind):
        if block and size + len(image.data) > BLOCK_BYTES:
            yield block
            block, size = [], 0
        block.append(image)
        size += len(image.data)
    if block:
        yield block
