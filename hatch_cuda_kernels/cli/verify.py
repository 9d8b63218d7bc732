"""Check a wheel before its release, without a GPU.

The checks find what is promised and missing, and what is damaged.

    hatch-cuda-kernels verify dist/mylib-1.0-py3-none-any.whl
    hatch-cuda-kernels verify dist/mylib-1.0-py3-none-any.whl --rebuild
    hatch-cuda-kernels verify mylib --supports-devices 8.0 9.0 --max-size 5MB
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from hatch_cuda_kernels.cli.messages import add_json, print_json
from hatch_cuda_kernels.cli.parser import add_package, byte_count, cuda_version, device
from hatch_cuda_kernels.terminal import count_text, paint_matches, wrap

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from hatch_cuda_kernels.errors import Problem
    from hatch_cuda_kernels.verify import Demands, Verification


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add_package(parser)
    parser.add_argument(
        "--supports-devices", nargs="+", type=device, metavar="X.Y", help="compute capabilities to prove"
    )
    parser.add_argument("--driver", type=cuda_version, metavar="X.Y", help="oldest CUDA driver to prove them for")
    parser.add_argument("--max-spill-bytes", type=byte_count, metavar="SIZE", help="maximum bytes a kernel may spill")
    parser.add_argument(
        "--max-size",
        type=byte_count,
        metavar="SIZE",
        help="maximum of the wheel, such as 5MB, or of the store without one",
    )
    parser.add_argument("--rebuild", action="store_true", help="build the store again and compare every file")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="leave both stores of --rebuild in a new folder")
    parser.add_argument("--skip", action="append", default=[], metavar="CHECK", help="skip a check; repeatable")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Print every check with its problems. The status is 1 if there are any."""
    from hatch_cuda_kernels.store import open_package
    from hatch_cuda_kernels.verify import verify_store  # one command needs it

    wheel = Path(args.package) if args.package.endswith(".whl") else None
    with open_package(args.package) as reader:
        verification = verify_store(reader, _demands(args), wheel=wheel)
    if args.json:
        checks = [result.to_json() for result in verification.results]
        print_json({"package": args.package, "ok": verification.ok, "checks": checks})
    else:
        text = wrap("\n".join(_lines(verification, args.package)), 24)
        print(paint_matches(text, "^failed|^.*: failed, .*", "red", sys.stdout))
    return 0 if verification.ok else 1


def _demands(args: argparse.Namespace) -> Demands:
    from hatch_cuda_kernels.verify import Demands  # one command needs it

    return Demands(
        devices=tuple(args.supports_devices or ()),
        driver=args.driver,
        max_spill_bytes=args.max_spill_bytes,
        max_size=args.max_size,
        rebuild=args.rebuild,
        keep=args.keep,
        skip=frozenset(args.skip),
    )


def _lines(verification: Verification, package: str) -> Iterator[str]:
    """Yield one line for each check, its problems below it, and the verdict."""
    for result in verification.results:
        check, outcome = result
        looked_at = outcome.skipped or f"{outcome.checked:,} {outcome.what}"
        found = f", {_count(outcome.problems)}" if outcome.problems else ""
        yield f"{result.state:8} {check:14} {looked_at}{found}"
        for problem in outcome.problems:
            yield f"    {problem._replace(fix='')}"
            yield f"        to fix: {problem.fix}"
    yield f"{package}: ok" if verification.ok else f"{package}: failed, {_count(verification.problems)}"


def _count(problems: Sequence[Problem]) -> str:
    return count_text(len(problems), "problem")
