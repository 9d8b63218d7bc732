"""Whether the condition of an ``#if`` holds, by what is known of a few macros: often that of one part decides."""

from __future__ import annotations

import operator
import re
from functools import reduce
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

__all__ = ["MacroRange", "truth"]

_PIECE: Final = re.compile(r"&&|\|\||[()+*]|[^&|()+*]+|[&|]")
_DEFINED: Final = re.compile(r"defined\s*(?:\(\s*(\w+)\s*\)|(\w+))")
_COMPARED: Final = re.compile(r"([\w\s()*+]+?)\s*(>=|<=|==|!=|>|<)\s*(\d+)[uUlL]*")
_NUMBER: Final = re.compile(r"(\d+)[uUlL]*")
_NAME: Final = re.compile(r"[A-Za-z_]\w*")
_COMPARE: Final[Mapping[str, Callable[[int, int], bool]]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    "<": operator.lt,
}


class MacroRange(NamedTuple):
    """What a macro may stand for: from the first to the last of these numbers; 0 and 0 if it is not defined."""

    first: int
    last: int

    def holds(self, compared: str, number: int) -> bool | None:
        """Return the outcome of a comparison; None where it is not the same for all that the macro may stand for."""
        compare = _COMPARE[compared]
        outcomes = {compare(value, number) for value in self._tried(number)}
        return outcomes.pop() if len(outcomes) == 1 else None

    def _tried(self, number: int) -> Iterator[int]:
        """Yield the values among which each outcome is found."""
        yield from (self.first, self.last)
        yield from (value for value in (number - 1, number, number + 1) if self.first <= value <= self.last)


def truth(condition: str, known: Mapping[str, MacroRange]) -> bool | None:
    """Return whether a condition holds, with what is known of macros; None where that is not enough to tell."""
    for mark, decides in (("||", True), ("&&", False)):
        parts = _split(condition, mark)
        if len(parts) > 1:
            outcomes = {truth(part, known) for part in parts}
            return decides if decides in outcomes else None if None in outcomes else not decides
    return _single(condition.strip(), known)


def _single(condition: str, known: Mapping[str, MacroRange]) -> bool | None:
    """Return whether a condition holds that has no ``&&`` and no ``||`` outside parentheses."""
    if condition.startswith("!") and not condition.startswith("!="):
        inner = condition[1:].strip()
        outcome = _single(inner, known) if _is_unit(inner) else None
        return None if outcome is None else not outcome
    if condition.startswith("(") and _is_unit(condition):
        return truth(condition[1:-1], known)
    if condition.isdigit():
        return int(condition) != 0
    if named := _DEFINED.fullmatch(condition):
        found = known.get(named[1] or named[2])
        return None if found is None else found != (0, 0)
    if compared := _COMPARED.fullmatch(condition):
        found = _range_of(compared[1].strip(), known)
        return None if found is None else found.holds(compared[2], int(compared[3]))
    found = known.get(condition) if _NAME.fullmatch(condition) else None
    return None if found is None else found.holds("!=", 0)


def _range_of(value: str, known: Mapping[str, MacroRange]) -> MacroRange | None:
    """Return what sums and products of macros and decimal numbers may come to; None where that is not known."""
    if value.startswith("(") and _is_unit(value):
        return _range_of(value[1:-1].strip(), known)
    for mark, combine in (("+", operator.add), ("*", operator.mul)):
        parts = _split(value, mark)
        if len(parts) > 1:
            ranges = [_range_of(part.strip(), known) for part in parts]
            sure = [found for found in ranges if found is not None]
            return MacroRange(*(reduce(combine, ends) for ends in zip(*sure, strict=True))) if sure == ranges else None
    if number := _NUMBER.fullmatch(value):
        return None if number[1][0] == "0" != number[1] else MacroRange(int(number[1]), int(number[1]))
    return known.get(value)


def _is_unit(condition: str) -> bool:
    """Return whether ``!`` is for all of a condition: a name, a number, ``defined``, or what parentheses enclose."""
    if condition.startswith("!"):
        return _is_unit(condition[1:].strip())
    if not condition.startswith("("):
        return _DEFINED.fullmatch(condition) is not None or condition.isidentifier() or condition.isdigit()
    depth = 0
    for at, mark in enumerate(condition):
        depth += (mark == "(") - (mark == ")")
        if not depth:
            return at == len(condition) - 1
    return False


def _split(condition: str, mark: str) -> list[str]:
    """Return what a mark separates outside parentheses; all of it where a ``?`` decides."""
    if "?" in condition:
        return [condition]
    parts, depth = [""], 0
    for piece in _PIECE.findall(condition):
        depth += (piece == "(") - (piece == ")")
        if piece == mark and not depth:
            parts.append("")
        else:
            parts[-1] += piece
    return parts
