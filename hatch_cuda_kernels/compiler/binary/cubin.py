"""CUBINs: kernels with their resources, variables, spills, symbols to link, and line tables without file times."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

_HEADER: Final = struct.Struct("<4sBBxxB7x2HIQQQI6H")
_SECTION: Final = struct.Struct("<IIQQQQIIQQ")
_SYMBOL: Final = struct.Struct("<IBBHQQ")
_LITTLE_64BIT: Final = (2, 1)
_MACHINE_CUDA: Final = 190
_RELOCATABLE: Final = 1  # e_type
_SYMBOL_TABLE: Final = 2
#: ``SHT_NOBITS``, and NVIDIA's kinds of sections that have a size and no bytes: global, local and shared variables
#: (``cuobjdump --dump-elf`` of relocatable objects shows them behind the file's end).
_NO_BITS: Final = frozenset({8, 0x70000007, 0x70000009, 0x7000000A, 0x70000015})
_OBJECT: Final = 1
_FUNCTION: Final = 2
_ENTRY: Final = 0x10  # in st_other
#: Functions, and variables as relocatable files mark them.
_LINKED: Final = frozenset({_OBJECT, _FUNCTION, 13})
_GLOBAL, _WEAK = 1, 2  # st_bind
_UNDEFINED: Final = 0  # the section


class Section(NamedTuple):
    """One section: where its bytes are, and the section it refers to."""

    name: str
    kind: int
    offset: int
    size: int
    link: int


class SymbolRow(NamedTuple):
    """One row of the symbol table."""

    name: str
    info: int
    other: int
    section: int
    size: int

    @property
    def kind(self) -> int:
        """Whether it is a function, a variable or something else."""
        return self.info & 0xF


class Elf(NamedTuple):
    """One ELF file."""

    data: bytes
    kind: int
    """``e_type``: 1 for a file that still has to be linked, 2 for one that can be loaded."""
    abi: int
    flags: int
    sections: tuple[Section, ...]
    symbols: tuple[SymbolRow, ...]
    named: dict[str, Section]
    """The first section of each name."""

    def content(self, name: str) -> bytes:
        """Return the bytes of a section; none for a missing one, and for one that only has a size."""
        section = self.named.get(name)
        if section is None or section.kind in _NO_BITS:
            return b""
        return self.data[section.offset : section.offset + section.size]

    def size(self, name: str) -> int:
        """Return the size of a section; 0 for a missing one."""
        return self.named[name].size if name in self.named else 0


def read_elf(data: bytes) -> Elf:
    """Read the file. Raises ValueError, with the reason, or struct.error, IndexError or UnicodeDecodeError."""
    if data[:4] != b"\x7fELF":
        raise ValueError("not a CUBIN: no ELF header")
    header = _HEADER.unpack_from(data)
    width, order, abi, kind, machine = header[1:6]
    programs, start, flags = header[8:11]
    program, programs_count, entry, count, names = header[12:]
    if (width, order) != _LITTLE_64BIT or machine != _MACHINE_CUDA or entry != _SECTION.size:
        raise ValueError("not a CUBIN: an ELF file for another machine")
    table = data[start : start + count * entry]
    if len(table) != count * entry or programs + programs_count * program > len(data):
        raise ValueError("damaged CUBIN: a header table ends past the file")
    raw = list(_SECTION.iter_unpack(table))
    for _, form, _, _, offset, size, *_ in raw:
        if form not in _NO_BITS and offset + size > len(data):
            raise ValueError("damaged CUBIN: a section ends past the file")
    texts = data[raw[names][4] : raw[names][4] + raw[names][5]]
    sections = tuple(Section(_string(texts, fields[0]), fields[1], *fields[4:7]) for fields in raw)
    named = {section.name: section for section in reversed(sections)}
    return Elf(data, kind, abi, flags, sections, tuple(_symbols(data, sections)), named)


def _string(table: bytes, offset: int) -> str:
    end = table.find(b"\0", offset)
    if end < 0:
        raise ValueError("damaged CUBIN: a name ends past its table")
    return table[offset:end].decode()


def _symbols(data: bytes, sections: tuple[Section, ...]) -> Iterator[SymbolRow]:
    table = next((section for section in sections if section.kind == _SYMBOL_TABLE), None)
    if table is None:
        raise ValueError("damaged CUBIN: no symbol table")
    names = sections[table.link]
    texts = data[names.offset : names.offset + names.size]
    rows = _SYMBOL.iter_unpack(data[table.offset : table.offset + table.size])
    return (SymbolRow(_string(texts, name), info, other, section, size) for name, info, other, section, _, size in rows)


_KINDS: Final = r"\.(visible|extern|weak) \.(?:entry|global|const|func(?:\s*\(\.param[^)]*\))?)"
_PTX: Final = re.compile(rf"^{_KINDS}[^;={{(\n]*?([A-Za-z_$][\w$]*)(?:\[\d*\])*\s*(?:[;={{(]|$)", re.MULTILINE)


class Linkage(NamedTuple):
    """The symbols of a unit that concern other units."""

    defined: frozenset[str]
    """What only one unit may define."""
    undefined: frozenset[str]
    shared: frozenset[str] = frozenset()
    """Definitions that each unit may have, as those of templates."""


def linkage_of_object(data: bytes) -> Linkage:
    """Return the symbols of a relocatable CUBIN. Raises what ``read_elf`` raises."""
    rows = [
        (row.info >> 4, row.section != _UNDEFINED, row.name) for row in read_elf(data).symbols if row.kind in _LINKED
    ]
    kinds = ((_GLOBAL, True), (_GLOBAL, False), (_WEAK, True))
    return Linkage(*(frozenset(name for *kind, name in rows if (*kind,) == wanted) for wanted in kinds))


def linkage_of_ptx(text: str) -> Linkage:
    """Return the symbols of a PTX text."""
    found = _PTX.findall(text)
    return Linkage(*(frozenset(name for word, name in found if word == kind) for kind in ("visible", "extern", "weak")))


_LINE_TABLES: Final = frozenset({".debug_line", ".nv_debug_line_sass"})
#: Length of what follows, version, length of the header, four numbers, and one more than there are lengths of opcodes.
_START: Final = struct.Struct("<IHIBBbBB")
_LENGTH: Final = 4
_VERSIONS: Final = range(2, 4)
_MORE: Final = 0x80


def without_times(cubin: bytes) -> bytes:
    """Return a CUBIN without the times of source files, which ptxas and nvJitLink write of each file that they find."""
    if not any(name.encode() in cubin for name in _LINE_TABLES):
        return cubin
    data = bytearray(cubin)
    for section in read_elf(cubin).sections:
        if section.name in _LINE_TABLES:
            _clear_times(data, section)
    return bytes(data)


def _clear_times(data: bytearray, section: Section) -> None:
    start, end = section.offset, section.offset + section.size
    while start < end:
        length, version, *_, opcodes = _START.unpack_from(data, start)
        if version in _VERSIONS:
            place = start + _START.size + opcodes - 1
            while data[place]:  # the folders
                place = data.index(0, place) + 1
            place += 1
            while data[place]:  # the files: a name, then the numbers of folder, time and size
                time = _after_number(data, data.index(0, place) + 1)
                place = _after_number(data, time)
                data[time:place] = b"\x80" * (place - time - 1) + b"\0"  # zero, in as many bytes
                place = _after_number(data, place)
        start += _LENGTH + length


def _after_number(data: bytearray, place: int) -> int:
    """Return where a number of 7 bits a byte ends (LEB128)."""
    while data[place] & _MORE:
        place += 1
    return place + 1


_ATTRIBUTE: Final = struct.Struct("<BBH")
_PAIR: Final = struct.Struct("<II")
_PARAMETER: Final = struct.Struct("<4xHHI")
_EXTENTS: Final = struct.Struct("<3I")
_SIZED: Final = 4  # format of an attribute that carries bytes
_FRAME_SIZE: Final = 0x11
_STACK_SIZE: Final = 0x12  # with what it calls
_MAX_THREADS: Final = 0x05  # __launch_bounds__
_BLOCK_SIZE: Final = 0x10  # __block_size__
_CLUSTER_SIZE: Final = 0x3D  # __cluster_dims__
_STATED: Final = {_MAX_THREADS: "max_threads", _BLOCK_SIZE: "block_size", _CLUSTER_SIZE: "cluster_size"}
_REGISTERS: Final = 0x2F
_SPILLS: Final = 0x55
_PARAMETER_PACKED: Final = 0x17
_PARAMETER_LARGE: Final = 0x45  # used by a kernel with more than 4 KiB of parameters
_POINTER: Final = 0x400  # beside a packed parameter's size, where the compiler marks pointers: from sm_100 on
#: From sm_90 on, a kernel's shared section counts the 1 KiB a block that the driver reserves. ptxas does not report it.
_RESERVED_SHARED: Final = 1024
_TOOL_NOTE: Final = ".note.nv.tkinfo"
_TOOL_VERSION: Final = re.compile(rb"\bV(\d+\.\d+\.\d+)\0")
_TOOL_ARCH: Final = re.compile(rb"-arch (sm_\d+[af]?)\b")
_ABI_7: Final = 7
_ABI_7_ACCELERATED: Final = 0x800
_SPILL: Final = 1
_WORD: Final = struct.Struct("<Q")
#: From sm_70 on an instruction has 128 bits.
_FIRST_128_BIT: Final = 70
#: Operation codes of LDL and STL. The bits above them give the form of the operands.
_LOAD_128, _STORE_128 = 0x183, 0x187
_LOAD_64, _STORE_64 = 0xEF4, 0xEF5
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
    """Bytes of its instructions, padding included."""
    params: tuple[tuple[int, int], ...]
    """(offset, size) of each parameter in bytes, in order."""
    pointers: frozenset[int]
    """Which parameters are marked as pointers; nothing is marked below sm_100."""
    stated: tuple[tuple[str, tuple[int, ...]], ...] = ()
    """What the source states of launches: ``max_threads`` of a block, ``block_size``, ``cluster_size``; x, y and z."""


@dataclass(frozen=True, slots=True)
class Cubin:
    """What one CUBIN holds."""

    sm: int
    """Compute capability without the dot, 90 for 9.0."""
    arch: str | None
    """The architecture with its suffix, ``sm_90a``; None if the image does not say."""
    kernels: dict[str, KernelSection]
    """By lowered name, sorted."""
    variables: dict[str, int]
    """Bytes of each ``__device__`` and ``__constant__`` variable, by lowered name, sorted."""
    relocatable: bool
    """Whether it still has to be linked: no driver loads it."""
    tool: str
    """The version of the assembler, ``13.0.88``; empty if the image does not say."""

    @property
    def stated(self) -> dict[str, tuple[tuple[str, tuple[int, ...]], ...]]:
        """What the source states of launches, by the kernels of which it states something."""
        return {name: kernel.stated for name, kernel in self.kernels.items() if kernel.stated}

    @property
    def resources(self) -> dict[str, dict[str, int]]:
        """What a store's index records of each kernel."""
        fields = ("registers", "shared", "stack", "spill_stores", "spill_loads")
        return {name: {field: getattr(kernel, field) for field in fields} for name, kernel in self.kernels.items()}


