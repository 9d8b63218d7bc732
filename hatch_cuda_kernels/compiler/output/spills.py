"""How many bytes a function spills, from its machine code: ptxas marks each load and store that it added for that.

The marks are pairs of a kind and an offset in the code. What an instruction moves is in its encoding: measured against
ptxas's own report on ptxas 12.9 and 13.0, sm_50 to sm_121.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Spills", "count_spills"]

_MARK: Final = struct.Struct("<II")
_SPILL: Final = 1
_WORD: Final = struct.Struct("<Q")
#: From sm_70 on an instruction has 128 bits.
_FIRST_128_BIT: Final = 70
#: Operation codes of LDL and STL. The bits above them tell the operands' form.
_LOAD_128, _STORE_128 = 0x183, 0x187
_LOAD_64, _STORE_64 = 0xEF4, 0xEF5
#: Bytes by the three bits of an access's size: 8-bit twice (unsigned, signed), 16-bit twice, 32, 64, 128.
_BYTES: Final = (1, 1, 2, 2, 4, 8, 16, 0)


class Spills(NamedTuple):
    """Bytes a thread stores and loads because the registers do not suffice, each instruction counted once."""

    stores: int = 0
    loads: int = 0

    def __add__(self, other: object) -> Spills:
        if not isinstance(other, Spills):
            return NotImplemented
        return Spills(self.stores + other.stores, self.loads + other.loads)


def count_spills(marks: Iterable[bytes], code: bytes, sm: int) -> Spills:
    """Return what the marks of one function's code come to. Raises struct.error for an offset outside of it."""
    stores = loads = 0
    for mark in marks:
        for kind, offset in _MARK.iter_unpack(mark):
            if kind == _SPILL:
                is_store, size = _access(code, offset, sm)
                stores += size * is_store
                loads += size * (not is_store)
    return Spills(stores, loads)


def _access(code: bytes, offset: int, sm: int) -> tuple[bool, int]:
    """Return whether an instruction stores, and its bytes; none for an instruction that moves no local memory."""
    (low,) = _WORD.unpack_from(code, offset)
    if sm < _FIRST_128_BIT:
        operation, size = low >> 52, low >> 48 & 7
        known = operation in {_LOAD_64, _STORE_64}
        return operation == _STORE_64, _BYTES[size] if known else 0
    (high,) = _WORD.unpack_from(code, offset + _WORD.size)
    operation, size = low & 0x1FF, high >> 9 & 7
    known = operation in {_LOAD_128, _STORE_128}
    return operation == _STORE_128, _BYTES[size] if known else 0
