"""The directives of a text, each as a whole line, found without reading what is between them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from hatch_cuda_kernels.source.lexer import COMMENT, SPACE, Lexer, end_of_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hatch_cuda_kernels.source.lexer import Joined

__all__ = ["DirectiveLine", "directive_at", "directive_lines"]

_LEXER: Final = Lexer("#", "#")
_WORD: Final = re.compile(rf"{SPACE}(\w*)", re.ASCII)
_COMMENT: Final = re.compile(COMMENT)


class DirectiveLine(NamedTuple):
    """A whole directive, and where it stands in the joined text."""

    word: str
    operand: str
    """What follows the word, without comments."""
    start: int
    end: int
    hidden: bool = False
    """Whether NVRTC does not see it."""
    is_inside: bool = False
    """Whether it stands in a declaration: in its head, or in its braces, unless these are of a namespace."""


def directive_lines(source: Joined, position: int = 0) -> Iterator[DirectiveLine]:
    """Yield the directives from a position in the joined text, none of those inside comments and literals.

    Raises UnclearTextError where a quote may or may not start a literal.
    """
    while True:
        for start, end in _LEXER.spans(source, position):
            position = end
            found = directive_at(source.text, start)
            if found is not None:
                yield found
                position = found.end
                break
        else:
            return


def directive_at(text: str, start: int) -> DirectiveLine | None:
    """Return the directive of a ``#`` in a joined text, None if that does not begin one."""
    before = text[text.rfind("\n", 0, start) + 1 : start].strip()
    if before and not before.endswith("*/"):
        return None
    word = _WORD.match(text, start + 1)
    assert word is not None  # noqa: S101 - it may be empty
    end = end_of_line(text, word.end())
    return DirectiveLine(word[1], _COMMENT.sub(" ", text[word.end() : end]).strip(), start, end)
