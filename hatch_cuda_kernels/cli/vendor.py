"""Write a loader of one file, without dependencies.

A library that ships it loads its prebuilt kernels with the standard library and the driver alone. Commit it; --check
says in CI whether it is what this version writes.

    hatch-cuda-kernels vendor --out mylib/_kernels_loader.py
    hatch-cuda-kernels vendor --check mylib/_kernels_loader.py
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from hatch_cuda_kernels.cli.messages import add_json, print_json, show_hint, show_note
from hatch_cuda_kernels.errors import InputError

if TYPE_CHECKING:
    import argparse

    from hatch_cuda_kernels.cli.parser import CommandParser

_DEFAULT = "_kernels_loader.py"


def add_arguments(parser: CommandParser) -> None:
    """Add the arguments."""
    parser.option("--out", "FILE", f"the file to write (default: {_DEFAULT})", type=Path, default=Path(_DEFAULT))
    parser.option("--check", "FILE", "write nothing; status 1 if this loader is not what would be written", type=Path)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Write the file, or say whether one is old. The status is 1 if it is."""
    from hatch_cuda_kernels import __version__
    from hatch_cuda_kernels.vendor import loader_text, why_old  # reads this package's modules

    file = args.check or args.out
    try:
        if args.check is None:
            file.write_text(loader_text(), encoding="utf-8", newline="\n")
        reason = why_old(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{file}: {getattr(error, 'strerror', None) or error}") from error
    if args.json:
        print_json({"file": str(file), "old": reason})
    elif reason is not None:
        print(f"{file}: {reason}")
        show_hint(f"hatch-cuda-kernels vendor --out {file}")
    else:
        show_note(f"{file} is the loader of version {__version__}")
    return 0 if reason is None else 1
