"""Write what a wheel holds and costs as an HTML page.

Compared with an older wheel, the page also shows what changed.

    hatch-cuda-kernels report dist/new.whl
    hatch-cuda-kernels report dist/new.whl --against old.whl --fail-on-regression
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from hatch_cuda_kernels import report, store
from hatch_cuda_kernels.cli.messages import CommandResult, add_json
from hatch_cuda_kernels.cli.parser import Arguments, CommandParser, add_package
from hatch_cuda_kernels.errors import InputError
from hatch_cuda_kernels.terminal import count_text

if TYPE_CHECKING:
    from hatch_cuda_kernels.report import PackageFacts, Report, Timings


def add_arguments(parser: CommandParser) -> None:
    """Add the arguments."""
    add_package(parser)
    parser.option("--against", "OLD", "an older wheel, folder or package: show what changed")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="the page (default: report.html)")
    parser.option("--timings", "FILE", "what build --json printed: its compile times", type=Path)
    parser.flag("--fail-on-regression", "exit with 1 if something got worse")
    add_json(parser)


def run(args: Arguments) -> CommandResult:
    """Write the page, and with ``--json`` print its data; then the page is written only with ``--output``."""
    if args.fail_on_regression and args.against is None:
        raise InputError("--fail-on-regression needs an older wheel to compare with: name it with --against")
    timings = report.read_timings(args.timings) if args.timings is not None else None
    old = _open(args.against) if args.against is not None else None
    found = report.Report(_open(args.package, timings), old)
    if args.output is not None or not args.json:
        html, path = report.render_page(found), args.output or Path("report.html")
        try:
            path.write_text(html, encoding="utf-8")
        except OSError as error:
            raise InputError(f"cannot write {path}: {error.strerror}") from error
    worse = args.fail_on_regression and found.comparison is not None and found.comparison.regressions
    return CommandResult(found.to_json(), f"written to {args.output or 'report.html'}{_verdict(found)}", not worse)


def _open(package: str, timings: Timings | None = None) -> PackageFacts:
    with store.open_package(package) as reader:
        return report.read_package(reader, timings)


def _verdict(found: Report) -> str:
    """Return the regressions, one on each line."""
    if found.comparison is None:
        return ""
    worse, verdict = found.comparison.regressions, found.comparison.verdict
    counts = f"{count_text(len(worse), 'regression')} among {count_text(len(found.comparison.changes), 'change')}"
    lines = (f"  {change.rule.title}: {change.where}: {' -> '.join(filter(None, change.values()))}" for change in worse)
    return "\n".join([f"\n{counts}, verdict {verdict}", *(line.removesuffix(": ") for line in lines)])
