"""Reads what a CUBIN holds (kernels, their resources and parameters, device variables) without a device or a tool.

NVIDIA documents the container (ELF64), not its contents: layouts as measured on NVRTC 12.9 to 13.5, sm_52 to sm_121.
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Cubin", "KernelSection", "read_cubin"]

_HEADER: Final = struct.Struct("<4sBBxxB7x2HIQQQI6H")
_SECTION: Final = struct.Struct("<IIQQQQIIQQ")
_SYMBOL: Final = struct.Struct("<IBBHQQ")
_ATTRIBUTE: Final = struct.Struct("<BBH")
_PAIR: Final = struct.Struct("<II")
_PARAMETER: Final = struct.Struct("<4xHHI")

_LITTLE_64BIT: Final = (2, 1)
_MACHINE_CUDA: Final = 190
_SYMBOL_TABLE: Final = 2
_NO_BITS: Final = 8
_OBJECT: Final = 1
_FUNCTION: Final = 2
_ENTRY: Final = 0x10  # in st_other
_SIZED: Final = 4  # format of an attribute that carries bytes
_FRAME_SIZE: Final = 0x11
_REGISTERS: Final = 0x2F
_PARAMETER_PACKED: Final = 0x17
_PARAMETER_LARGE: Final = 0x45  # used by a kernel with more than 4 KiB of parameters
#: From sm_90 on, a kernel's shared section counts the 1 KiB a block that the driver reserves. ptxas does not report it.
_RESERVED_SHARED: Final = 1024
_TOOL_ARCH: Final = re.compile(rb"-arch (sm_\d+[af]?)\b")
_ABI_7: Final = 7
_ABI_7_ACCELERATED: Final = 0x800


@dataclass(frozen=True, slots=True)
class KernelSection:
    """What one kernel needs: registers and local bytes a thread, shared bytes a block, and its parameters."""

    registers: int
    shared: int
    """Static shared memory, without what the driver reserves."""
    frame: int
    """Local memory of the kernel's own stack frame."""
    code: int
    """Bytes of its instructions, padding included."""
    params: tuple[tuple[int, int], ...]
    """(offset, size) of each parameter in bytes, in order."""


@dataclass(frozen=True, slots=True)
class Cubin:
    """What one CUBIN holds."""

    sm: int
    """Compute capability without the dot, 90 for 9.0."""
    arch: str | None
    """The architecture with its suffix, ``sm_90a``; None where the image does not tell it."""
    kernels: dict[str, KernelSection]
    """By lowered name, sorted."""
    variables: dict[str, int]
    """Bytes of each ``__device__`` and ``__constant__`` variable, by lowered name, sorted."""


class _Section(NamedTuple):
    name: str
    kind: int
    offset: int
    size: int
    link: int


class _ElfSymbol(NamedTuple):
    name: str
    info: int
    other: int
    section: int
    size: int


def read_cubin(data: bytes) -> Cubin:
    """Read a CUBIN. Raises ValueError, with the reason, for a damaged one and for anything else."""
    try:
        return _read(data)
    except (struct.error, IndexError, OverflowError, UnicodeDecodeError) as error:
        message = f"damaged CUBIN: {error}"
        raise ValueError(message) from error


def _read(data: bytes) -> Cubin:
    abi, flags, sections = _sections(data)
    contents = {section.name: section for section in sections}
    symbols = _symbols(data, sections)
    sm = flags & 0xFF if abi <= _ABI_7 else flags >> 8 & 0xFF
    registers: dict[str, int] = {}
    frames: dict[str, int] = {}
    totals = {_REGISTERS: registers, _FRAME_SIZE: frames}
    for attribute, payload in _attributes(data, contents.get(".nv.info")):
        if attribute in totals:
            index, value = _PAIR.unpack(payload)
            totals[attribute][symbols[index].name] = value
    kernels = {
        symbol.name: KernelSection(
            registers=registers.get(symbol.name, 0),
            shared=_shared(contents.get(f".nv.shared.{symbol.name}"), sm),
            frame=frames.get(symbol.name, 0),
            code=_size(contents.get(f".text.{symbol.name}")),
            params=_params(data, contents.get(f".nv.info.{symbol.name}")),
        )
        for symbol in symbols
        if symbol.info & 0xF == _FUNCTION and symbol.other & _ENTRY
    }
    variables = {
        symbol.name: symbol.size
        for symbol in symbols
        if symbol.info & 0xF == _OBJECT and _holds_variables(sections, symbol.section)
    }
    return Cubin(
        sm=sm,
        arch=_arch(data, contents.get(".note.nv.tkinfo"), flags if abi <= _ABI_7 else None, sm),
        kernels=dict(sorted(kernels.items())),
        variables=dict(sorted(variables.items())),
    )


