"""The container of a CUBIN: a 64-bit little-endian ELF file, its sections and symbols, checked to lie inside it."""

from __future__ import annotations

import struct
from typing import Final, NamedTuple

__all__ = ["Elf", "Section", "SymbolRow", "read_elf"]

_HEADER: Final = struct.Struct("<4sBBxxB7x2HIQQQI6H")
_SECTION: Final = struct.Struct("<IIQQQQIIQQ")
_SYMBOL: Final = struct.Struct("<IBBHQQ")

_LITTLE_64BIT: Final = (2, 1)
_MACHINE_CUDA: Final = 190
_SYMBOL_TABLE: Final = 2
#: ``SHT_NOBITS``, and NVIDIA's kinds of sections that have a size and no bytes: global, local and shared variables
#: (``cuobjdump --dump-elf`` of relocatable objects shows them behind the file's end).
_NO_BITS: Final = frozenset({8, 0x70000007, 0x70000009, 0x7000000A, 0x70000015})


class Section(NamedTuple):
    """One section: where its bytes are, and the section it refers to."""

    name: str
    kind: int
    offset: int
    size: int
    link: int


class SymbolRow(NamedTuple):
    """One row of the symbol table, as it stands there."""

    name: str
    info: int
    other: int
    section: int
    size: int


class Elf(NamedTuple):
    """One file."""

    data: bytes
    kind: int
    """``e_type``: 1 for a file that still has to be linked, 2 for one that can be loaded."""
    abi: int
    flags: int
    sections: tuple[Section, ...]
    symbols: tuple[SymbolRow, ...]

    def section(self, name: str) -> Section | None:
        """Return the first section of a name, or None."""
        return next((section for section in self.sections if section.name == name), None)

    def content(self, section: Section | None) -> bytes:
        """Return a section's bytes; none for a missing one, and for one that has a size only."""
        if section is None or section.kind in _NO_BITS:
            return b""
        return self.data[section.offset : section.offset + section.size]


def read_elf(data: bytes) -> Elf:
    """Read the file. Raises ValueError, with the reason, or struct.error, IndexError or UnicodeDecodeError."""
    if data[:4] != b"\x7fELF":
        raise ValueError("not a CUBIN: no ELF header")
    header = _HEADER.unpack_from(data)
    (
        _,
        width,
        order,
        abi,
        kind,
        machine,
        _,
        _,
        programs,
        start,
        flags,
        _,
        program,
        programs_count,
        entry,
        count,
        names,
    ) = header
    if (width, order) != _LITTLE_64BIT or machine != _MACHINE_CUDA or entry != _SECTION.size:
        raise ValueError("not a CUBIN: an ELF file for another machine")
    table = data[start : start + count * entry]
    if len(table) != count * entry or programs + programs_count * program > len(data):
        raise ValueError("damaged CUBIN: a header table ends past the file")
    raw = list(_SECTION.iter_unpack(table))
    for _, form, _, _, offset, size, *_ in raw:
        if form not in _NO_BITS and offset + size > len(data):
            raise ValueError("damaged CUBIN: a section ends past the file")
    strings = _Strings(data, raw[names][4], raw[names][5])
    sections = tuple(Section(strings[fields[0]], fields[1], *fields[4:7]) for fields in raw)
    return Elf(data, kind, abi, flags, sections, tuple(_symbols(data, sections)))


class _Strings:
    """One string table."""

    def __init__(self, data: bytes, offset: int, size: int) -> None:
        self.bytes = data[offset : offset + size]

    def __getitem__(self, offset: int) -> str:
        end = self.bytes.find(b"\0", offset)
        if end < 0:
            raise ValueError("damaged CUBIN: a name ends past its table")
        return self.bytes[offset:end].decode()


def _symbols(data: bytes, sections: tuple[Section, ...]) -> list[SymbolRow]:
    table = next((section for section in sections if section.kind == _SYMBOL_TABLE), None)
    if table is None:
        raise ValueError("damaged CUBIN: no symbol table")
    names = sections[table.link]
    strings = _Strings(data, names.offset, names.size)
    rows = _SYMBOL.iter_unpack(data[table.offset : table.offset + table.size])
    return [SymbolRow(strings[name], info, other, section, size) for name, info, other, section, _, size in rows]
