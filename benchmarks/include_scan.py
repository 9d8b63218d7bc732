"""Compares the include scan with compilers, over checkouts of other projects: nothing that they open may be missing.

    python benchmarks/include_scan.py FOLDER... [--reach 200] [--seed 1]

FOLDER is a checkout, or a folder of headers. The includes of each file are compared with those that a second lexer
finds, and with those that g++ and NVIDIA's front end (cudafe++) open where every group is compiled. Then the closures
of up to --reach files of each folder are compared with what g++ opens from them as a host compiler, nvcc and NVRTC
would see them. Prints a table and each disagreement. Nothing in the folders is changed or run; no GPU.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Final

sys.path.append(str(Path(__file__).parents[1] / "tests" / "support"))

from plain_lexer import read_includes
from preprocessors import disagreements, find_preprocessors

from hatch_cuda_kernels.compiler.toolchain.toolchain import load_toolchain
from hatch_cuda_kernels.cpp import SourceFile
from hatch_cuda_kernels.errors import InputError
from hatch_cuda_kernels.includes import Project, find_includes, read_closure

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hatch_cuda_kernels.includes import Closure

SUFFIXES: Final = frozenset(
    ".cu .cuh .h .hpp .inl .hh .hxx .cpp .cc .c .ipp .cl .inc .tcc .def .cxx".split()  # noqa: SIM905 - as people list them
)
BATCH: Final = 200
VIEWS: Final = (
    (),
    ("-D__CUDACC__", "-D__CUDA_ARCH__=800"),
    ("-D__CUDACC_RTC__", "-D__CUDACC__", "-D__CUDA_ARCH__=800"),
)
#: -H lists what is opened, indented by how deep it is; -MG goes on where a header is missing, as system headers are.
GCC: Final = ("g++", "-M", "-MG", "-H", "-nostdinc", "-x", "c++", "-std=gnu++17", "-w", "-fmax-errors=0")
_OPENED: Final = re.compile(r"(\.+) (.*)")
COLUMNS: Final = ("files", "unreadable", "refused", "includes", "closures", "closures refused", "opened")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--reach", type=int, default=200, help="how many closures of each folder are compared")
    parser.add_argument("--seed", type=int, default=1, help="which ones")
    args = parser.parse_args()
    total: Counter[str] = Counter()
    for folder in args.folders:
        counts: Counter[str] = Counter()
        texts = read_texts(folder, counts)
        for name, what in (*compare_directives(texts, counts), *compare_closures(folder, texts, counts, args)):
            counts["disagreements"] += 1
            print(f"{folder.name}/{name}: {what}", flush=True)
        print_row(folder.name, counts)
        total += counts
    print_row("total", total)
    print(f"scanned at {total['characters'] / 1e6 / (total['microseconds'] / 1e6):.0f} MB/s of processor time")


def print_row(name: str, counts: Counter[str]) -> None:
    print("|", " | ".join((name, *(str(counts[column]) for column in (*COLUMNS, "disagreements")))), "|", flush=True)


def read_texts(folder: Path, counts: Counter[str]) -> dict[str, str]:
    """Return the texts of a checkout by path; what is not UTF-8, or has a null character, is refused anyway."""
    texts = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.suffix in SUFFIXES and not name.startswith(".") and path.is_file() and not path.is_symlink():
            counts["files"] += 1
            try:
                text = path.read_bytes().decode().removeprefix("\ufeff")
            except UnicodeDecodeError:
                text = "\0"
            if "\0" in text:
                counts["unreadable"] += 1
            else:
                texts[name] = text
    return texts


def compare_directives(texts: dict[str, str], counts: Counter[str]) -> Iterator[tuple[str, str]]:
    """Yield each file whose includes another reader takes to be others."""
    readable = {}
    for name, text in texts.items():
        start = time.process_time()
        found = sorted(find_includes(SourceFile("", text)))
        counts["microseconds"] += round((time.process_time() - start) * 1e6)
        counts["characters"] += len(text)
        if any(directive.problem for directive in found):
            counts["refused"] += 1
            continue
        readable[name] = text
        ours = [directive.spelling for directive in found if not directive.is_probe]
        theirs = [spelling for _, spelling in read_includes(text)]
        counts["includes"] += len(ours)
        if ours != theirs:
            yield name, f"second lexer: {sorted({*ours} ^ {*theirs})}, {len(ours)} and {len(theirs)} includes"
    names = list(readable)
    for compiler, command in find_preprocessors().items():
        for start in range(0, len(names), BATCH):
            batch = {name: readable[name] for name in names[start : start + BATCH]}
            yield from ((name, f"{compiler}: {what}") for name, what in disagreements(command, batch))


def compare_closures(
    folder: Path, texts: dict[str, str], counts: Counter[str], args: argparse.Namespace
) -> Iterator[tuple[str, str]]:
    """Yield what g++ opens from a file, by way of headers of the checkout alone, and the file's closure has not."""
    names = random.Random(args.seed).sample(sorted(texts), min(args.reach, len(texts)))
    include = [".", *sorted({parent for name in texts for parent in _include_folders(name)})[:40]]
    toolkit = [f"-isystem{path}" for path in load_toolchain().include_dirs]
    project = Project(folder)
    for name in names:
        try:
            closure = read_closure(folder, name, include=include, project=project)
        except InputError:
            counts["closures refused"] += 1
            continue
        counts["closures"] += 1
        missing = {}
        for view in VIEWS:
            command = [*GCC, *view, *(f"-I{path}" for path in include), *toolkit, name]
            run = subprocess.run(command, check=False, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            opened = list(opened_from(folder, name, run.stderr.decode(errors="replace")))
            counts["opened"] += len(opened)
            missing |= missed(folder, closure, opened)
        for opens, by in missing.items():
            yield name, f"closure: {by} opens {opens}"


def _include_folders(name: str) -> Iterator[str]:
    parts = name.split("/")[:-1]
    for depth, part in enumerate(parts[:4]):
        if part in {"include", "inc", "includes"}:
            yield "/".join(parts[: depth + 1])


def opened_from(folder: Path, name: str, log: str) -> Iterator[tuple[str, str]]:
    """Yield (header, what it opens) by real path, while on a way through files of the checkout."""
    root = os.path.realpath(folder)
    way = [os.path.join(root, name)]
    for line in log.splitlines():
        if match := _OPENED.fullmatch(line):
            path = os.path.realpath(os.path.join(root, match[2]))
            del way[len(match[1]) :]
            if all(before.startswith(f"{root}/") for before in way):
                yield way[-1], path
            way.append(path)


def missed(folder: Path, closure: Closure, opened: list[tuple[str, str]]) -> dict[str, str]:
    """Return the headers that a closure does not know of, with what opens them.

    It knows project files, names of others, and where macros make a name. What those others open is theirs, also where
    the checkout is a toolkit.
    """
    files = {os.path.realpath(folder / path) for path, _ in closure.files}
    computed = {os.path.realpath(folder / place.rpartition(":")[0]) for place in closure.computed}
    found, others = {}, set()
    for by, opens in opened:
        if opens in files:
            continue
        if by in others | computed or any(opens.endswith(f"/{name}") for name in closure.outside):
            others.add(opens)
        else:
            found[opens] = by
    return found


if __name__ == "__main__":
    main()
