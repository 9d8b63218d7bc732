"""Compares the machine code of two CUBINs, function by function."""

from __future__ import annotations

import struct
from typing import Literal

from hatch_cuda_kernels.compiler.binary.cubin import read_elf

_INSTRUCTION = struct.Struct("<QQ")
#: Where an instruction names a constant: its offset in a bank, and the bank. Addresses of variables are in bank 4.
_OFFSET, _BANK, _ADDRESSES = 0x3FFF << 40, 0x1F << 54, 4 << 54


def code(cubin: bytes) -> dict[str, bytes]:
    """Return the machine code of each function of a CUBIN."""
    elf = read_elf(cubin)
    return {section.name: elf.content(section.name) for section in elf.sections if section.name.startswith(".text.")}


def difference(cubin: bytes, own: bytes) -> Literal["", "addresses", "code"]:
    """Return what sets the machine code of two CUBINs apart: nothing, addresses, or else the code."""
    here, there = code(cubin), code(own)
    if here == there:
        return ""
    if here.keys() != there.keys():
        return "code"
    same = all(without_addresses(here[name]) == without_addresses(there[name]) for name in here)
    return "addresses" if same else "code"


def without_addresses(text: bytes) -> list[tuple[int, int]]:
    """Return instructions with the offsets into the table of variables' addresses blanked."""
    return [
        (low & ~_OFFSET if low & _BANK == _ADDRESSES else low, high) for low, high in _INSTRUCTION.iter_unpack(text)
    ]