def read_cubin(data: bytes) -> Cubin:
    """Read a CUBIN. Raises ValueError, with the reason, for a damaged one and for anything else."""
    try:
        return _read(read_elf(data))
    except (struct.error, IndexError, OverflowError, UnicodeDecodeError) as error:
        raise ValueError(f"damaged CUBIN: {error}") from error


def _read(elf: Elf) -> Cubin:
    sm = elf.flags & 0xFF if elf.abi <= _ABI_7 else elf.flags >> 8 & 0xFF
    totals, calls = _totals(elf), _calls(elf)
    functions = [symbol for symbol in elf.symbols if symbol.kind == _FUNCTION]
    spills = {symbol.name: _spills(elf, symbol.name, sm) for symbol in functions}
    kernels = {
        symbol.name: _kernel(elf, symbol.name, sm, totals, _reached(spills, symbol.name, calls))
        for symbol in functions
        if symbol.other & _ENTRY
    }
    variables = {
        symbol.name: symbol.size
        for symbol in elf.symbols
        # Special indices, from 0xff00 on, are beyond all sections.
        if symbol.kind == _OBJECT and symbol.section < len(elf.sections)
        if elf.sections[symbol.section].name.startswith((".nv.global", ".nv.constant"))
    }
    note = elf.content(_TOOL_NOTE)
    tool, target = _TOOL_VERSION.search(note), _TOOL_ARCH.search(note)
    arch = target[1].decode() if target else None
    if elf.abi <= _ABI_7:
        arch = f"sm_{sm}a" if elf.flags & _ABI_7_ACCELERATED else f"sm_{sm}"
    return Cubin(
        sm=sm,
        arch=arch,
        kernels=dict(sorted(kernels.items())),
        variables=dict(sorted(variables.items())),
        relocatable=elf.kind == _RELOCATABLE,
        tool=tool[1].decode() if tool else "",
    )