def _sections(data: bytes) -> tuple[int, int, list[_Section]]:
    """Return the ABI version, the flags and the sections, each checked to lie inside the file."""
    if data[:4] != b"\x7fELF":
        raise ValueError("not a CUBIN: no ELF header")
    header = _HEADER.unpack_from(data)
    _, width, order, abi, _, machine, _, _, programs, start, flags, _, program, programs_count, entry, count, names = (
        header
    )
    if (width, order) != _LITTLE_64BIT or machine != _MACHINE_CUDA or entry != _SECTION.size:
        raise ValueError("not a CUBIN: an ELF file for another machine")
    table = data[start : start + count * entry]
    if len(table) != count * entry or programs + programs_count * program > len(data):
        raise ValueError("damaged CUBIN: a header table ends past the file")
    raw = list(_SECTION.iter_unpack(table))
    for _, kind, _, _, offset, size, *_ in raw:
        if kind != _NO_BITS and offset + size > len(data):
            raise ValueError("damaged CUBIN: a section ends past the file")
    strings = _Strings(data, raw[names][4], raw[names][5])
    return abi, flags, [_Section(strings[fields[0]], fields[1], *fields[4:7]) for fields in raw]


class _Strings:
    """One string table."""

    def __init__(self, data: bytes, offset: int, size: int) -> None:
        self.bytes = data[offset : offset + size]

    def __getitem__(self, offset: int) -> str:
        end = self.bytes.find(b"\0", offset)
        if end < 0:
            raise ValueError("damaged CUBIN: a name ends past its table")
        return self.bytes[offset:end].decode()


def _symbols(data: bytes, sections: list[_Section]) -> list[_ElfSymbol]:
    table = next((section for section in sections if section.kind == _SYMBOL_TABLE), None)
    if table is None:
        raise ValueError("damaged CUBIN: no symbol table")
    names = sections[table.link]
    strings = _Strings(data, names.offset, names.size)
    rows = _SYMBOL.iter_unpack(data[table.offset : table.offset + table.size])
    return [_ElfSymbol(strings[name], info, other, section, size) for name, info, other, section, _, size in rows]


def _attributes(data: bytes, section: _Section | None) -> Iterator[tuple[int, bytes]]:
    """Yield the attributes that carry bytes: format, number, and a size or (in other formats) the value itself."""
    if section is None:
        return
    at, end = section.offset, section.offset + section.size
    while at < end:
        form, attribute, size = _ATTRIBUTE.unpack_from(data, at)
        at += _ATTRIBUTE.size
        if form == _SIZED:
            if at + size > end:
                raise ValueError("damaged CUBIN: an attribute ends past its section")
            yield attribute, data[at : at + size]
            at += size


def _params(data: bytes, section: _Section | None) -> tuple[tuple[int, int], ...]:
    found: dict[int, tuple[int, int]] = {}
    for attribute, payload in _attributes(data, section):
        if attribute in {_PARAMETER_PACKED, _PARAMETER_LARGE}:
            ordinal, offset, size = _PARAMETER.unpack(payload)
            # Both layouts share the word with flags, such as "is a pointer" from sm_100 on.
            found[ordinal] = offset, size >> 18 if attribute == _PARAMETER_PACKED else size & 0xFFFF
    return tuple(found[ordinal] for ordinal in sorted(found))


def _size(section: _Section | None) -> int:
    return section.size if section else 0


def _shared(section: _Section | None, sm: int) -> int:
    reserved = _RESERVED_SHARED if sm >= 90 else 0
    return max(0, _size(section) - reserved)


def _holds_variables(sections: list[_Section], index: int) -> bool:
    # Not sections[0], where undefined symbols are, nor the special indices from 0xff00 on.
    return index < len(sections) and sections[index].name.startswith((".nv.global", ".nv.constant"))


def _arch(data: bytes, note: _Section | None, abi_7_flags: int | None, sm: int) -> str | None:
    """Return the architecture with its suffix: a flag in ABI 7, from the assembler's recorded options in ABI 8."""
    if abi_7_flags is not None:
        return f"sm_{sm}a" if abi_7_flags & _ABI_7_ACCELERATED else f"sm_{sm}"
    found = _TOOL_ARCH.search(data, note.offset, note.offset + note.size) if note else None
    return found[1].decode() if found else None
