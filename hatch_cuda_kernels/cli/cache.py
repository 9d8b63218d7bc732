"""Show, trim, empty, export or import the disk cache of this user.

hatch-cuda-kernels cache info
hatch-cuda-kernels cache prune --max-bytes 500MB
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatch_cuda_kernels import cache
from hatch_cuda_kernels.cli.messages import CommandResult, add_json, utc_text
from hatch_cuda_kernels.cli.parser import Arguments, CommandParser, add_command, byte_count, help_of
from hatch_cuda_kernels.terminal import count_text, printable, text_table


def add_arguments(parser: CommandParser) -> None:
    """Add the actions."""
    actions = parser.add_subparsers(metavar="action", required=True)
    for run in (run_info, run_ls, run_prune, run_clear, run_export, run_import):
        name = run.__name__.removeprefix("run_")
        sub = add_command(actions, name, help_of(run), run)
        if name == "prune":
            text = "how much to keep at most, such as 500MB (default: the cap)"
            sub.option("--max-bytes", "SIZE", text, type=byte_count)
        if name in {"export", "import"}:
            sub.option("bundle", "BUNDLE", "a file, such as kernels.zip", type=Path)
        add_json(sub)


def run_info(_: Arguments) -> CommandResult:
    """Show where the disk cache is, and how much it holds.

    hatch-cuda-kernels cache info
    hatch-cuda-kernels cache info --json
    """
    info = cache.open_cache().info()
    state = "" if info.writable else ", not writable"
    text = f"{info.path}: {count_text(info.entries, 'image')}, {info.bytes:,} of {info.max_bytes:,} bytes{state}"
    return _answer(info._asdict(), text)


def run_ls(_: Arguments) -> CommandResult:
    """List the images in the disk cache.

    hatch-cuda-kernels cache ls
    """
    rows: list[dict[str, Any]] = [
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
        for entry, size, used in cache.open_cache().entries()
    ]
    headings = ("key", "module", "arch", "kind", "bytes", "used, UTC")
    cells = [
        (
            row["key"][:12],
            *(row[name] for name in headings[1:4]),
            f"{row['bytes']:,}",
            row["used"][:16].replace("T", " "),
        )
        for row in rows
    ]
    total = f"{count_text(len(rows), 'image')}, {sum(row['bytes'] for row in rows):,} bytes"
    return _answer({"entries": rows}, f"{text_table(headings, cells, right=('bytes',))}\n{total}")


def run_prune(args: Arguments) -> CommandResult:
    """Remove the least recently used images, and what crashed processes left.

    Images go until the cache is within its cap, or within a size that you name.

    hatch-cuda-kernels cache prune
    hatch-cuda-kernels cache prune --max-bytes 500MB
    """
    disk = cache.open_cache()
    left = disk.prune(disk.max_bytes if args.max_bytes is None else args.max_bytes)
    return _answer({"path": str(disk.path), "bytes": left}, f"{left:,} bytes are left in {disk.path}")


def run_clear(_: Arguments) -> CommandResult:
    """Remove every image, and the notes about toolchains and sources.

    hatch-cuda-kernels cache clear
    """
    disk = cache.open_cache()
    removed = disk.clear()
    text = f"removed {count_text(removed, 'image')} from {disk.path}"
    return _answer({"path": str(disk.path), "removed": removed}, text)


def run_export(args: Arguments) -> CommandResult:
    """Write all images into a bundle, for another machine or a container.

    hatch-cuda-kernels cache export kernels.zip
    """
    count = cache.export_bundle(cache.open_cache(), args.bundle)
    text = f"wrote {count_text(count, 'image')} to {args.bundle}"
    return _answer({"bundle": str(args.bundle), "entries": count}, text)


def run_import(args: Arguments) -> CommandResult:
    """Read the images of a bundle into the disk cache.

    hatch-cuda-kernels cache import kernels.zip
    """
    count = cache.import_bundle(cache.open_cache(), args.bundle)
    text = f"took {count_text(count, 'image')} from {args.bundle}"
    return _answer({"bundle": str(args.bundle), "entries": count}, text)


def _answer(data: dict[str, Any], text: str) -> CommandResult:
    return CommandResult(data, printable(text, lines=True))
