"""Packs: several images compressed together, in blocks that are each unpacked on their own.

A pack is a file of .xz streams, one per block. Neighbouring architectures' images are much alike, so a block is far
smaller than its images are apart; ``docs/explanation/packing.md`` has the measurements behind the numbers here.
"""

from __future__ import annotations

from typing import Any, Final

__all__ = ["BLOCK_BYTES", "PACK_FILE", "pack_block", "unpack_block", "unpack_whole"]

PACK_FILE: Final = "images.xz"
#: Most bytes of images in a block; an image that is larger has a block of its own. What a reader unpacks is bounded.
BLOCK_BYTES: Final = 1 << 20
#: More than any block written here needs; a damaged pack may ask for gigabytes.
_UNPACKING_MEMORY: Final = 64 << 20


def pack_block(data: bytes) -> bytes:
    """Return a block. Raises ModuleNotFoundError where this Python has no lzma."""
    import lzma  # only for packed stores, and not every Python has it

    # Preset 6 with a cheaper search (half the time, 4 % larger), and contexts for machine code: its instructions have 8
    # or 16 bytes.
    search: dict[str, Any] = {"mf": lzma.MF_HC4, "nice_len": 24, "depth": 8, "pb": 3, "lc": 1}
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 6, "dict_size": BLOCK_BYTES, **search}]
    return lzma.compress(data, lzma.FORMAT_XZ, check=lzma.CHECK_NONE, filters=filters)  # images have their digest


def unpack_block(block: bytes, size: int) -> bytes:
    """Return the first ``size`` bytes of a block's images. Raises ValueError where the block does not hold them."""
    try:
        import lzma  # as above
    except ImportError as error:
        raise ValueError(f"this Python cannot unpack it, because it has no lzma module ({error})") from error
    try:
        data = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_UNPACKING_MEMORY).decompress(block, size)
    except (lzma.LZMAError, EOFError, MemoryError) as error:
        raise ValueError(f"the pack is damaged ({error}); reinstall the package") from error
    if len(data) != size:
        raise ValueError("the pack is damaged (a block ends early); reinstall the package")
    return data


def unpack_whole(block: bytes, size: int) -> bytes | None:
    """Return a block's images; None unless it holds exactly ``size`` bytes of them, and nothing comes after it."""
    import lzma  # as above

    unpacker = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_UNPACKING_MEMORY)
    try:
        data = unpacker.decompress(block, size + 1)
    except (lzma.LZMAError, EOFError, MemoryError):
        return None
    return data if len(data) == size and unpacker.eof and not unpacker.unused_data else None
