"""Object files: their sections, what they define and lack, and line tables without the times of files."""

from __future__ import annotations

import re
import struct
from typing import Final, NamedTuple

_HEADER: Final = struct.Struct("<4sBBxxB7x2HIQQQI6H")
_SECTION: Final = struct.Struct("<IIQQQQIIQQ")
_SYMBOL: Final = struct.Struct("<IBBHQQ")

_LITTLE_64BIT: Final = (2, 1)
_MACHINE_CUDA: Final = 190
_SYMBOL_TABLE: Final = 2
#: ``SHT_NOBITS``, and NVIDIA's kinds of sections that have a size and no bytes: global, local and shared variables
#: (``cuobjdump --dump-elf`` of relocatable objects shows them behind the file's end).
_NO_BITS: Final = frozenset({8, 0x70000007, 0x70000009, 0x7000000A, 0x70000015})
#: Types of symbols: functions, and variables as relocatable files mark them.
_LINKED: Final = frozenset({1, 2, 13})
_UNDEFINED: Final = 0  # the section
_KINDS: Final = r"\.(visible|extern|weak) \.(?:entry|global|const|func(?:\s*\(\.param[^)]*\))?)"
_PTX: Final = re.compile(rf"^{_KINDS}[^;={{(\n]*?([A-Za-z_$][\w$]*)(?:\[\d*\])*\s*(?:[;={{(]|$)", re.MULTILINE)
_SECTIONS: Final = frozenset({".debug_line", ".nv_debug_line_sass"})
#: Length of what follows, version, length of the header, four numbers, and one more than there are lengths of opcodes.
_START: Final = struct.Struct("<IHIBBbBB")
_LENGTH: Final = 4
_VERSIONS: Final = range(2, 4)
_MORE: Final = 0x80


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


_GLOBAL, _WEAK = 1, 2  # st_bind


class Linkage(NamedTuple):
    """What a unit has in common with others."""

    defined: frozenset[str]
    """What only one unit may define."""
    undefined: frozenset[str]
    shared: frozenset[str] = frozenset()
    """Definitions that each unit may have, as those of templates."""


def linkage_of_object(data: bytes) -> Linkage:
    """Return the symbols of a relocatable CUBIN. Raises what ``read_elf`` raises."""
    symbols = [row for row in read_elf(data).symbols if row.info & 0xF in _LINKED]
    has = [row for row in symbols if row.section != _UNDEFINED]
    return Linkage(
        frozenset(row.name for row in has if row.info >> 4 == _GLOBAL),
        frozenset(row.name for row in symbols if row.info >> 4 == _GLOBAL and row.section == _UNDEFINED),
        frozenset(row.name for row in has if row.info >> 4 == _WEAK),
    )


def linkage_of_ptx(text: str) -> Linkage:
    """Return the symbols of a PTX text."""
    found = _PTX.findall(text)
    return Linkage(
        frozenset(name for word, name in found if word == "visible"),
        frozenset(name for word, name in found if word == "extern"),
        frozenset(name for word, name in found if word == "weak"),
    )


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
