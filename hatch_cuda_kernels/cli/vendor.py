"""Write a loader of one file, without dependencies.

A library that ships it loads its prebuilt kernels with the driver alone: a Python file, which needs the standard
library besides, or a header of C++17. Commit it; --check says in CI whether it is what this version writes.

    hatch-cuda-kernels vendor --out mylib/_kernels_loader.py
    hatch-cuda-kernels vendor --language c++ --out include/hatch_cuda_kernels.hpp
    hatch-cuda-kernels vendor --check mylib/_kernels_loader.py
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from hatch_cuda_kernels import pool, store, vendor
from hatch_cuda_kernels.cli.messages import CommandResult, add_json, is_quiet, show_warning
from hatch_cuda_kernels.cli.parser import Arguments, CommandParser, manifest_path
from hatch_cuda_kernels.errors import InputError

_FILES = {"python": "_kernels_loader.py", "c++": "hatch_cuda_kernels.hpp"}


def add_arguments(parser: CommandParser) -> None:
    """Add the arguments."""
    parser.option("--language", "python|c++", "what the library is written in", choices=[*_FILES], default="python")
    names = " or ".join(_FILES.values())
    parser.option("--out", "FILE", f"the file to write (default: {names})", type=Path)
    parser.option("--check", "FILE", "write nothing; status 1 if this loader is not what would be written", type=Path)
    add_json(parser)


def run(args: Arguments) -> CommandResult:
    """Write the file, or say whether one is old. The status is 1 if it is."""
    from hatch_cuda_kernels import __version__
    from hatch_cuda_kernels.compiler.toolchain import quoted
    from hatch_cuda_kernels.vendor import header_text, language_of, loader_text, why_old  # reads this package's modules

    file = args.check or args.out or Path(_FILES[args.language])
    try:
        if args.check is None:
            if file.is_file() and file.stat().st_size:
                language_of(_text(file))  # what is no loader is not replaced
            made = loader_text() if args.language == "python" else header_text()
            file.write_text(made, encoding="utf-8", newline="\n")
        text = _text(file)
        reason = why_old(text)
    except OSError as error:
        raise InputError(f"{file}: {error.strerror}") from error
    except InputError as error:
        raise InputError(f"{file}: {error}") from error
    if reason is None:
        return CommandResult({"file": str(file), "old": None}, notes=[f"{file} is the loader of version {__version__}"])
    language = " --language c++" if language_of(text) == "c++" else ""
    fix = f"  to fix: hatch-cuda-kernels vendor{language} --out {quoted(str(file))}"
    return CommandResult({"file": str(file), "old": reason}, f"{file}: {reason}", ok=False, notes=[fix])


def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8", errors="replace")


class Embed:
    """Put a store into an object file or C++ text, for a program in C++.

    The loader that vendor --language c++ writes finds it there by its name. Images are unpacked, so that no
    decompressor is needed. An object file (.o) is written without a compiler, for x86-64 and aarch64 with ELF, thus
    for Linux; C++ text (.cpp) is for any other. A manifest is built first; unchanged images come from the disk cache.

    hatch-cuda-kernels embed --out mylib_kernels.o
    hatch-cuda-kernels embed mylib --out mylib_kernels.cpp
    hatch-cuda-kernels embed kernels.yaml --out kernels.o --depfile kernels.d
    """

    @staticmethod
    def add_arguments(parser: CommandParser) -> None:
        """Add the arguments."""
        text = "what holds the store, or a manifest to build (default: the kernels.yaml that is found from here)"
        parser.option("source", "PACKAGE|MANIFEST", text, nargs="?")
        parser.option("--out", "FILE", "the file to write, .o or .cpp", type=Path, required=True)
        parser.option("--name", "NAME", "the name in C++ (default: that of the file)")
        parser.option(
            "--machine", "|".join(vendor.MACHINES), "of an object file (default: this machine)", choices=vendor.MACHINES
        )
        parser.option("--depfile", "FILE", "also write what it was built from, as make and ninja read it", type=Path)
        add_json(parser)

    @staticmethod
    def run(args: Arguments) -> CommandResult:
        """Write the file."""
        from hatch_cuda_kernels.vendor import CPP_BEGIN, check_symbol, cpp_text, embedded_files, object_file, table_of

        if args.out.suffix not in {".o", ".cpp"}:
            raise InputError(f"{args.out}: neither .o nor .cpp")
        before = _text(args.out) if args.out.suffix == ".cpp" and args.out.is_file() else ""
        if before and not before.startswith(CPP_BEGIN):
            raise InputError(f"{args.out}: this is not what hatch-cuda-kernels embed wrote")
        name = check_symbol(args.name or args.out.stem)
        with tempfile.TemporaryDirectory(prefix="hatch-cuda-kernels-") as folder:
            package = args.source
            made_of: list[str] = []
            if package is None or package.endswith((".yaml", ".yml")):
                package, made_of = _built(args, Path(folder) / "store")
            with store.open_package(package) as reader:
                table = table_of(embedded_files(reader))
                made_of = made_of or _files_of(package, reader.folder)
        data = object_file(table, name, args.machine) if args.out.suffix == ".o" else cpp_text(table, name).encode()
        try:
            args.out.write_bytes(data)
            if args.depfile:
                args.depfile.write_text(f"{_in_make(args.out)}: {' '.join(map(_in_make, made_of))}\n", encoding="utf-8")
        except OSError as error:
            raise InputError(f"{error.filename}: {error.strerror}") from error
        note = f"{args.out}: {len(table):,} bytes; in C++, HATCH_CUDA_KERNELS_EMBEDDED({name}) declares them"
        return CommandResult({"file": str(args.out), "name": name, "bytes": len(table)}, notes=[note])


def _built(args: Arguments, out: Path) -> tuple[str, list[str]]:
    """Build a manifest's store into a folder; return that, and the files that it was built from."""
    from hatch_cuda_kernels.build import build_store  # loads NVRTC
    from hatch_cuda_kernels.manifest import load_manifest  # needs yaml

    args.manifest = args.source
    manifest = load_manifest(manifest_path(args))
    report = build_store(manifest, out, progress=None if is_quiet(args) else pool.open_progress())
    for warning in () if is_quiet(args) else report.warnings:
        show_warning(warning)
    files = {path for index in store.StoreReader(out).modules() for path in index.files if not path.startswith("@")}
    return str(out), [str(manifest.path), *(str(manifest.root / path) for path in sorted(files))]


def _files_of(package: str, folder: Path) -> list[str]:
    is_wheel = package.endswith(".whl")  # its folder is a temporary one
    return [package] if is_wheel else sorted(str(path) for path in folder.rglob("*") if path.is_file())


def _in_make(path: object) -> str:
    return str(path).replace("$", "$$").replace("#", "\\#").replace(" ", "\\ ")
