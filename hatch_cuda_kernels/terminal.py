"""Text from elsewhere (names, logs, paths) as a terminal may show it: nothing in it can move the cursor or hide."""

from __future__ import annotations

__all__ = ["printable"]


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
