"""C++ text as tokens and directives, of which declarations are made; literals, numbers' quotes and comments are not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from hatch_cuda_kernels.source.directive_lines import directive_at, directive_lines
from hatch_cuda_kernels.source.lexer import Joined, Lexer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Literal

    from hatch_cuda_kernels.source.directive_lines import DirectiveLine

__all__ = ["Token", "Tokens", "tokens_of"]

_LEXERS: Final = {
    # A word before a quote may be part of a literal, and a number of one with quotes in it.
    # A symbol that is no token is part of the word before it, which is ``operator``.
    "head": Lexer(
        r"(?:(?<!\w)operator\s*+(?!->)[-+/%^|!][-+=|]*+|(?<!\w)\w++(?!')(?!(?<=R)\")|::|->|<=|>=|(?<!<)<<(?!<)|[{}()\[\]<>;:,=~*&#])",
        r"\w{}()\[\]<>;:,=~*&#\-",
    ),
    "body": Lexer("[{}#]", "{}#"),
}


class Token(NamedTuple):
    """A word or a mark, and where it stands in the joined text; or brackets (``()``, ``[]``, ``<>``) with their inner.

    Such brackets are made of tokens by ``nodes_of``.
    """

    text: str
    start: int
    end: int
    inner: tuple[Token, ...] = ()

    @property
    def is_word(self) -> bool:
        """Whether it is a name, a keyword or a number."""
        return self.text[:1].isalnum() or self.text[:1] == "_"


class Tokens:
    """Hands out a text's tokens one by one; how much of the text makes tokens may change at each."""

    def __init__(self, source: Joined) -> None:
        self.source: Final = source
        self.position = 0
        """Where the next token is looked for."""

    def each(self, mode: Literal["head", "body", "skipped"]) -> Iterator[Token | DirectiveLine]:
        """Yield tokens and directives from where the last one ended; in bodies braces only, where skipped no token.

        A caller that wants another mode leaves this and asks again. Raises UnclearTextError where a quote may or may
        not start a literal.
        """
        if mode == "skipped":
            for found in directive_lines(self.source, self.position):
                self.position = found.end
                yield found
            return
        text, make = self.source.text, tuple.__new__  # which saves a tenth of a closure's time
        while True:
            for start, end in _LEXERS[mode].spans(self.source, self.position):
                self.position = end
                if text[start] != "#":
                    yield make(Token, (text[start:end], start, end, ()))
                elif (line := directive_at(text, start)) is not None:
                    self.position = line.end
                    yield line
                    break
            else:
                return


def tokens_of(text: str) -> tuple[Token, ...]:
    """Return the tokens of a short text, as of a declaration. Raises UnclearTextError."""
    return tuple(token for token in Tokens(Joined(text)).each("head") if isinstance(token, Token))
