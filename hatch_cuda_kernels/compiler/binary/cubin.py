"""What a CUBIN holds: kernels with their resources, variables, and the machine code's spills."""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from hatch_cuda_kernels.compiler.binary.elf import Elf, read_elf

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from hatch_cuda_kernels.compiler.binary.elf import Section

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
