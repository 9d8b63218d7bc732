"""What commands print: messages to people, JSON to programs."""

from __future__ import annotations

import difflib
import json
import os
import re
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from hatch_cuda_kernels.terminal import is_terminal, paint, printable, wrap

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence


class CommandResult(NamedTuple):
    """What a command answers; one place shows it."""

    data: Any
    """What ``--json`` prints."""
    text: str = ""
    """What people read; ``--quiet`` leaves it out, and the notes."""
    ok: bool = True
    """Whether the exit status is 0, else 1."""
    notes: Sequence[str] = ()
    """Lines for people beside the text, on standard error."""
    problems: Sequence[str] = ()
    """Errors below all that; these are shown with ``--json``, too."""


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add ``--json``."""
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")


def print_json(data: object) -> None:
    """Print data as indented JSON."""
    print(json.dumps(data, indent=2))


def utc_text(seconds: float) -> str:
    """Return a time, given in seconds since 1970, as ISO 8601."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def is_quiet(args: argparse.Namespace) -> bool:
    """Return whether only errors are to be printed."""
    return getattr(args, "quiet", False)


def unified_diff(name: str, before: str, after: str) -> str:
    """Return the unified diff of one file; empty where nothing changes. A line ends where it does for git."""
    old, new = (re.findall(r"[^\n]*\n|[^\n]+", text) for text in (before, after))
    lines = difflib.unified_diff(old, new, f"a/{name}", f"b/{name}")
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def diff_of(file: Path, before: str, after: str) -> tuple[str, str]:
    """Return the unified diff of a file for ``git apply``, and where that has to run; empty for this folder."""
    path, here = (Path(os.path.abspath(each)) for each in (file, ""))  # noqa: PTH100 - without links resolved
    if path.is_relative_to(here):
        return unified_diff(path.relative_to(here).as_posix(), before, after), ""
    from hatch_cuda_kernels.compiler.toolchain import quoted  # few commands print one

    diff = unified_diff(path.name, before, after)
    return diff, f"apply the patch in the manifest's folder: git -C {quoted(str(file.parent))} apply" if diff else ""


_LOCATED: Final = re.compile(r"(?P<file>[^\s:][^:]*):(?P<line>\d+):(?P<column>\d+): (?:error: )?(?P<message>.*)")
#: A line of a source below an error in it, as compile errors have it.
_EXCERPT: Final = "  | "
_FIX: Final = "  to fix: "
_OPTIONS: Final = "options: "
#: The words in front, with their colours.
_ERROR: Final = ("error:", "red")
_HINT: Final = ("hint:", "bold")
#: Of the lines that continue a message.
_INDENT: Final = 2
#: What is underlined: the name, architecture, path or quoted text at the column.
_WORD: Final = re.compile(r"\"[^\"]*\"|'[^']*'|[^\s,:\[\]{}]+")


def show_note(line: str) -> None:
    """Print a line on standard error, beside what standard output is for; several lines as they are."""
    print(printable(line, lines=True) if "\n" in line else _with_hint(printable(line)), file=sys.stderr)


def show_error(text: str, *, root: Path | None = None, verbose: bool = False) -> None:
    """Print an error. Its places are relative to the folder ``root``; ``verbose`` shows compilers' options."""
    lines = printable(text, lines=True).splitlines()
    kept = [line for line in lines if verbose or not line.startswith(_OPTIONS)]
    for line in _render(kept, root or Path()):
        print(line, file=sys.stderr)


def show_warning(text: object) -> None:
    """Print a warning."""
    first, *more = printable(str(text), lines=True).splitlines() or [""]
    print(_with_label(first, ("warning:", "magenta")), file=sys.stderr)
    for line in more:
        print(_with_hint(line), file=sys.stderr)


def show_hint(text: str) -> None:
    """Print what to do about the error above."""
    print(_with_label(text, _HINT), file=sys.stderr)


def _with_label(message: str, *words: tuple[str, str]) -> str:
    """Return a message behind coloured words, on as many lines as the terminal needs."""
    before = "".join(f"{word} " for word, _ in words)
    lines = wrap(before + message, _INDENT, sys.stderr)
    if not lines.startswith(before):  # a path that is longer than a line
        lines = before + message
    coloured = "".join(f"{paint(word, colour, sys.stderr)} " for word, colour in words)
    return coloured + lines.removeprefix(before)


def _render(lines: list[str], root: Path) -> Iterator[str]:
    terminal = is_terminal(sys.stderr)
    place: re.Match[str] | None = None
    excerpt = 0
    for number, line in enumerate(lines):
        found = _LOCATED.fullmatch(line)
        if found is not None:
            place, excerpt = found, 0
            yield _render_problem(found, root) if terminal else line
            if terminal and not _continues(lines[number + 1 :], found):
                yield from _frame(found, root)
        elif line.startswith(_EXCERPT) and place is not None and terminal:
            gutter = "" if excerpt else place["line"]
            excerpt += 1
            yield _frame_line(gutter, len(place["line"]), line.removeprefix(_EXCERPT), marks=excerpt > 1)
        elif number == 0:
            yield _with_label(line, _ERROR)
        else:
            yield _with_hint(line)


def _render_problem(found: re.Match[str], root: Path) -> str:
    path = root / found["file"]
    shown = os.path.relpath(path) if path.is_file() else found["file"]
    return _with_label(found["message"], (f"{shown}:{found['line']}:{found['column']}:", "bold"), _ERROR)


def _continues(below: list[str], found: re.Match[str]) -> bool:
    """Return whether the lines below belong to the same problem: its excerpt, or errors in another file."""
    after = _LOCATED.fullmatch(below[0]) if below else None
    return bool(below) and (below[0].startswith(_EXCERPT) or (after is not None and after["file"] != found["file"]))


def _frame(found: re.Match[str], root: Path) -> Iterator[str]:
    """Yield the line of a file that a problem is at, and the mark below it."""
    number, column = int(found["line"]), int(found["column"])
    try:
        text = printable((root / found["file"]).read_text(encoding="utf-8").splitlines()[number - 1])
    except (OSError, UnicodeDecodeError, IndexError):
        return
    word = _WORD.match(text, column - 1)
    marks = " " * (column - 1) + "^" * (len(word[0]) if word else 1)
    yield _frame_line(found["line"], len(found["line"]), text, marks=False)
    yield _frame_line("", len(found["line"]), marks, marks=True)


def _frame_line(gutter: str, width: int, text: str, *, marks: bool) -> str:
    left = paint(f"  {gutter:>{width}} |", "dim", sys.stderr)
    return f"{left} {paint(text, 'red', sys.stderr) if marks else text}"


def _with_hint(line: str) -> str:
    return _with_label(line.removeprefix(_FIX), _HINT) if line.startswith(_FIX) else wrap(line, _INDENT, sys.stderr)
