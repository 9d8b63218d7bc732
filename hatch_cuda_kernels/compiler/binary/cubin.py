"""CUBINs: kernels with their resources, variables, spills, symbols to link, and line tables without file times."""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

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


_ATTRIBUTE: Final = struct.Struct("<BBH")
_PAIR: Final = struct.Struct("<II")
_PARAMETER: Final = struct.Struct("<4xHHI")

_OBJECT: Final = 1
_FUNCTION: Final = 2
_ENTRY: Final = 0x10  # in st_other
_RELOCATABLE: Final = 1  # e_type
_SIZED: Final = 4  # format of an attribute that carries bytes
_FRAME_SIZE: Final = 0x11
_STACK_SIZE: Final = 0x12  # with what it calls
_REGISTERS: Final = 0x2F
_SPILLS: Final = 0x55
_PARAMETER_PACKED: Final = 0x17
_PARAMETER_LARGE: Final = 0x45  # used by a kernel with more than 4 KiB of parameters
#: From sm_90 on, a kernel's shared section counts the 1 KiB a block that the driver reserves. ptxas does not report it.
_RESERVED_SHARED: Final = 1024
_POINTER: Final = 0x400  # beside a packed parameter's size, where the compiler marks pointers: from sm_100 on
_TOOL_VERSION: Final = re.compile(rb"\bV(\d+\.\d+\.\d+)\0")
_TOOL_ARCH: Final = re.compile(rb"-arch (sm_\d+[af]?)\b")
_ABI_7: Final = 7
_ABI_7_ACCELERATED: Final = 0x800
_MARK: Final = struct.Struct("<II")
_SPILL: Final = 1
_WORD: Final = struct.Struct("<Q")
#: From sm_70 on an instruction has 128 bits.
_FIRST_128_BIT: Final = 70
#: Bytes by the three bits of an access's size: 8-bit twice (unsigned, signed), 16-bit twice, 32, 64, 128.
_BYTES: Final = (1, 1, 2, 2, 4, 8, 16, 0)


@dataclass(frozen=True, slots=True)
class KernelSection:
    """What one kernel needs, with the functions it calls: registers and local bytes a thread, shared bytes a block."""

    registers: int
    shared: int
    """Static shared memory, without what the driver reserves."""
    stack: int
    """Local memory, what is spilled included."""
    spill_stores: int
    spill_loads: int
    """Bytes of the instructions that spill, each counted once."""
    code: int
    """Bytes of its own instructions, padding included."""
    params: tuple[tuple[int, int], ...]
    """(offset, size) of each parameter in bytes, in order."""
    pointers: frozenset[int]
    """Which parameters are marked as pointers; nothing is marked below sm_100."""

    @property
    def resources(self) -> dict[str, int]:
        """What a store's index records."""
        return {
            "registers": self.registers,
            "shared": self.shared,
            "stack": self.stack,
            "spill_stores": self.spill_stores,
            "spill_loads": self.spill_loads,
        }


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
    relocatable: bool
    """Whether it still has to be linked: no driver loads it."""
    tool: str
    """The version of the assembler, ``13.0.88``; empty where the image does not tell it."""

    @property
    def resources(self) -> dict[str, dict[str, int]]:
        """What a store's index records of each kernel."""
        return {name: kernel.resources for name, kernel in self.kernels.items()}


def read_cubin(data: bytes) -> Cubin:
    """Read a CUBIN. Raises ValueError, with the reason, for a damaged one and for anything else."""
    try:
        return _read(data)
    except (struct.error, IndexError, OverflowError, UnicodeDecodeError) as error:
        message = f"damaged CUBIN: {error}"
        raise ValueError(message) from error


def _read(data: bytes) -> Cubin:
    elf = read_elf(data)
    sm = elf.flags & 0xFF if elf.abi <= _ABI_7 else elf.flags >> 8 & 0xFF
    found = {name: section for section in reversed(elf.sections) if (name := section.name)}
    totals = _totals(elf, found.get(".nv.info"))
    calls = _calls(elf, found)
    spills = {symbol.name: _spills(elf, found, symbol.name, sm) for symbol in elf.symbols if _is_function(symbol.info)}
    kernels = {
        symbol.name: _kernel(elf, found, symbol.name, sm, totals, _reached(spills, symbol.name, calls))
        for symbol in elf.symbols
        if _is_function(symbol.info) and symbol.other & _ENTRY
    }
    variables = {
        symbol.name: symbol.size
        for symbol in elf.symbols
        if symbol.info & 0xF == _OBJECT and _holds_variables(elf, symbol.section)
    }
    return Cubin(
        sm=sm,
        arch=_arch(elf, found.get(".note.nv.tkinfo"), sm),
        kernels=dict(sorted(kernels.items())),
        variables=dict(sorted(variables.items())),
        relocatable=elf.kind == _RELOCATABLE,
        tool=_tool(elf, found.get(".note.nv.tkinfo")),
    )


def _is_function(info: int) -> bool:
    return info & 0xF == _FUNCTION