def _kernel(elf: Elf, name: str, sm: int, totals: dict[int, dict[str, int]], spilled: tuple[int, int]) -> KernelSection:
    params: dict[int, tuple[int, int]] = {}
    pointers = set()
    stated = []
    for attribute, payload in _attributes(elf, f".nv.info.{name}"):
        if attribute in {_PARAMETER_PACKED, _PARAMETER_LARGE}:
            ordinal, offset, size = _PARAMETER.unpack(payload)
            # Both layouts share the word with flags, such as "is a pointer" from sm_100 on.
            params[ordinal] = offset, size >> 18 if attribute == _PARAMETER_PACKED else size & 0xFFFF
            if attribute == _PARAMETER_PACKED and size & _POINTER:
                pointers.add(ordinal)
        elif attribute in _STATED:
            stated.append((_STATED[attribute], _EXTENTS.unpack(payload)))
    return KernelSection(
        registers=totals[_REGISTERS].get(name, 0),
        shared=max(0, elf.size(f".nv.shared.{name}") - (_RESERVED_SHARED if sm >= 90 else 0)),
        stack=totals[_STACK_SIZE].get(name, totals[_FRAME_SIZE].get(name, 0)),
        spill_stores=spilled[0],
        spill_loads=spilled[1],
        code=elf.size(f".text.{name}"),
        params=tuple(params[ordinal] for ordinal in sorted(params)),
        pointers=frozenset(pointers),
        stated=tuple(sorted(stated)),
    )


