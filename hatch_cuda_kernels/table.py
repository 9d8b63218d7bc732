"""Plain text for terminals and logs: tables and counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hatch_cuda_kernels.terminal import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["counted", "text_table"]


def counted(number: int, noun: str) -> str:
    """Return ``1 image`` or ``2 images``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def text_table(headings: Sequence[str], rows: Sequence[Sequence[object]], *, right: Sequence[str] = ()) -> str:
    """Return aligned columns under their headings; the columns named in ``right`` are right-aligned.

    Cells may hold text from elsewhere: what a terminal would not show as it is, is escaped.
    """
    cells = [list(headings), *([printable(str(cell)) for cell in row] for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(headings))]
    lines = []
    for row in cells:
        columns = zip(headings, row, widths, strict=True)
        padded = (cell.rjust(width) if heading in right else cell.ljust(width) for heading, cell, width in columns)
        lines.append("  ".join(padded).rstrip())
    return "\n".join(lines)
