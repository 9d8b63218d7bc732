"""Where the outline's parser is in a text: plain values, so that each branch of ``#if`` can start from the same one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from hatch_cuda_kernels.host_code.nodes import BRACES, CLOSED

if TYPE_CHECKING:
    from hatch_cuda_kernels.host_code.declaration import Declaration
    from hatch_cuda_kernels.host_code.tokens import Token

__all__ = ["Begun", "Frame", "Position", "close_of", "initialises", "later"]


class Begun(NamedTuple):
    """The tokens of a declaration so far, in chunks, so that branches share what precedes them."""

    chunk: tuple[Token, ...]
    """The latest tokens."""
    before: Begun | None
    """Those before."""
    first: Token
    doubtful: bool
    """Whether an unknown macro stands before it."""
    braces: Literal["", "value", "members", "try"] = ""
    """What it has had braces for: a value or a type, the values of a constructor's members, a try block."""
    length: int = 1
    """The number of tokens."""
    declared: Declaration | None = None
    """What the tokens declare, if it is known."""

    @property
    def token(self) -> Token:
        """The last token."""
        return self.chunk[-1]

    def add(self, *tokens: Token, declared: Declaration | None = None) -> Begun:
        """Return the declaration with more tokens."""
        length = self.length + len(tokens)
        return Begun(tokens, self, self.first, self.doubtful, self.braces, length, declared)

    def tokens(self) -> list[Token]:
        """Return the tokens in order."""
        chunks = [self.chunk]
        item = self.before
        while item is not None:
            chunks.append(item.chunk)
            item = item.before
        return [token for chunk in reversed(chunks) for token in chunk]


class Frame(NamedTuple):
    """Braces that are open, and the declaration they are part of."""

    kind: Literal["namespace", "class", "function", "value"]
    """The end of a function is that of its declaration."""
    name: str = ""
    """A class's."""
    namespace: str = ""
    """The namespaces with a name, as ``a::b``."""
    item: Begun | None = None
    groups: tuple[str, ...] = ()
    """The brackets that the declaration goes on in after the braces."""
    outer: Frame | None = None
    declared: Declaration | None = None
    """What that declaration declares, as far as it is before the braces."""
    depth: int = 0
    """How many braces are open in it, in a function or value."""
    level: int = 1
    """How many frames there are, with this one."""


class Position(NamedTuple):
    """Where the parser is."""

    frame: Frame | None = None
    """None outside all braces."""
    item: Begun | None = None
    groups: tuple[str, ...] = ()
    """The brackets that are open in the declaration."""
    doubtful: bool = False
    """Whether an unknown macro stands before the next declaration."""


def later(first: Position, other: Position) -> Position:
    """Return the position to go on from after two branches: one in which a declaration is open, if there is one."""
    return other if first.item is None and other.item is not None else first


def close_of(texts: list[str]) -> int:
    """Return where the bracket closes that is the second text."""
    depth = 0
    for at, text in enumerate(texts):
        depth += (text == "(") - (text == ")")
        if at and not depth:
            return at
    return len(texts)


def initialises(tokens: list[Token]) -> bool:
    """Return whether the braces after tokens give a member its value, in front of a constructor's body."""
    depth = 0
    for token in tokens:
        depth += (token.text in {"(", "["}) - (token.text in {")", "]"})
        if token.text == ":" and not depth:
            return tokens[-1].text not in CLOSED | {BRACES}
    return False
