"""The tokens of one declaration with its brackets matched: a list in which each bracket is one node."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.host_code.tokens import Token, tokens_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["BRACES", "CLOSED", "flat", "group_nodes", "nodes_of", "split"]

#: The text of a token that stands for braces and what is between them.
BRACES: Final = "{}"
#: The last tokens of what may be the head of a function: parentheses are one token where they are read as a whole.
CLOSED: Final = frozenset({")", "()"})
_CLOSING: Final = {"(": ")", "[": "]"}
_DEEPEST: Final = 100


def nodes_of(tokens: Sequence[Token]) -> tuple[Token, ...]:
    """Return tokens with their brackets matched; one that nothing closes takes all that follows."""
    level: list[Token] = []
    outer: list[tuple[list[Token], Token]] = []  # around each bracket that is open
    for token in tokens:
        if token.text in _CLOSING:
            outer.append((level, token))
            level = []
        elif outer and token.text == _CLOSING[outer[-1][1].text]:
            level = _closed(level, *outer.pop(), token.end)
        else:
            level.append(token)
    while outer:
        level = _closed(level, *outer.pop(), tokens[-1].end)
    return _with_angles(level)


@lru_cache(maxsize=4096)
def group_nodes(text: str) -> tuple[Token, ...]:
    """Return the nodes of what is between parentheses, with positions in that text: headers repeat much."""
    return nodes_of(tokens_of(text))


def _closed(inner: list[Token], level: list[Token], opening: Token, end: int) -> list[Token]:
    """Return the tokens of a level after brackets that end."""
    level.append(Token(opening.text + _CLOSING[opening.text], opening.start, end, _with_angles(inner)))
    return level


def _with_angles(nodes: Sequence[Token]) -> tuple[Token, ...]:
    """Return nodes of one level with ``<`` and ``>`` matched where they enclose template arguments."""
    found: list[Token] = []
    opened: list[int] = []  # where in the list each < is
    compared = {"operator"}
    for at, node in enumerate(nodes):
        text = node.text
        if text == "<" and len(opened) < _DEEPEST and _may_have_arguments(found, compared):
            opened.append(len(found))
        elif text == ">" and opened:
            start = opened.pop()
            found[start:] = [Token("<>", found[start].start, node.end, tuple(found[start + 1 :]))]
            if start and found[start - 1].text == "template":
                compared |= _parameters(found[start].inner)
            continue
        elif text in {"=", BRACES} and not opened:
            return (*found, *nodes[at:])  # a value, in which < is an operator
        found.append(node)
    return tuple(found)


def _may_have_arguments(before: Sequence[Token], compared: set[str]) -> bool:
    """Return whether what ends with a word, or with a macro for a class's name, may be a template's name."""
    if not before or not before[-1].is_word:
        return len(before) > 2 and before[-1].text == "()" and before[-3].text in {"class", "struct"}
    return before[-1].text not in compared


def _parameters(nodes: Sequence[Token]) -> set[str]:
    """Return the parameters of a template that are no templates: ``<`` behind one compares."""
    found = set[str]()
    for part in split(nodes):
        words = [node.text for node in part[: next((at for at, one in enumerate(part) if one.text == "="), None)]]
        if words and words[0] != "template":
            found.add(words[-1])
    return found


def flat(nodes: Sequence[Token]) -> Iterator[str]:
    """Yield the texts of nodes and of all in their brackets."""
    for node in nodes:
        if node.text in {"()", "[]", "<>"}:
            yield node.text[0]
            yield from flat(node.inner)
            yield node.text[1]
        else:
            yield node.text


def split(nodes: Sequence[Token]) -> list[list[Token]]:
    """Return the parts between the commas of one level; none of nothing."""
    parts: list[list[Token]] = [[]]
    for node in nodes:
        if node.text == ",":
            parts.append([])
        else:
            parts[-1].append(node)
    return parts if nodes else []
