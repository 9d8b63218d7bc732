"""Plain text for terminals and logs: tables and counts."""

from __future__ import annotations

import sys
import textwrap
from functools import partial
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.terminal import printable, width_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["counted", "fitted", "text_table"]

_GAP: Final = "  "
#: A column is not made narrower than this; then lines are longer than the terminal.
_NARROWEST: Final = 20


def counted(number: int, noun: str) -> str:
    """Return ``1 image`` or ``2 images``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def fitted(text: str, indent: int) -> str:
    """Return text whose lines fit the terminal, if there is one; what does not goes on below, indented."""
    width = width_of(sys.stdout)
    if width is None or width < indent + _NARROWEST:
        return text
    wrap = partial(textwrap.wrap, width=width, subsequent_indent=" " * indent, break_long_words=False)
    return "\n".join(
        "\n".join(wrap(line, drop_whitespace=True, break_on_hyphens=False)) if len(line) > width else line
        for line in text.splitlines()
    )


def text_table(
    headings: Sequence[str], rows: Sequence[Sequence[object]], *, right: Sequence[str] = (), width: int | None = None
) -> str:
    """Return aligned columns under their headings; the columns named in ``right`` are right-aligned.

    Where lines are longer than ``width``, by default that of the terminal, the widest column is wrapped. Cells may hold
    text from elsewhere: what a terminal would not show as it is, is escaped.
    """
    cells = [list(headings), *([printable(str(cell)) for cell in row] for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(headings))]
    lines = []
    for row in _wrapped(cells, widths, width_of(sys.stdout) if width is None else width):
        columns = zip(headings, row, widths, strict=True)
        padded = (cell.rjust(width) if heading in right else cell.ljust(width) for heading, cell, width in columns)
        lines.append(_GAP.join(padded).rstrip())
    return "\n".join(lines)


def _wrapped(cells: Sequence[Sequence[str]], widths: list[int], width: int | None) -> Iterator[Sequence[str]]:
    """Yield rows that fit a width, their widest column on as many lines as it takes; ``widths`` is made to fit."""
    excess = 0 if width is None else sum(widths) + len(_GAP) * (len(widths) - 1) - width
    widest = widths.index(max(widths))
    if excess <= 0 or widths[widest] - excess < _NARROWEST:
        yield from cells
        return
    widths[widest] -= excess
    for row in cells:
        for number, part in enumerate(textwrap.wrap(row[widest], widths[widest], break_on_hyphens=False) or [""]):
            others = row if number == 0 else [""] * len(row)
            yield [*others[:widest], part, *others[widest + 1 :]]
