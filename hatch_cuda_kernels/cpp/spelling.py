"""Sequences of tokens without places: their brackets, what commas separate, and how people write them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

_PAIRS: Final = {"(": ")", "[": "]", "{": "}", "<": ">"}
_OPERATORS: Final = frozenset(["+", "-", "*", "/", "%", "&", "|", "^", "&&", "||", "==", "!=", "<=", ">=", "?", ":"])


def find_closing(tokens: Sequence[str], opening: int) -> int | None:
    """Return where the bracket is that closes the one at ``opening``; None where none does.

    An angle bracket is one where it is the first, or directly inside others; no statement ends inside these.
    """
    waiting: list[str] = []
    for at in range(opening, len(tokens)):
        text = tokens[at]
        if waiting and text == waiting[-1]:
            waiting.pop()
            if not waiting:
                return at
        elif text in _PAIRS and (text != "<" or not waiting or waiting[-1] == ">"):
            waiting.append(_PAIRS[text])
        elif text in {")", "]", "}"} or (text == ";" and waiting[-1] == ">"):
            break
    return None


def split_at_commas(tokens: Sequence[str]) -> list[tuple[str, ...]]:
    """Return what commas separate outside brackets of all kinds; nothing of no tokens."""
    found: list[tuple[str, ...]] = []
    first = at = 0
    while at < len(tokens):
        if tokens[at] in _PAIRS:
            at = find_closing(tokens, at) or at
        elif tokens[at] == ",":
            found.append(tuple(tokens[first:at]))
            first = at + 1
        at += 1
    return [*found, tuple(tokens[first:])] if tokens else []


def spell(tokens: Sequence[str]) -> str:
    """Return tokens with the blanks that people write: behind commas, between words and around operators."""
    found = ""
    for at, text in enumerate(tokens):
        last, before = tokens[at - 1] if at else "", tokens[at - 2] if at > 1 else ""
        is_type = last == ">" or _is_wordy(last) or (last in {"*", "&"} and (_is_wordy(before) or before in {"*", ">"}))
        is_spaced = (
            last == "," or (is_type and _is_wordy(text)) or any(_is_between(tokens, one) for one in (at - 1, at))
        )
        found += f" {text}" if is_spaced else text
    return found


def _is_wordy(text: str) -> bool:
    return text[:1].isalnum() or text[:1] in {"_", "$"}


def _is_between(tokens: Sequence[str], at: int) -> bool:
    """Return whether a token is an operator with two operands; the ``*`` or ``&`` of a type is none."""
    if not 0 < at < len(tokens) - 1 or tokens[at] not in _OPERATORS or tokens[at + 1] in {">", ",", ")"}:
        return False
    before, behind = tokens[at - 1], tokens[at + 1]
    if tokens[at] in {"*", "&"}:
        return before in {")", "}", "]"} or before[0].isdigit() or behind[0].isdigit() or behind == "("
    return _is_wordy(before) or before in {")", "}", "]", ">"}
