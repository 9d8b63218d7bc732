"""JSON output, which every command that shows something offers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

__all__ = ["add_json", "print_json"]


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add ``--json``."""
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")


def print_json(data: object) -> None:
    """Print data as indented JSON."""
    print(json.dumps(data, indent=2))
