"""The tokens of one declaration with its brackets matched: a list in which each bracket is one node."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hatch_cuda_kernels.host_code.tokens import Token

__all__ = ["BRACES", "Node", "flat", "nodes_of", "split"]

#: The text of a token that stands for braces and what is between them.
BRACES: Final = "{}"
_CLOSING: Final = {"(": ")", "[": "]"}
_DEEPEST: Final = 100


class Node(NamedTuple):
    """A token, or brackets (``()``, ``[]``, ``<>``) with what is in them."""

    text: str
    start: int
    end: int
    inner: tuple[Node, ...] = ()

    @property
    def is_word(self) -> bool:
        """Whether it is a name, a keyword or a number."""
        return self.text[:1].isalnum() or self.text[:1] == "_"


def nodes_of(tokens: Sequence[Token]) -> tuple[Node, ...]:
    """Return tokens with their brackets matched; one that nothing closes takes all that follows."""
    found: list[list[Node]] = [[]]
    opened: list[Token] = []
    for token in tokens:
        if token.text in _CLOSING:
            opened.append(token)
            found.append([])
        elif opened and token.text == _CLOSING[opened[-1].text]:
            _close(found, opened.pop(), token.end)
        else:
            found[-1].append(Node(*token))
    while opened:
        _close(found, opened.pop(), tokens[-1].end)
    return _with_angles(found[0])


def _close(found: list[list[Node]], token: Token, end: int) -> None:
    inner = _with_angles(found.pop())
    found[-1].append(Node(token.text + _CLOSING[token.text], token.start, end, inner))


def _with_angles(nodes: Sequence[Node]) -> tuple[Node, ...]:
    """Return nodes of one level with ``<`` and ``>`` matched where they enclose template arguments."""
    found: list[Node] = []
    opened: list[int] = []  # where in the list each < is
    for node in nodes:
        opens = node.text == "<" and len(opened) < _DEEPEST
        if opens and found and found[-1].is_word and found[-1].text != "operator":
            opened.append(len(found))
        elif node.text == ">" and opened:
            at = opened.pop()
            inner = tuple(found[at + 1 :])
            found[at:] = [Node("<>", found[at].start, node.end, inner)]
            continue
        elif node.text in {"=", BRACES} and not opened:
            return (*found, *nodes[nodes.index(node) :])  # a value, in which < is an operator
        found.append(node)
    return tuple(found)


def flat(nodes: Sequence[Node]) -> Iterator[str]:
    """Yield the texts of nodes and of all in their brackets."""
    for node in nodes:
        if node.text in {"()", "[]", "<>"}:
            yield node.text[0]
            yield from flat(node.inner)
            yield node.text[1]
        else:
            yield node.text


def split(nodes: Sequence[Node]) -> list[list[Node]]:
    """Return the parts between the commas of one level; none of nothing."""
    parts: list[list[Node]] = [[]]
    for node in nodes:
        if node.text == ",":
            parts.append([])
        else:
            parts[-1].append(node)
    return parts if nodes else []
