"""What commands print: JSON, which each offers that shows something, and nothing at all with ``--quiet``."""

from __future__ import annotations

import json
import os
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

__all__ = ["add_json", "is_quiet", "print_json", "quieted"]


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add ``--json``."""
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")


def print_json(data: object) -> None:
    """Print data as indented JSON."""
    print(json.dumps(data, indent=2))


def is_quiet(args: argparse.Namespace) -> bool:
    """Return whether only errors are to be printed."""
    return getattr(args, "quiet", False)


@contextmanager
def quieted(args: argparse.Namespace) -> Iterator[None]:
    """Let a command that is to be quiet print nothing on standard output but the JSON that it was asked for."""
    if not is_quiet(args) or getattr(args, "json", False):
        yield
        return
    with Path(os.devnull).open("w") as nowhere, redirect_stdout(nowhere):
        yield
