"""Say whether a release is major, minor or patch.

It counts what the users of the older release would notice. Every change is listed with its severity and the reason.

    hatch-cuda-kernels compare released.whl dist/new.whl
    hatch-cuda-kernels compare released.whl dist/new.whl --expect minor
    hatch-cuda-kernels compare released.whl dist/new.whl --markdown
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from hatch_cuda_kernels import report, store
from hatch_cuda_kernels.cli.messages import CommandResult, add_json
from hatch_cuda_kernels.errors import InputError
from hatch_cuda_kernels.terminal import count_text, paint_matches, printable, text_table, wrap

if TYPE_CHECKING:
    from hatch_cuda_kernels.cli.parser import Arguments, CommandParser
    from hatch_cuda_kernels.report import Change, Comparison, PackageFacts

#: Headings of a changelog.
_HEADINGS: Final = {"major": "Breaking changes", "minor": "Minor changes", "patch": "Other changes"}


def add_arguments(parser: CommandParser) -> None:
    """Add the arguments."""
    for name in ("old", "new"):
        parser.option(name, name.upper(), f"the {name}er release: wheel, folder or import name")
    parser.option("--expect", "SEVERITY", "exit with 1 beyond major, minor or patch", choices=tuple(_HEADINGS))
    add_json(parser)
    parser.flag("--markdown", "print a section for a changelog")


def run(args: Arguments) -> CommandResult:
    """Print every change and the verdict. The status is 1 if the verdict is greater than the expected one."""
    if args.json and args.markdown:
        raise InputError("--json and --markdown are two ways to print the same; choose one")
    sides = []
    for package in (args.old, args.new):
        with store.open_package(package) as reader:
            sides.append(report.read_package(reader, {}))
    old, new = sides
    comparison = report.compare(old, new)
    beyond = comparison.beyond(args.expect) if args.expect else ()
    notes, problems = [], []
    if _numbers(old) > _numbers(new):
        notes.append(f"note: {old.label} is the newer one by its version; the older release comes first")
    if beyond:
        names = "; ".join(f"{change.rule.title}: {change.where}" for change in beyond)
        problems.append(f"expected {args.expect} at most, and the verdict is {comparison.verdict}: {names}")
    lines = _markdown(comparison) if args.markdown else _lines(comparison, f"{_label(old)} -> {_label(new)}")
    return CommandResult(
        _data(old, new, comparison, args.expect, ok=not beyond), "\n".join(lines), not beyond, notes, problems
    )


def _label(side: PackageFacts) -> str:
    return f"{side.name} {side.version}" if side.name else printable(side.label)


def _numbers(side: PackageFacts) -> list[int]:
    found = re.match(r"\d+(?:\.\d+)*", side.version)
    return [*map(int, found[0].split("."))] if found else []


def _data(
    old: PackageFacts, new: PackageFacts, comparison: Comparison, expect: str | None, *, ok: bool
) -> dict[str, Any]:
    sides = {
        key: {"package": side.name, "version": side.version, "label": side.label, "bytes": side.bytes}
        for key, side in (("old", old), ("new", new))
    }
    changes = [change.to_json() for change in comparison.changes]
    return {**sides, "verdict": comparison.verdict, "expect": expect, "ok": ok, "changes": changes}


def _lines(comparison: Comparison, what: str) -> Iterator[str]:
    rows = [(one.rule.severity, one.rule.title, one.where, *one.values()) for one in comparison.changes]
    if rows:
        table = text_table(("severity", "change", "where", "before", "now"), rows)
        yield paint_matches(table, "^major .*", "red", sys.stdout)
        reasons = {one.rule.title: one.rule.why for one in comparison.changes if one.rule.severity != "patch"}
        yield wrap("\n".join(["", *(f"{title}: {why}" for title, why in reasons.items())]), 2)
        yield ""
    counts = [sum(one.rule.severity == severity for one in comparison.changes) for severity in _HEADINGS]
    listed = ", ".join(f"{count} {severity}" for count, severity in zip(counts, _HEADINGS, strict=True) if count)
    yield wrap(f"{what}: {comparison.verdict} ({listed})" if listed else f"{what}: nothing changed", 2)


def _markdown(comparison: Comparison) -> Iterator[str]:
    for severity, heading in _HEADINGS.items():
        found = [change for change in comparison.changes if change.rule.severity == severity]
        if found:
            yield from (f"### {heading}", "", *map(_item, found), "")
    count = count_text(len(comparison.changes), "change")
    yield f"Verdict: **{comparison.verdict}** ({count})"


def _item(change: Change) -> str:
    where = ", ".join(map(_code, filter(None, (*change.names, change.part))))
    step = " → ".join(map(_code, filter(None, change.values())))
    title = change.rule.title[:1].upper() + change.rule.title[1:]
    return f"- **{title}**: {where or 'the package'}{f': {step}' if step else ''} ({change.rule.why})"


def _code(text: str) -> str:
    """Return text as code of Markdown, whatever is in it."""
    plain = printable(text)
    fence = "`" * (max(map(len, re.findall("`+", plain)), default=0) + 1)
    return f"{fence} {plain} {fence}" if "`" in plain else f"{fence}{plain}{fence}"
