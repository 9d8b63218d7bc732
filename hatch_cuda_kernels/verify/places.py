"""Where a store keeps its images: each is once where a build puts it, and a pack holds nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hatch_cuda_kernels.names import build_order
from hatch_cuda_kernels.problem import Problem
from hatch_cuda_kernels.store.image_record import Stored
from hatch_cuda_kernels.store.pack import PACK_FILE, unpack_whole
from hatch_cuda_kernels.store.packing import NewImage, blocks
from hatch_cuda_kernels.verify.subject import REBUILD

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hatch_cuda_kernels.verify.subject import StoredImage, Subject

__all__ = ["place_problems"]


def place_problems(subject: Subject) -> Iterator[Problem]:
    """Yield a problem for each image that is not where a build puts it, and for what else a pack holds.

    Where an image or an index cannot be read, other checks say so, and places are not told.
    """
    if subject.unread or any(image.data is None for image in subject.images):
        return
    places: dict[str, Stored] = {}
    for module in sorted((index.module for index in subject.modules), key=build_order):
        new = _new(subject, module, places)
        pack = f"{module}/{PACK_FILE}"
        if any(image.record.stored and image.record.stored.file == pack for image in new.values()):
            yield from _pack_problems(subject, pack, [*new.values()], places)
        else:
            places |= {sha256: Stored(f"{module}/{image.record.file}") for sha256, image in new.items()}
    for image in subject.images:
        own = Stored(f"{image.index.module}/{image.record.file}")
        place = places[image.record.sha256]
        if image.record.stored != (None if place == own else place):
            yield image.problem(f"the index says that it is elsewhere than a build puts it: {place.file}")


def _new(subject: Subject, module: str, places: dict[str, Stored]) -> dict[str, StoredImage]:
    """Return a module's images that no module before has, by digest."""
    new: dict[str, StoredImage] = {}
    for image in subject.module_images(module):
        if image.record.sha256 not in places:
            new.setdefault(image.record.sha256, image)
    return new


def _pack_problems(
    subject: Subject, pack: str, images: Sequence[StoredImage], places: dict[str, Stored]
) -> Iterator[Problem]:
    """Note the place of each image of a pack, and yield what is in the pack besides."""
    data, at = (subject.reader.folder / pack).read_bytes(), 0
    for block in blocks(NewImage(image.record, image.data or b"") for image in images):
        stored = block[0].record.stored
        size, skip = stored.size if stored else 0, 0
        for record, image in block:
            places[record.sha256] = Stored(pack, at, size, skip)
            skip += len(image)
        if unpack_whole(data[at : at + size], skip) is None:
            yield Problem(f"the block at {at} of {pack} does not hold its images and nothing else", REBUILD)
        at += size
    if at != len(data):
        yield Problem(f"{pack} has {len(data) - at} bytes that belong to no image", REBUILD)
