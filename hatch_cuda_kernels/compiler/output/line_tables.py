"""Line tables of a CUBIN, of which each names files: DWARF 2 and 3, section 6.2.4."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.compiler.output.elf import read_elf

if TYPE_CHECKING:
    from hatch_cuda_kernels.compiler.output.elf import Section

__all__ = ["without_times"]

_SECTIONS: Final = frozenset({".debug_line", ".nv_debug_line_sass"})
#: Length of what follows, version, length of the header, four numbers, and one more than there are lengths of opcodes.
_START: Final = struct.Struct("<IHIBBbBB")
_LENGTH: Final = 4
_VERSIONS: Final = range(2, 4)
_MORE: Final = 0x80


def without_times(cubin: bytes) -> bytes:
    """Return a CUBIN in which no file has a time: ptxas and nvJitLink write that of each file that they find."""
    if not any(name.encode() in cubin for name in _SECTIONS):
        return cubin
    data = bytearray(cubin)
    for section in read_elf(cubin).sections:
        if section.name in _SECTIONS:
            _clear_times(data, section)
    return bytes(data)


def _clear_times(data: bytearray, section: Section) -> None:
    start, end = section.offset, section.offset + section.size
    while start < end:
        length, version, *_, opcodes = _START.unpack_from(data, start)
        if version in _VERSIONS:
            folders = start + _START.size + opcodes - 1
            place = _after_folders(data, folders)
            while data[place]:
                time = _after_number(data, data.index(0, place) + 1)  # behind the name, and the number of the folder
                place = _after_number(data, time)
                data[time:place] = b"\x80" * (place - time - 1) + b"\0"  # zero, in as many bytes
                place = _after_number(data, place)  # the file's size
        start += _LENGTH + length


def _after_folders(data: bytearray, place: int) -> int:
    while data[place]:
        place = data.index(0, place) + 1
    return place + 1


def _after_number(data: bytearray, place: int) -> int:
    """Return where a number of 7 bits a byte ends (LEB128)."""
    while data[place] & _MORE:
        place += 1
    return place + 1
