"""What a terminal gets: text from elsewhere made harmless, colours where they are wanted, lines that fit."""

from __future__ import annotations

import os
import re
import shutil
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from typing import TextIO

__all__ = ["is_terminal", "marked", "painted", "printable", "width_of"]

#: Only what can be read on white and on black: yellow, green and cyan vanish on one, blue on the other.
_CODES: Final = {"bold": "1", "red": "1;31", "magenta": "1;35", "dim": "2"}


def printable(text: str, *, lines: bool = False) -> str:
    r"""Return text in which control, format and other invisible characters are written as ``\x1b`` or ``\u202e``.

    Of text that may have several ``lines``, line feeds and tabs stay.
    """
    kept = "\n\t" if lines else ""
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() or character in kept else character.encode("unicode_escape").decode()
        for character in text
    )


def is_terminal(stream: TextIO) -> bool:
    """Return whether people read the stream as it is written: a terminal, or what shows the same (``FORCE_COLOR``)."""
    return bool(os.environ.get("FORCE_COLOR")) or stream.isatty()


def painted(text: str, colour: str, stream: TextIO) -> str:
    """Return text in a colour if the stream shows colours, and ``NO_COLOR`` is not set."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" or not is_terminal(stream)
    return text if plain else f"\x1b[{_CODES[colour]}m{text}\x1b[0m"


def marked(text: str, pattern: str, colour: str, stream: TextIO) -> str:
    """Return text in which what a pattern finds, ``^`` and ``$`` being those of lines, is painted."""
    return re.sub(pattern, lambda found: painted(found[0], colour, stream), text, flags=re.MULTILINE)


def width_of(stream: TextIO) -> int | None:
    """Return how many characters a line of a terminal has; None for a file or a pipe, whose lines have no end."""
    return shutil.get_terminal_size().columns if stream.isatty() else None
