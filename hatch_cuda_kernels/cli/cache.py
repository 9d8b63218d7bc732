"""``cache``: this user's disk cache."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from hatch_cuda_kernels.cli.messages import add_json, print_json, utc_text
from hatch_cuda_kernels.cli.parser import byte_count
from hatch_cuda_kernels.terminal import count_text, printable, text_table

if TYPE_CHECKING:
    import argparse


def register(commands: Any, name: str) -> None:  # argparse names no type for it
    """Add the command and its actions."""
    parser = commands.add_parser(name, help="show, trim, export, import or empty the disk cache")
    actions = parser.add_subparsers(metavar="action", required=True)
    for action, run, text in (
        ("info", run_info, "where it is and how much it holds"),
        ("ls", run_ls, "what it holds, entry by entry"),
        ("prune", run_prune, "remove the least recently used entries and stale leftovers"),
        ("clear", run_clear, "remove every entry and what is remembered about toolchains and sources"),
        ("export", run_export, "write entries into a bundle, for another machine or a container"),
        ("import", run_import, "read the entries of a bundle into the cache"),
    ):
        sub = actions.add_parser(action, help=text)
        if action == "prune":
            sub.add_argument(
                "--max-bytes",
                type=byte_count,
                metavar="SIZE",
                help="how much to keep at most, such as 500MB (default: the cap)",
            )
        if action in {"export", "import"}:
            sub.add_argument("bundle", type=Path, metavar="BUNDLE", help="a file, such as kernels.zip")
        add_json(sub)
        sub.set_defaults(run=run)


def run_info(args: argparse.Namespace) -> int:
    """Print where the cache is and what it holds."""
    info = _cache().info()
    state = "" if info.writable else ", not writable"
    text = f"{info.path}: {count_text(info.entries, 'image')}, {info.bytes:,} of {info.max_bytes:,} bytes{state}"
    return _show(args, info._asdict(), text)


def run_ls(args: argparse.Namespace) -> int:
    """Print every entry: what it is, which toolchain compiled it, its size, and when it was last used."""
    rows = [
        {
            "key": entry.key,
            "module": entry.module,
            "arch": str(entry.arch),
            "kind": entry.kind,
            "bytes": size,
            "toolchain": entry.toolchain,
            "created": entry.created,
            "used": utc_text(used),
        }
        for entry, size, used in _cache().entries()
    ]
    headings = ("key", "module", "arch", "kind", "bytes", "used, UTC")
    cells = [
        (
            row["key"][:12],
            row["module"],
            row["arch"],
            row["kind"],
            f"{row['bytes']:,}",
            row["used"][:16].replace("T", " "),
        )
        for row in rows
    ]
    total = f"{count_text(len(rows), 'image')}, {sum(row['bytes'] for row in rows):,} bytes"
    return _show(args, {"entries": rows}, f"{text_table(headings, cells, right=('bytes',))}\n{total}")


def run_prune(args: argparse.Namespace) -> int:
    """Remove the least recently used entries, down to the cap or the size given."""
    cache = _cache()
    left = cache.prune(cache.max_bytes if args.max_bytes is None else args.max_bytes)
    return _show(args, {"path": str(cache.path), "bytes": left}, f"{left:,} bytes are left in {cache.path}")


def run_clear(args: argparse.Namespace) -> int:
    """Remove every entry, and the notes about toolchains and sources."""
    cache = _cache()
    removed = cache.clear()
    return _show(
        args, {"path": str(cache.path), "removed": removed}, f"removed {count_text(removed, 'image')} from {cache.path}"
    )


def run_export(args: argparse.Namespace) -> int:
    """Write every entry into a bundle."""
    from hatch_cuda_kernels.cache import export_bundle  # zipfile takes a while

    count = export_bundle(_cache(), args.bundle)
    return _show(
        args, {"bundle": str(args.bundle), "entries": count}, f"wrote {count_text(count, 'image')} to {args.bundle}"
    )


def run_import(args: argparse.Namespace) -> int:
    """Read the entries of a bundle into the cache; those with a wrong digest are left out."""
    from hatch_cuda_kernels.cache import import_bundle  # zipfile takes a while

    count = import_bundle(_cache(), args.bundle)
    return _show(
        args, {"bundle": str(args.bundle), "entries": count}, f"took {count_text(count, 'image')} from {args.bundle}"
    )


def _cache() -> Any:  # DiskCache, imported where a command runs
    from hatch_cuda_kernels.cache import open_cache  # no other command needs it

    return open_cache()


def _show(args: argparse.Namespace, data: dict[str, Any], text: str) -> int:
    if args.json:
        print_json(data)
    else:
        print(printable(text, lines=True))
    return 0
