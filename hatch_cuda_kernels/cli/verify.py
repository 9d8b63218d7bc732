"""``verify``: the release gate. What is in a wheel is what it says and promises, or each gap is named."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hatch_cuda_kernels.arch import ComputeCapability
from hatch_cuda_kernels.cli.output import add_json, open_any, print_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hatch_cuda_kernels.verify import Demands, Finding, Report


def register(commands: Any, name: str) -> None:  # argparse names no type for it
    """Add the command."""
    parser = commands.add_parser(name, help="check a wheel before its release, without a GPU")
    parser.add_argument("package", metavar="WHEEL|DIR|PACKAGE")
    parser.add_argument(
        "--supports-devices", nargs="+", type=_device, metavar="X.Y", help="compute capabilities to prove"
    )
    parser.add_argument("--driver", type=_driver, metavar="X.Y", help="oldest CUDA driver to prove them with")
    parser.add_argument("--max-spill-bytes", type=_bytes, metavar="N", help="most bytes a kernel may spill")
    parser.add_argument("--max-size", type=_bytes, metavar="N", help="most bytes of the wheel, or else of the store")
    parser.add_argument("--rebuild", action="store_true", help="compile the shipped sources again, compare bytes")
    parser.add_argument("--skip", action="append", default=[], metavar="CHECK", help="leave a check out; repeatable")
    add_json(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print every check with what it found; 1 when there is anything."""
    from hatch_cuda_kernels.store.reader import StoreReader
    from hatch_cuda_kernels.verify import verify_store  # one command needs it

    wheel = Path(args.package) if args.package.endswith(".whl") else None
    with open_any(args.package) as store:
        report = verify_store(StoreReader(store.path), _demands(args), wheel=wheel)
    if args.json:
        checks = [result.to_json() for result in report.results]
        print_json({"package": args.package, "ok": report.ok, "checks": checks})
    else:
        print("\n".join(_lines(report, args.package)))
    return 0 if report.ok else 1


def _demands(args: argparse.Namespace) -> Demands:
    from hatch_cuda_kernels.verify import Demands  # one command needs it

    return Demands(
        devices=tuple(args.supports_devices or ()),
        driver=args.driver,
        max_spill_bytes=args.max_spill_bytes,
        max_size=args.max_size,
        rebuild=args.rebuild,
        skip=frozenset(args.skip),
    )


def _lines(report: Report, package: str) -> Iterator[str]:
    """Yield one line a check, below it what it found, and the verdict."""
    for result in report.results:
        check, outcome = result
        looked_at = outcome.skipped or f"{outcome.checked:,} {outcome.what}"
        found = f", {_problems(outcome.findings)}" if outcome.findings else ""
        yield f"{result.state:8} {check:14} {looked_at}{found}"
        for finding in outcome.findings:
            yield f"    {_place(finding)}{finding.problem}"
            yield f"        to fix: {finding.fix}"
    yield f"{package}: ok" if report.ok else f"{package}: failed, {_problems(report.findings)}"


def _problems(findings: Sequence[Finding]) -> str:
    return f"{len(findings)} problem{'' if len(findings) == 1 else 's'}"


def _place(finding: Finding) -> str:
    place = "/".join(filter(None, (finding.module, finding.image)))
    return f"{place}: " if place else ""


def _device(text: str) -> ComputeCapability:
    try:
        return ComputeCapability.parse(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _driver(text: str) -> tuple[int, int]:
    major, dot, minor = text.partition(".")
    if not (dot and major.isdecimal() and minor.isdecimal()):
        raise argparse.ArgumentTypeError(f"{text!r} is not a CUDA version; write it like 13.0")
    return int(major), int(minor)


def _bytes(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of bytes")
    return int(text)
