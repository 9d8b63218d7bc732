"""Some sources of the repositories that are checked out, the same for the same seed."""

from __future__ import annotations

import argparse
import random
from pathlib import Path
from typing import TYPE_CHECKING

from sources import kernel_sources, load_list

from hatch_cuda_kernels.manifest import list_files
from hatch_cuda_kernels.options import CppStd, NvrtcOptions
from hatch_cuda_kernels.scaffold import include_folders

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sources import Repository


def source_parser(description: str | None, *, each: int) -> argparse.ArgumentParser:
    """Return a parser of what ``drawn`` takes, and of where the outcome goes."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkouts", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--only", nargs="+", metavar="NAME", help="repositories as owner/name")
    parser.add_argument("--each", type=int, default=each, help="sources of each repository")
    parser.add_argument("--seed", type=int, default=7, help="which ones")
    return parser


def drawn(args: argparse.Namespace) -> Iterator[tuple[Repository, Path, str]]:
    """Yield a repository, its checkout, and a source in it, some for each repository."""
    for entry in load_list():
        root = args.checkouts / entry.checkout
        if root.is_dir() and (not args.only or entry.name in args.only):
            names = kernel_sources(entry, root)
            for source in sorted(random.Random(args.seed).sample(names, min(len(names), args.each))):
                yield entry, root, source


def options_of(entry: Repository, root: Path, source: str) -> NvrtcOptions:
    """Return what a manifest would state for a source."""
    include = include_folders(root, source, list_files(root), entry.include_of(source, root))
    return NvrtcOptions(include=tuple(include), define=entry.define, std=CppStd(entry.std))
