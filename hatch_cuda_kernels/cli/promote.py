"""Turn what was compiled at run time into a patch for kernels.yaml.

hatch-cuda-kernels promote --package mylib
hatch-cuda-kernels promote --package mylib --apply
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hatch_cuda_kernels import cache, store
from hatch_cuda_kernels.cli.messages import CommandResult, add_json, diff_of, utc_text
from hatch_cuda_kernels.cli.parser import Arguments, CommandParser, add_manifest, add_package, manifest_path
from hatch_cuda_kernels.errors import InputError
from hatch_cuda_kernels.names import values_text
from hatch_cuda_kernels.terminal import count_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hatch_cuda_kernels.promote import Miss, Promotion


def add_arguments(parser: CommandParser) -> None:
    """Add the arguments."""
    add_manifest(parser)
    add_package(parser, name="--package")
    parser.flag("--apply", "write the manifest, besides showing the patch")
    parser.option("--bundle", "FILE", "write the recorded images into a cache bundle", type=Path)
    add_json(parser)


def run(args: Arguments) -> CommandResult:
    """Print the patch. The status is 1 if a recorded compile cannot be added to the manifest."""
    from hatch_cuda_kernels.promote import find_misses  # no other command needs it

    disk = cache.open_cache()
    with store.open_package(args.package) as reader:
        misses = find_misses(reader, disk)
    promotion = _promotion(args, misses)
    if args.bundle is not None:
        cache.export_bundle(disk, args.bundle, keys={miss.key for miss in misses})
    diff = where = ""
    if promotion is not None:
        diff, where = diff_of(manifest_path(args), promotion.before, promotion.after)
        if args.apply:
            manifest_path(args).write_bytes(promotion.after.encode())
    ok = promotion is None or not promotion.refused
    notes = [*_notes(args, misses, promotion), *([] if args.apply or not where else [where])]
    # Only the patch is on standard output, so that it can be piped.
    return CommandResult(_data(args, misses, promotion, diff), diff, ok, notes)


def _promotion(args: Arguments, misses: Sequence[Miss]) -> Promotion | None:
    """Return the changes to the manifest; None if only a bundle was requested and there is no manifest here."""
    if args.bundle is not None and not args.apply and args.manifest is None:
        with suppress(InputError):
            manifest_path(args)
        if args.manifest is None:
            return None
    from hatch_cuda_kernels.promote import promote  # needs yaml

    return promote(manifest_path(args), [miss.wanted for miss in misses])


def _notes(args: Arguments, misses: Sequence[Miss], promotion: Promotion | None) -> Iterator[str]:
    for miss in misses:
        values = values_text(dict(miss.wanted.axes))
        reason = "not prebuilt for it" if miss.listed else f"{values} not listed" if values else "not listed"
        yield f"{miss.module}: {miss.kernel} on {miss.arch}: {reason}, compiled {miss.created}"
    if not misses:
        yield f"nothing to add: no other kernel of {args.package} was compiled on this machine"
    if promotion is not None:
        yield from (f"not promoted: {problem}" for problem in promotion.refused)
        if misses and not promotion.changes and not promotion.refused:
            yield f"{manifest_path(args)} already lists all of it; build the package again"
        if args.apply and promotion.changes:
            yield f"written to {manifest_path(args)}"
    if args.bundle is not None:
        yield f"wrote {count_text(len(misses), 'image')} to {args.bundle}"


def _data(args: Arguments, misses: Sequence[Miss], promotion: Promotion | None, diff: str) -> dict[str, Any]:
    return {
        "misses": [_miss_data(miss) for miss in misses],
        "changes": list(promotion.changes) if promotion is not None else [],
        "problems": list(promotion.refused) if promotion is not None else [],
        "diff": diff,
        "applied": bool(args.apply and promotion is not None and promotion.changes),
        "bundle": None if args.bundle is None else str(args.bundle),
    }


def _miss_data(miss: Miss) -> dict[str, Any]:
    data = miss._asdict() | {"arch": str(miss.arch), "used": utc_text(miss.used)}
    wanted = data.pop("wanted")
    return data | ({"family": wanted.family, "axes": dict(wanted.axes)} if wanted.axes else {})
