"""Check a wheel before its release, without a GPU.

The checks find what is promised and missing, and what is damaged.

    hatch-cuda-kernels verify dist/mylib-1.0-py3-none-any.whl
    hatch-cuda-kernels verify dist/mylib-1.0-py3-none-any.whl --rebuild
    hatch-cuda-kernels verify mylib --supports-devices 8.0 9.0 --max-size 5MB
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hatch_cuda_kernels.cli.messages import add_json, print_json
from hatch_cuda_kernels.cli.parser import CommandParser, add_package, byte_count, cuda_version, device
from hatch_cuda_kernels.terminal import count_text, paint_matches, wrap

if TYPE_CHECKING:
    import argparse

    from hatch_cuda_kernels.errors import Problem
    from hatch_cuda_kernels.verify import Verification


def add_arguments(parser: CommandParser) -> None:
    """Add the arguments."""
    add_package(parser)
    parser.option("--supports-devices", "X.Y", "compute capabilities to prove", type=device, nargs="+")
    parser.option("--driver", "X.Y", "oldest CUDA driver to prove them for", type=cuda_version)
    parser.option("--max-spill-bytes", "SIZE", "maximum bytes a kernel may spill", type=byte_count)
    text = "maximum of the wheel, such as 5MB, or of the store without one"
    parser.option("--max-size", "SIZE", text, type=byte_count)
    parser.flag("--rebuild", "build the store again and compare every file")
    parser.option("--keep", "DIR", "leave both stores of --rebuild in a new folder", type=Path)
    parser.option("--skip", "CHECK", "skip a check; repeatable", action="append", default=[])
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Print every check with its problems. The status is 1 if there are any."""
    from hatch_cuda_kernels.store import open_package
    from hatch_cuda_kernels.verify import Demands, verify_store  # one command needs it

    demands = Demands(
        devices=tuple(args.supports_devices or ()),
        driver=args.driver,
        max_spill_bytes=args.max_spill_bytes,
        max_size=args.max_size,
        rebuild=args.rebuild,
        keep=args.keep,
        skip=frozenset(args.skip),
    )
    wheel = Path(args.package) if args.package.endswith(".whl") else None
    with open_package(args.package) as reader:
        verification = verify_store(reader, demands, wheel=wheel)
    if args.json:
        checks = [{"check": name, **outcome.to_json()} for name, outcome in verification.results.items()]
        print_json({"package": args.package, "ok": verification.ok, "checks": checks})
    else:
        text = wrap("\n".join(_lines(verification, args.package)), 24)
        print(paint_matches(text, "^failed|^.*: failed, .*", "red", sys.stdout))
    return 0 if verification.ok else 1


def _lines(verification: Verification, package: str) -> Iterator[str]:
    """Yield one line for each check, its problems below it, and the verdict."""
    for check, outcome in verification.results.items():
        what = re.sub(r"s\b", "", outcome.what, count=1) if outcome.checked == 1 else outcome.what
        looked_at = outcome.skipped or f"{outcome.checked:,} {what}"
        found = f", {_count(outcome.problems)}" if outcome.problems else ""
        yield f"{outcome.state:8} {check:14} {looked_at}{found}"
        for problem in outcome.problems:
            yield f"    {problem._replace(fix='')}"
            yield f"        to fix: {problem.fix}"
    yield f"{package}: ok" if verification.ok else f"{package}: failed, {_count(verification.problems)}"


def _count(problems: Sequence[Problem]) -> str:
    return count_text(len(problems), "problem")
