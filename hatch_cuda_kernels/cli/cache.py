"""``cache``: the disk cache of this user."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from hatch_cuda_kernels.cli.output import add_json, print_json

if TYPE_CHECKING:
    import argparse


def register(commands: Any, name: str) -> None:  # noqa: ANN401 - argparse names no type for it
    """Add the command and its actions."""
    parser = commands.add_parser(name, help="look at or empty the disk cache")
    actions = parser.add_subparsers(metavar="action", required=True)
    for action, run, text in (
        ("info", run_info, "where it is and how much it holds"),
        ("clear", run_clear, "remove every entry"),
    ):
        sub = actions.add_parser(action, help=text)
        add_json(sub)
        sub.set_defaults(run=run)


def run_info(args: argparse.Namespace) -> int:
    """Print where the cache is and what it holds."""
    from hatch_cuda_kernels.cache import open_cache  # noqa: PLC0415 - one command needs it, others do not

    info = open_cache().info()
    if args.json:
        print_json(asdict(info))
    else:
        state = "" if info.writable else ", not writable"
        print(f"{info.path}: {info.entries} images, {info.bytes:,} of {info.max_bytes:,} bytes{state}")
    return 0


def run_clear(args: argparse.Namespace) -> int:
    """Remove every entry."""
    from hatch_cuda_kernels.cache import open_cache  # noqa: PLC0415 - one command needs it, others do not

    cache = open_cache()
    removed = cache.clear()
    if args.json:
        print_json({"path": str(cache.path), "removed": removed})
    else:
        print(f"removed {removed} images from {cache.path}")
    return 0