def _kernel(
    elf: Elf, found: dict[str, Section], name: str, sm: int, totals: dict[int, dict[str, int]], spilled: Spills
) -> KernelSection:
    return KernelSection(
        registers=totals[_REGISTERS].get(name, 0),
        shared=_shared(found.get(f".nv.shared.{name}"), sm),
        stack=totals[_STACK_SIZE].get(name, totals[_FRAME_SIZE].get(name, 0)),
        spill_stores=spilled.stores,
        spill_loads=spilled.loads,
        code=_size(found.get(f".text.{name}")),
        params=_params(elf, found.get(f".nv.info.{name}")),
        pointers=_pointers(elf, found.get(f".nv.info.{name}")),
    )


def _totals(elf: Elf, section: Section | None) -> dict[int, dict[str, int]]:
    """Return what the file's own attributes say of each function, by attribute and lowered name."""
    totals: dict[int, dict[str, int]] = {_REGISTERS: {}, _FRAME_SIZE: {}, _STACK_SIZE: {}}
    for attribute, payload in _attributes(elf, section):
        if attribute in totals:
            index, value = _PAIR.unpack(payload)
            totals[attribute][elf.symbols[index].name] = value
    return totals


def _spills(elf: Elf, found: dict[str, Section], name: str, sm: int) -> Spills:
    """Return what the code of a function's section spills; a whole program's callees are in its kernels' sections."""
    marks = (mark for kind, mark in _attributes(elf, found.get(f".nv.info.{name}")) if kind == _SPILLS)
    return count_spills(marks, elf.content(found.get(f".text.{name}")), sm)


def _calls(elf: Elf, found: dict[str, Section]) -> dict[str, list[str]]:
    """Return which functions of other sections a function calls, by lowered name."""
    calls: dict[str, list[str]] = {}
    for caller, callee in _PAIR.iter_unpack(elf.content(found.get(".nv.callgraph"))):
        if callee < len(elf.symbols):  # larger ones are marks
            calls.setdefault(elf.symbols[caller].name, []).append(elf.symbols[callee].name)
    return calls


def _reached(spills: dict[str, Spills], name: str, calls: dict[str, list[str]]) -> Spills:
    """Return what a function spills with everything it calls, each once."""
    reached, waiting = {name}, [name]
    while waiting:
        new = set(calls.get(waiting.pop(), ())) - reached
        reached |= new
        waiting += new
    return sum((spills[function] for function in reached if function in spills), Spills())


def _attributes(elf: Elf, section: Section | None) -> Iterator[tuple[int, bytes]]:
    """Yield the attributes that carry bytes: format, number, and a size or (in other formats) the value itself."""
    content = elf.content(section)
    at = 0
    while at < len(content):
        form, attribute, size = _ATTRIBUTE.unpack_from(content, at)
        at += _ATTRIBUTE.size
        if form == _SIZED:
            if at + size > len(content):
                raise ValueError("damaged CUBIN: an attribute ends past its section")
            yield attribute, content[at : at + size]
            at += size


def _params(elf: Elf, section: Section | None) -> tuple[tuple[int, int], ...]:
    found: dict[int, tuple[int, int]] = {}
    for attribute, payload in _attributes(elf, section):
        if attribute in {_PARAMETER_PACKED, _PARAMETER_LARGE}:
            ordinal, offset, size = _PARAMETER.unpack(payload)
            # Both layouts share the word with flags, such as "is a pointer" from sm_100 on.
            found[ordinal] = offset, size >> 18 if attribute == _PARAMETER_PACKED else size & 0xFFFF
    return tuple(found[ordinal] for ordinal in sorted(found))


def _pointers(elf: Elf, section: Section | None) -> frozenset[int]:
    rows = (_PARAMETER.unpack(payload) for kind, payload in _attributes(elf, section) if kind == _PARAMETER_PACKED)
    return frozenset(ordinal for ordinal, _, word in rows if word & _POINTER)


def _size(section: Section | None) -> int:
    return section.size if section else 0


def _shared(section: Section | None, sm: int) -> int:
    reserved = _RESERVED_SHARED if sm >= 90 else 0
    return max(0, _size(section) - reserved)


def _holds_variables(elf: Elf, index: int) -> bool:
    # Not the first section, where undefined symbols are, nor the special indices from 0xff00 on.
    return index < len(elf.sections) and elf.sections[index].name.startswith((".nv.global", ".nv.constant"))


def _arch(elf: Elf, note: Section | None, sm: int) -> str | None:
    """Return the architecture with its suffix: a flag in ABI 7, from the assembler's recorded options in ABI 8."""
    if elf.abi <= _ABI_7:
        return f"sm_{sm}a" if elf.flags & _ABI_7_ACCELERATED else f"sm_{sm}"
    found = _TOOL_ARCH.search(elf.content(note))
    return found[1].decode() if found else None


def _tool(elf: Elf, note: Section | None) -> str:
    found = _TOOL_VERSION.search(elf.content(note))
    return found[1].decode() if found else ""


#: Operation codes of LDL and STL. The bits above them tell the operands' form.
_LOAD_128, _STORE_128 = 0x183, 0x187
_LOAD_64, _STORE_64 = 0xEF4, 0xEF5


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
