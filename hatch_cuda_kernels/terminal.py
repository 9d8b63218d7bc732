"""Text for a terminal: harmless if it comes from elsewhere, coloured if wanted, in lines and tables that fit."""

from __future__ import annotations

import os
import re
import shutil
import sys
import textwrap
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final, TextIO

#: Only what can be read on white and on black: yellow, green and cyan vanish on one, blue on the other.
_CODES: Final = {"bold": "1", "red": "1;31", "magenta": "1;35", "dim": "2"}


def printable(text: str, *, lines: bool = False) -> str:
    r"""Return text in which control, format and other invisible characters are written as ``\x1b`` or ``\u202e``.

    Of text that may have several ``lines``, line feeds and tabs stay; a carriage return before a line feed goes.
    """
    kept = "\n\t" if lines else ""
    if text.isprintable():
        return text
    if lines:  # compilers quote a source's lines as they are
        text = text.replace("\r\n", "\n")
    return "".join(
        character if character.isprintable() or character in kept else character.encode("unicode_escape").decode()
        for character in text
    )


def is_terminal(stream: TextIO) -> bool:
    """Return whether people read the stream as it is written: a terminal, or what shows the same (``FORCE_COLOR``)."""
    return bool(os.environ.get("FORCE_COLOR")) or stream.isatty()


def paint(text: str, colour: str, stream: TextIO) -> str:
    """Return text in a colour if the stream shows colours, and ``NO_COLOR`` is not set."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" or not is_terminal(stream)
    return text if plain else f"\x1b[{_CODES[colour]}m{text}\x1b[0m"


def paint_matches(text: str, pattern: str, colour: str, stream: TextIO) -> str:
    """Return text in which what a pattern finds, ``^`` and ``$`` being those of lines, is painted."""
    return re.sub(pattern, lambda found: paint(found[0], colour, stream), text, flags=re.MULTILINE)


def width_of(stream: TextIO) -> int | None:
    """Return how many characters a line of a terminal has; None for a file or a pipe, whose lines have no end."""
    return shutil.get_terminal_size().columns if stream.isatty() else None


_GAP: Final = "  "
#: A column is not made narrower than this; then lines are longer than the terminal.
_NARROWEST: Final = 20
_COMMAND: Final = re.compile(r"pip install |uv |uvx |pipx |python3? -m |hatch-cuda-kernels [a-z]+ ")


def count_text(number: int, noun: str) -> str:
    """Return ``1 image`` or ``2 images``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def list_text(names: Sequence[str], most: int = 3) -> str:
    """Return the first names, and how many more there are."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def wrap(text: str, indent: int, stream: TextIO | None = None) -> str:
    """Return text whose lines fit the terminal, if there is one; the rest of a line goes on below, indented.

    Lines with a command stay as they are, because people copy them. The stream is standard output, or another one.
    """
    width = width_of(stream or sys.stdout)
    if width is None or width < indent + _NARROWEST:
        return text
    broken = partial(textwrap.wrap, width=width, subsequent_indent=" " * indent, break_long_words=False)
    return "\n".join(
        "\n".join(broken(line, break_on_hyphens=False)) if len(line) > width and not _COMMAND.search(line) else line
        for line in text.splitlines()
    )


def text_table(
    headings: Sequence[str], rows: Sequence[Sequence[object]], *, right: Sequence[str] = (), width: int | None = None
) -> str:
    """Return aligned columns under their headings; the columns named in ``right`` are right-aligned.

    If lines are longer than ``width``, by default that of the terminal, the widest column is wrapped. Invisible
    characters in cells are escaped.
    """
    cells = [list(headings), *([printable(str(cell)) for cell in row] for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(headings))]
    lines = []
    for row in _wrap_rows(cells, widths, width_of(sys.stdout) if width is None else width):
        columns = zip(headings, row, widths, strict=True)
        padded = (cell.rjust(width) if heading in right else cell.ljust(width) for heading, cell, width in columns)
        lines.append(_GAP.join(padded).rstrip())
    return "\n".join(lines)


def _wrap_rows(cells: Sequence[Sequence[str]], widths: list[int], width: int | None) -> Iterator[Sequence[str]]:
    """Yield rows that fit a width, their widest column on as many lines as it takes; ``widths`` is made to fit."""
    excess = 0 if width is None else sum(widths) + len(_GAP) * (len(widths) - 1) - width
    widest = widths.index(max(widths))
    if excess <= 0 or widths[widest] - excess < _NARROWEST:
        yield from cells
        return
    widths[widest] -= excess
    for row in cells:
        # Paths that are longer than a line get spaces behind some of their slashes.
        text = " ".join(part for word in row[widest].split(" ") for part in _parts(word, widths[widest]))
        for number, part in enumerate(textwrap.wrap(text, widths[widest], break_on_hyphens=False) or [""]):
            others = row if number == 0 else [""] * len(row)
            yield [*others[:widest], part, *others[widest + 1 :]]


def _parts(word: str, width: int) -> list[str]:
    end = word.rfind("/", 1, width) + 1 if len(word) > width else 0
    return [word[:end], *_parts(word[end:], width)] if end else [word]
