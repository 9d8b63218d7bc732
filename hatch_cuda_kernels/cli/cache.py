"""Show, trim, empty, export or import the disk cache of this user.

hatch-cuda-kernels cache info
hatch-cuda-kernels cache prune --max-bytes 500MB
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from hatch_cuda_kernels.cli.messages import add_json, print_json, utc_text
from hatch_cuda_kernels.cli.parser import CommandParser, add_command, byte_count
from hatch_cuda_kernels.terminal import count_text, printable, text_table

if TYPE_CHECKING:
    import argparse


def add_arguments(parser: CommandParser) -> None:
    """Add the actions."""
    actions = parser.add_subparsers(metavar="action", required=True)
    for run in (run_info, run_ls, run_prune, run_clear, run_export, run_import):
        name = run.__name__.removeprefix("run_")
        sub = add_command(actions, name, run.__doc__, run)
        if name == "prune":
            text = "how much to keep at most, such as 500MB (default: the cap)"
            sub.option("--max-bytes", "SIZE", text, type=byte_count)
        if name in {"export", "import"}:
            sub.option("bundle", "BUNDLE", "a file, such as kernels.zip", type=Path)
        add_json(sub)


def run_info(args: argparse.Namespace) -> int:
    """Show where the disk cache is, and how much it holds.

    hatch-cuda-kernels cache info
    hatch-cuda-kernels cache info --json
    """
    info = _cache().info()
    state = "" if info.writable else ", not writable"
    text = f"{info.path}: {count_text(info.entries, 'image')}, {info.bytes:,} of {info.max_bytes:,} bytes{state}"
    return _show(args, info._asdict(), text)


def run_ls(args: argparse.Namespace) -> int:
    """List the images in the disk cache.

    hatch-cuda-kernels cache ls
    """
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
    """Remove the least recently used images, and what crashed processes left.

    Images go until the cache is within its cap, or within a size that you name.

    hatch-cuda-kernels cache prune
    hatch-cuda-kernels cache prune --max-bytes 500MB
    """
    cache = _cache()
    left = cache.prune(cache.max_bytes if args.max_bytes is None else args.max_bytes)
    return _show(args, {"path": str(cache.path), "bytes": left}, f"{left:,} bytes are left in {cache.path}")


def run_clear(args: argparse.Namespace) -> int:
    """Remove every image, and the notes about toolchains and sources.

    hatch-cuda-kernels cache clear
    """
    cache = _cache()
    removed = cache.clear()
    text = f"removed {count_text(removed, 'image')} from {cache.path}"
    return _show(args, {"path": str(cache.path), "removed": removed}, text)


def run_export(args: argparse.Namespace) -> int:
    """Write all images into a bundle, for another machine or a container.

    hatch-cuda-kernels cache export kernels.zip
    """
    from hatch_cuda_kernels.cache import export_bundle  # zipfile takes a while

    count = export_bundle(_cache(), args.bundle)
    text = f"wrote {count_text(count, 'image')} to {args.bundle}"
    return _show(args, {"bundle": str(args.bundle), "entries": count}, text)


def run_import(args: argparse.Namespace) -> int:
    """Read the images of a bundle into the disk cache.

    hatch-cuda-kernels cache import kernels.zip
    """
    from hatch_cuda_kernels.cache import import_bundle  # zipfile takes a while

    count = import_bundle(_cache(), args.bundle)
    text = f"took {count_text(count, 'image')} from {args.bundle}"
    return _show(args, {"bundle": str(args.bundle), "entries": count}, text)


def _cache() -> Any:  # DiskCache, imported where a command runs
    from hatch_cuda_kernels.cache import open_cache

    return open_cache()


def _show(args: argparse.Namespace, data: dict[str, Any], text: str) -> int:
    if args.json:
        print_json(data)
    else:
        print(printable(text, lines=True))
    return 0
