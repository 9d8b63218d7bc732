"""``max_wheel_size``: how large a wheel is, and which images take most of it."""

from __future__ import annotations

import json
import zlib
from typing import TYPE_CHECKING, Final, NamedTuple

from hatch_cuda_kernels.errors import BuildError
from hatch_cuda_kernels.store.index import INDEX_FILE, STORE_FOLDER, ModuleIndex

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from hatch_cuda_kernels.store.image_record import ImageRecord

__all__ = ["check_store", "check_wheel"]

_LISTED: Final = 8
#: Bytes of a file's two headers in a zip archive, without its name.
_ZIP_HEADERS: Final = 76


class _Share(NamedTuple):
    """What one image adds to a wheel, in bytes."""

    bytes: int
    module: str
    image: ImageRecord


def check_store(files: Mapping[str, bytes], limit: int) -> None:
    """Raise BuildError, with the largest images, if a store's files would take more than ``limit`` bytes of a wheel."""
    sizes = {name: _in_a_wheel(name, data) for name, data in files.items()}
    _check("the kernel store would take", sum(sizes.values()), limit, sizes, files.__getitem__)


def check_wheel(wheel: Path, limit: int) -> None:
    """Raise BuildError, with the largest images, if a wheel has more than ``limit`` bytes."""
    import zipfile  # a build without a wheel needs none of it

    with zipfile.ZipFile(wheel) as archive:
        inside = {name.partition(f"/{STORE_FOLDER}/")[2]: name for name in archive.namelist()}
        sizes = {name: archive.getinfo(path).compress_size for name, path in inside.items() if name}
        size = wheel.stat().st_size
        _check(f"{wheel.name} has", size, limit, sizes, lambda name: archive.read(inside[name]))


def _in_a_wheel(name: str, data: bytes) -> int:
    """Return how many bytes of the wheel hatchling makes of a file."""
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return len(packer.compress(data) + packer.flush()) + _ZIP_HEADERS + 2 * len(name)


def _check(what: str, size: int, limit: int, sizes: Mapping[str, int], read: Callable[[str], bytes]) -> None:
    if size <= limit:
        return
    indices = [
        ModuleIndex.from_json(json.loads(read(name))) for name in sorted(sizes) if name.endswith(f"/{INDEX_FILE}")
    ]
    shares = sorted(_shares(indices, sizes), key=lambda share: share.bytes, reverse=True)
    advice = (
        "to fix: fewer architectures or instances, PTX in place of a CUBIN, no lineinfo or debug"
        f"{'' if all(share.image.stored for share in shares) else ', packing: solid'}, or a larger max_wheel_size"
    )
    listed = [f"{share.module} {share.image.arch} {share.image.kind}: {share.bytes:,}" for share in shares[:_LISTED]]
    more = [f"and {len(shares) - _LISTED} more"] if len(shares) > _LISTED else []
    message = f"{what} {size:,} bytes, {size - limit:,} more than max_wheel_size allows; the largest images in it:"
    raise BuildError(["\n  ".join([message, *listed, *more, advice])])


def _shares(indices: Sequence[ModuleIndex], sizes: Mapping[str, int]) -> Iterator[_Share]:
    """Yield each stored image with its share of the bytes; images of a block share it by their unpacked sizes."""
    blocks: dict[tuple[str, int], dict[str, int]] = {}
    for _, image in _images(indices):
        if image.stored and image.stored.size:
            blocks.setdefault((image.stored.file, image.stored.at), {})[image.sha256] = image.bytes
    counted = set()
    for module, image in _images(indices):
        if image.sha256 in counted:
            continue
        counted.add(image.sha256)
        stored = image.stored
        if stored and stored.size:
            block = blocks[stored.file, stored.at]
            yield _Share(stored.size * image.bytes // sum(block.values()), module, image)
        else:
            yield _Share(sizes[stored.file if stored else f"{module}/{image.file}"], module, image)


def _images(indices: Sequence[ModuleIndex]) -> Iterator[tuple[str, ImageRecord]]:
    for index in indices:
        for image in index.images:
            yield index.module, image
