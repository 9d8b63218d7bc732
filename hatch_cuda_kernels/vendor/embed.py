"""A store as a table in memory, for programs that hold their kernels: as an object file or as C++ text.

``docs/reference/store.md`` specifies the table. Its images are unpacked, so that a loader needs no decompressor.
"""

from __future__ import annotations

import json
import platform
import re
import struct
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Final

from hatch_cuda_kernels.errors import InputError
from hatch_cuda_kernels.store import DETAILS_FILE, INDEX_FILE, KERNELS_FILE, module_names

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from hatch_cuda_kernels.store import StoreReader

_HEAD: Final = struct.Struct("<8sIIQ")
_ROW: Final = struct.Struct("<4Q")  # where the name and the content are: offset and size of each
_MAGIC: Final = b"HCKSTORE"
_VERSION: Final = 1
#: What files begin at a multiple of: more than an ELF file needs.
_ALIGNMENT: Final = 16
#: ``e_machine`` (System V ABI) by what Python calls machines.
_MACHINES: Final = {"x86_64": 62, "AMD64": 62, "aarch64": 183, "arm64": 183}
MACHINES: Final = ("x86_64", "aarch64")
_SYMBOL: Final = struct.Struct("<IBBHQQ")
_SECTION: Final = struct.Struct("<IIQQQQIIQQ")


def embedded_files(reader: StoreReader) -> dict[str, bytes]:
    """Return the files of a store that a loader reads, images unpacked. Raises StoreError or InputError."""
    files = {KERNELS_FILE: (reader.folder / KERNELS_FILE).read_bytes()}
    first: dict[str, str] = {}
    for name in module_names(reader.folder):
        index = reader.module(name)
        if index.editable is not None:
            raise InputError(f"{reader.label} is of an editable install, whose sources may change; embed its manifest")
        images = []
        for image in index.images:
            if image.kind == "ltoir":  # no driver takes it
                continue
            path = f"{name}/{image.file}"
            place = first.setdefault(image.sha256, path)
            if place == path:
                files[path] = reader.read_image(name, image)
            data = image._replace(stored=None).to_json()
            images.append(data | ({} if place == path else {"stored": {"file": place, "at": 0, "size": 0, "skip": 0}}))
        files[f"{name}/{INDEX_FILE}"] = _json({"schema": index.schema, "module": name, "images": images})
        if index.family or any(image.renames for image in index.images):  # then a look-up reads the details
            details = reader.details(name).to_json()
            kept = {key: details[key] for key in ("schema", "lowered", "family") if key in details}
            files[f"{name}/{DETAILS_FILE}"] = _json(kept)
    return files


def _json(data: Any) -> bytes:
    return json.dumps(data, separators=(",", ":"), sort_keys=True).encode()


def table_of(files: Mapping[str, bytes]) -> bytes:
    """Return the table of files by their paths: equal for equal files."""
    names = sorted(name.encode() for name in files)
    parts = [*names, *(files[name.decode()] for name in names)]
    padded = [part.ljust(_aligned(len(part) + 1), b"\0") for part in parts]  # a NUL follows each
    begin, count = _aligned(_HEAD.size + _ROW.size * len(names)), len(names)
    *places, end = accumulate(map(len, padded), initial=begin)
    spans = [struct.pack("<2Q", at, len(part)) for at, part in zip(places, parts, strict=True)]
    rows = b"".join(name + content for name, content in zip(spans[:count], spans[count:], strict=True))
    return (_HEAD.pack(_MAGIC, _VERSION, count, end) + rows).ljust(begin, b"\0") + b"".join(padded)


def _aligned(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT


def check_symbol(name: str) -> str:
    """Return a name if C++ can have it. Raises InputError."""
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise InputError(f"{name!r} is no name in C++; choose one with --name")
    return name


#: Of every text in C++.
CPP_BEGIN: Final = "// Written by hatch-cuda-kernels embed: do not edit it.\n"


def cpp_text(table: bytes, name: str) -> str:
    """Return C++ text that defines ``name`` and ``name_size``. All hosts of CUDA are little-endian."""
    words = struct.unpack(f"<{len(table) // 8}Q", table)
    lines = ",\n".join(",".join(map(hex, words[at : at + 8])) for at in range(0, len(words), 8))
    return f"""\
{CPP_BEGIN}\
#ifdef __GNUC__
#pragma GCC visibility push(hidden)
#endif
extern "C" {{
extern const unsigned long long {name}[], {name}_size;
alignas({_ALIGNMENT}) const unsigned long long {name}[] = {{
{lines}
}};
const unsigned long long {name}_size = {len(table)};
}}
#ifdef __GNUC__
#pragma GCC visibility pop
#endif
"""


def object_file(table: bytes, name: str, machine: str | None = None) -> bytes:
    """Return an ELF object that defines the same. Both are hidden: two libraries of a process may use one name.

    Raises InputError for a machine of which the objects are others.
    """
    machine = machine or platform.machine()
    if machine not in _MACHINES:
        raise InputError(f"no object files for {machine}; write C++ text: --out FILE.cpp")
    names = f"\0{name}\0{name}_size\0".encode()
    symbols = _SYMBOL.pack(0, 0, 0, 0, 0, 0) + _SYMBOL.pack(1, 0x11, 2, 1, 0, len(table))
    symbols += _SYMBOL.pack(2 + len(name), 0x11, 2, 1, len(table), 8)
    # Name, type, flags, content, link, info, alignment, size of an entry.
    sections = [
        (b".rodata", 1, 2, table + struct.pack("<Q", len(table)), 0, 0, _ALIGNMENT, 0),
        (b".symtab", 2, 0, symbols, 3, 1, 8, _SYMBOL.size),
        (b".strtab", 3, 0, names, 0, 0, 1, 0),
        (b".note.GNU-stack", 1, 0, b"", 0, 0, 1, 0),
        (b".shstrtab", 3, 0, b"", 0, 0, 1, 0),
    ]
    return b"".join(_elf(sections, _MACHINES[machine]))


def _elf(sections: list[tuple[bytes, int, int, bytes, int, int, int, int]], machine: int) -> Iterator[bytes]:
    """Yield the parts of a relocatable file: header, sections, and their table."""
    titles = b"\0" + b"\0".join(name for name, *_ in sections) + b"\0"
    contents = [content for _, _, _, content, *_ in sections[:-1]] + [titles]
    padded = [content.ljust(_aligned(len(content)), b"\0") for content in contents]
    *places, end = accumulate(map(len, padded), initial=64)
    head = struct.pack("<4s5B7x", b"\x7fELF", 2, 1, 1, 0, 0)
    yield head + struct.pack(
        "<HHIQQQIHHHHHH", 1, machine, 1, 0, 0, end, 0, 64, 0, 0, 64, len(sections) + 1, len(sections)
    )
    yield from padded
    yield bytes(_SECTION.size)
    for (name, kind, flags, _, link, info, alignment, entry), content, at in zip(
        sections, contents, places, strict=True
    ):
        yield _SECTION.pack(
            titles.index(b"\0" + name + b"\0") + 1, kind, flags, 0, at, len(content), link, info, alignment, entry
        )