def _totals(elf: Elf) -> dict[int, dict[str, int]]:
    totals: dict[int, dict[str, int]] = {_REGISTERS: {}, _FRAME_SIZE: {}, _STACK_SIZE: {}}
    for attribute, payload in _attributes(elf, ".nv.info"):
        if attribute in totals:
            index, value = _PAIR.unpack(payload)
            totals[attribute][elf.symbols[index].name] = value
    return totals


def _attributes(elf: Elf, name: str) -> Iterator[tuple[int, bytes]]:
    """Yield the attributes that carry bytes: format, number, and a size or (in other formats) the value itself."""
    content = elf.content(name)
    at = 0
    while at < len(content):
        form, attribute, size = _ATTRIBUTE.unpack_from(content, at)
        at += _ATTRIBUTE.size
        if form == _SIZED:
            if at + size > len(content):
                raise ValueError("damaged CUBIN: an attribute ends past its section")
            yield attribute, content[at : at + size]
            at += size


def _calls(elf: Elf) -> dict[str, list[str]]:
    calls: dict[str, list[str]] = {}
    for caller, callee in _PAIR.iter_unpack(elf.content(".nv.callgraph")):
        if callee < len(elf.symbols):  # larger ones are marks
            calls.setdefault(elf.symbols[caller].name, []).append(elf.symbols[callee].name)
    return calls


def _reached(spills: dict[str, tuple[int, int]], name: str, calls: dict[str, list[str]]) -> tuple[int, int]:
    reached, waiting = {name}, [name]
    while waiting:
        new = set(calls.get(waiting.pop(), ())) - reached
        reached |= new
        waiting += new
    found = [spills[function] for function in reached if function in spills]
    return sum(stores for stores, _ in found), sum(loads for _, loads in found)


def _spills(elf: Elf, name: str, sm: int) -> tuple[int, int]:
    """Return the bytes that a section spills and loads again; each instruction counts once."""
    code = elf.content(f".text.{name}")
    stores = loads = 0
    for attribute, marks in _attributes(elf, f".nv.info.{name}"):
        for kind, offset in _PAIR.iter_unpack(marks) if attribute == _SPILLS else ():
            if kind == _SPILL:
                is_store, size = _access(code, offset, sm)
                stores += size * is_store
                loads += size * (not is_store)
    return stores, loads


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
