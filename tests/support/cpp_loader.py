"""The loader for C++ in a program of tests, and stores that are damaged at random for it."""

from __future__ import annotations

import json
import os
import random
import shutil
import struct
import subprocess
from functools import partial
from typing import TYPE_CHECKING

from conformance_cases import HERE
from shared import make_once

from hatch_cuda_kernels.store import StoreReader
from hatch_cuda_kernels.vendor import embedded_files, header_text, table_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import pytest

__all__ = [
    "COMPILERS",
    "SANITIZERS",
    "WARNINGS",
    "compile_driver",
    "compile_program",
    "damaged_stores",
    "framed",
    "made_program",
    "run_program",
]

VENDOR = HERE.parent / "vendor"
COMPILERS = ("g++", "clang++")
WARNINGS = ("-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Wsign-conversion", "-Werror")
SANITIZERS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")


def compile_driver(folder: Path) -> Path:
    """Compile the driver in C, in the folder."""
    subprocess.run(["cc", "-shared", "-fPIC", "-o", folder / "libcuda.so.1", VENDOR / "driver.c"], check=True)
    return folder


def compile_program(folder: Path, compiler: str, *options: str) -> None:
    """Compile the program of tests with its driver, in the folder, every warning an error, with sanitizers."""
    (folder / "hatch_cuda_kernels.hpp").write_text(header_text())
    flags = ("-std=c++17", f"-I{folder}", *WARNINGS, *(options or (*SANITIZERS, "-O0", "-g1")))
    subprocess.run([compiler, *flags, VENDOR / "program.cpp", "-o", folder / "program", "-pthread", "-ldl"], check=True)
    compile_driver(folder)


def made_program(factory: pytest.TempPathFactory, compiler: str) -> Path:
    """Return the folder of the program as a compiler makes it, once in a run. Skips where there is no such compiler."""
    import pytest

    if shutil.which(compiler) is None:
        pytest.skip(f"needs {compiler}")
    return make_once(factory, f"cpp-{compiler}", partial(compile_program, compiler=compiler))


def run_program(folder: Path, *words: str, given: bytes = b"") -> object:
    """Return what the program prints, read as JSON. A report of a sanitizer fails."""
    environment = os.environ | {"LD_LIBRARY_PATH": str(folder), "UBSAN_OPTIONS": "print_stacktrace=1"}
    ran = subprocess.run([folder / "program", *words], input=given, capture_output=True, env=environment)
    assert ran.returncode == 0, ran.stderr.decode(errors="replace")[-4000:]
    return json.loads(ran.stdout)


#: What readers of numbers, texts and nested values may stumble over.
_TEXTS = (
    b"-1", b"18446744073709551616", b"1e999", b"1099511627776", b"1099511627775", b"0.5", b"\\u0000", b"\\ud800",
    b"\\ud83d\\ude00", b"[" * 300, b'{"a":' * 300, b'"', b"\\", b"\xff", b"\xed\xa0\x80", b"\0", b"..", b"/", b"C:",
    b"\n", b"\t", b"null", b"{}", b"[]", b"<", b">", b"sm_99999999999999999999", b"9" * 400, b"b8[99999999999]:4",
)  # fmt: skip
_NUMBERS = (0, 1, 23, 1 << 31, (1 << 32) - 1, 1 << 40, (1 << 63) - 1, 1 << 63, (1 << 64) - 1, (1 << 64) - 24)


def _damaged(dice: random.Random, data: bytes) -> bytes:
    at, to = sorted((dice.randint(0, len(data)), dice.randint(0, len(data))))
    match dice.randrange(6):
        case 0:
            return data[:at] + dice.choice(_TEXTS) + data[at:]
        case 1:
            return data[:at] + data[to:]
        case 2:
            return data[:to] + data[at:to] + data[to:]
        case 3:
            return data[:at] + bytes([dice.randrange(256)]) + data[at + 1 :]
        case 4:
            return data[:at] + dice.choice(_TEXTS) + data[at + 1 + dice.randrange(6) :]
    words = data.split(b'"')
    words[dice.randrange(len(words))] = dice.choice(words)
    return b'"'.join(words)


def _damaged_table(dice: random.Random, table: bytes) -> bytes:
    for _ in range(dice.randrange(3)):
        at = dice.randrange(0, min(len(table) - 8, 24 + 32 * 8), 4)
        number = dice.choice((*_NUMBERS, len(table), dice.randrange(len(table))))
        table = table[:at] + struct.pack("<Q", number) + table[at + 8 :]
    return table[: dice.randrange(len(table))] if dice.random() < 0.05 else table


def damaged_stores(seed: int) -> Iterator[tuple[dict[str, bytes], bytes]]:
    """Yield files of stores with something wrong, without end, and a table of each, which may be damaged as well."""
    dice = random.Random(seed)
    names = ("devices", "names", "axes", "packed", "schema-1", "extended")
    stores = [embedded_files(StoreReader(HERE / "stores" / name)) for name in names]
    while True:
        files = dict(dice.choice(stores))
        for _ in range(dice.choice((0, 1, 1, 1, 2, 3))):
            name = dice.choice([name for name in files if dice.random() < 0.2 or not name.endswith(("cubin", "ptx"))])
            files[name] = _damaged(dice, files[name])
        if dice.random() < 0.05:
            del files[dice.choice([*files])]
        yield files, _damaged_table(dice, table_of(files))


def framed(kind: str, data: bytes) -> bytes:
    """Return a part of what the program reads to fuzz: a table (T), a folder (F) or a name (N)."""
    return kind.encode() + struct.pack("<I", len(data)) + data
