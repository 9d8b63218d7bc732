"""The value of an ``#if``: true, false, or unknown where a macro's value is.

Numbers have 64 bits, signed unless a suffix or an operand says otherwise. ``0 && UNKNOWN`` is false.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import product
from math import prod
from typing import Final, NamedTuple, TypeAlias

from hatch_cuda_kernels.cpp.lexer import Directive, is_identifier, is_number, lex_with_places
from hatch_cuda_kernels.cpp.macros import (
    UNKNOWN_VALUE,
    Expander,
    ExpansionError,
    Macro,
    MacroToken,
    State,
    length_of_call,
    shared_token,
)

#: Which definitions of a macro may hold; None among them that it has none. Nothing is known of no definitions.
LookUp: TypeAlias = Callable[[str], State]

_INTEGER: Final = re.compile(r"(0[xX][0-9a-fA-F']+|0[bB][01']+|[0-9][0-9']*)([uU]?(?:[lL]{0,2}|[zZ])[uU]?)")
_CHARACTER: Final = re.compile(r"'([^'\\\n])'")
_WORDS: Final = {
    "and": "&&", "or": "||", "not": "!", "bitand": "&", "bitor": "|", "xor": "^", "compl": "~", "not_eq": "!=",
}  # fmt: skip
#: What asks for a header, and what for something else than a macro.
HEADER_PROBES: Final = frozenset({"__has_include", "__has_include_next"})
PROBES: Final = HEADER_PROBES | {"__has_attribute", "__has_builtin", "__has_c_attribute", "__has_cpp_attribute"}
#: What keeps its operand as it is spelled.
KEPT: Final = HEADER_PROBES | {"defined"}
_PRECEDENCE: Final = (
    ("||",), ("&&",), ("|",), ("^",), ("&",), ("==", "!="), ("<", ">", "<=", ">="), ("<<", ">>"), ("+", "-"),
    ("*", "/", "%"),
)  # fmt: skip
#: More ways for macros to be than one condition tells apart in code that people write.
_MOST_WAYS: Final = 64


class _Value(NamedTuple):
    """A number, or None where it is unknown."""

    number: int | None
    is_unsigned: bool = False


_UNKNOWN: Final = _Value(None)


class _SyntaxError(Exception):
    """No expression that a preprocessor takes."""


def evaluate(directive: Directive, look_up: LookUp) -> bool | None:
    """Return whether an ``#if`` or ``#elif`` of any kind holds; None where that is unknown.

    A condition that no preprocessor takes is unknown, too: where it counts, the compiler says so. A look-up of a
    probe such as ``__has_include(<name>)``, spelled so, gives the answer as a macro; none stands for 0.
    """
    tokens, names = _tokens(directive.operand)
    if directive.word in {"elifdef", "elifndef"}:  # before C++23, compilers may skip it
        return None
    if directive.word in {"ifdef", "ifndef"}:
        is_defined = _is_defined(tokens[0].text, look_up) if tokens else None
        return is_defined if is_defined is None else is_defined == (directive.word == "ifdef")
    reached: dict[str, State] = {}
    waiting = [*names]
    makes_names = False
    for name in waiting:
        if name not in reached:
            found = reached[name] = look_up(name)
            for one in found:
                if one is not None:
                    waiting += one.words
                    makes_names |= one.makes_names
    if makes_names or not PROBES.isdisjoint(reached):  # of names that nothing is known of yet
        return _value(tokens, reached, look_up)
    return _known_value(directive.operand, (*reached.items(),))


@lru_cache(maxsize=1 << 14)
def _known_value(operand: str, reached: tuple[tuple[str, State], ...]) -> bool | None:
    known = dict(reached)
    return _value(_tokens(operand)[0], known, known.__getitem__)


def _value(tokens: Sequence[MacroToken], reached: Mapping[str, State], look_up: LookUp) -> bool | None:
    """Return what a condition is in each way in which its macros may be defined; None where that is not the same."""
    several = [name for name, found in reached.items() if len(found) > 1]
    ways: Iterable[Mapping[str, State]] = [dict.fromkeys(several, ())]
    if prod(len(reached[name]) for name in several) <= _MOST_WAYS:
        chosen = product(*([(one,) for one in reached[name]] for name in several))
        ways = (dict(zip(several, each, strict=True)) for each in chosen)

    way: Mapping[str, State] = {}

    def meant(name: str) -> State:
        return way[name] if name in way else look_up(name)

    def known(name: str) -> Macro | None:
        found = meant(name) if name not in PROBES else ()
        return found[0] if len(found) == 1 else None

    numbers = set[int | None]()
    expander = Expander(known, kept=KEPT)  # one, so that all ways have one budget
    try:
        for way in ways:  # noqa: B007 - the look-ups read it
            texts = [_WORDS.get(token.text, token.text) for token in expander.expand(tokens)]
            numbers.add(_ConditionParser(texts, meant).value().number)
    except (_SyntaxError, ExpansionError, RecursionError):
        return None
    outcomes = {None if number is None else bool(number) for number in numbers}
    return outcomes.pop() if len(outcomes) == 1 else None


@lru_cache(maxsize=1 << 15)
def _tokens(operand: str) -> tuple[tuple[MacroToken, ...], tuple[str, ...]]:
    tokens = tuple(shared_token(token.text, token.is_spaced) for token in lex_with_places(operand))
    return tokens, tuple(token.text for token in tokens if is_identifier(token.text))


def _is_defined(name: str, look_up: LookUp) -> bool | None:
    found = look_up(name)
    states = {one is not None for one in found}
    return states.pop() if len(states) == 1 else None


class _ConditionParser:
    """Reads a condition's tokens, whose macros are expanded."""

    def __init__(self, tokens: list[str], look_up: LookUp) -> None:
        self._tokens: Final = tokens
        self._look_up: Final = look_up
        self._at = 0

    def value(self) -> _Value:
        found = self._ternary()
        if self._at < len(self._tokens):
            raise _SyntaxError
        return found

    def _next(self) -> str:
        if self._at >= len(self._tokens):
            raise _SyntaxError
        self._at += 1
        return self._tokens[self._at - 1]

    def _take(self, *among: str) -> str:
        """Take one of some tokens, if it is next; ``>>`` is two, as templates close with them."""
        here = self._tokens[self._at : self._at + 1]
        found = here[0] if here else ""
        if found == ">" and self._tokens[self._at + 1 : self._at + 2] == [">"]:
            found = ">>"
        if found not in among:
            return ""
        self._at += 2 if found == ">>" else 1
        return found

    def _ternary(self) -> _Value:
        condition = self._binary(0)
        if not self._take("?"):
            return condition
        first = self._ternary()
        if not self._take(":"):
            raise _SyntaxError
        second = self._ternary()
        if condition.number is None:
            return first if first == second else _UNKNOWN
        return first if condition.number else second

    def _binary(self, level: int) -> _Value:
        if level == len(_PRECEDENCE):
            return self._unary()
        left = self._binary(level + 1)
        while symbol := self._take(*_PRECEDENCE[level]):
            left = _applied(symbol, left, self._binary(level + 1))
        return left

    def _unary(self) -> _Value:
        token = self._next()
        if token in {"!", "~", "-", "+"}:
            value = self._unary()
            if value.number is None:
                return _UNKNOWN
            if token == "!":  # noqa: S105 - no password
                return _Value(int(not value.number))
            number = {"~": ~value.number, "-": -value.number, "+": value.number}[token]
            return _wrapped(number, is_unsigned=value.is_unsigned)
        if token == "(":  # noqa: S105
            value = self._ternary()
            if not self._take(")"):
                raise _SyntaxError
            return value
        return self._primary(token)

    def _primary(self, token: str) -> _Value:
        if token == UNKNOWN_VALUE.text:
            return _UNKNOWN
        if is_number(token):
            found = _INTEGER.fullmatch(token)
            if found is None:
                raise _SyntaxError
            digits = found[1].replace("'", "")
            octal = len(digits) > 1 and digits[0] == "0" and digits.isdigit()
            return _wrapped(int(digits, 8 if octal else 0), is_unsigned="u" in found[2].lower())
        if token == "defined":  # noqa: S105
            name = self._next()
            if name == "(":
                name = self._next()
                self._take(")")
            if not is_identifier(name):
                raise _SyntaxError
            is_defined = _is_defined(name, self._look_up)
            return _UNKNOWN if is_defined is None else _Value(int(is_defined))
        if token in PROBES:
            return self._probe(token)
        if is_identifier(token):
            return self._word(token)
        character = _CHARACTER.fullmatch(token)
        if character is None:
            raise _SyntaxError
        return _Value(ord(character[1]))

    def _word(self, name: str) -> _Value:
        """Return the value of a word that no macro replaced: 0, but for ``true``, and unless it may be a macro's."""
        if self._look_up(name) == (None,) or name == "true":
            return _Value(int(name == "true"))
        if self._tokens[self._at : self._at + 1] == ["("]:
            self._probe(name)
        return _UNKNOWN

    def _probe(self, asked: str) -> _Value:
        """Return the answer to a probe, whose operand is next, as if a macro were called so."""
        here = range(self._at, len(self._tokens))
        operand = self._tokens[self._at : self._at + length_of_call(map(self._tokens.__getitem__, here))]
        if not operand:
            raise _SyntaxError
        self._at += len(operand)
        if asked not in PROBES or (asked not in KEPT and any(any(self._look_up(one)) for one in operand)):
            return _UNKNOWN  # a name in it is a macro of several definitions
        found = self._look_up("".join((asked, *operand)))
        if len(found) != 1:
            return _UNKNOWN
        if found[0] is None:
            return _Value(0)
        return _ConditionParser([token.text for token in found[0].body], self._look_up).value()


_OPERATORS: Final[dict[str, Callable[[int, int], int]]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, ">": operator.gt, "<=": operator.le, ">=": operator.ge,
    "|": operator.or_, "^": operator.xor, "&": operator.and_, "+": operator.add, "-": operator.sub, "*": operator.mul,
}  # fmt: skip
_COMPARISONS: Final = frozenset({"==", "!=", "<", ">", "<=", ">="})


def _applied(symbol: str, left: _Value, right: _Value) -> _Value:
    if symbol in {"&&", "||"}:
        decides = symbol == "||"
        if any(one.number is not None and bool(one.number) == decides for one in (left, right)):
            return _Value(int(decides))
        return _UNKNOWN if left.number is None or right.number is None else _Value(int(not decides))
    if left.number is None or right.number is None:
        return _UNKNOWN
    if symbol in {"<<", ">>"}:
        places = max(-64, min(right.number if symbol == "<<" else -right.number, 64))
        number = left.number << places if places >= 0 else left.number >> -places
        return _wrapped(number, is_unsigned=left.is_unsigned)
    is_unsigned = left.is_unsigned or right.is_unsigned
    first, second = (_wrapped(one.number or 0, is_unsigned=is_unsigned).number or 0 for one in (left, right))
    if symbol in {"/", "%"}:
        if not second:
            raise _SyntaxError
        quotient = abs(first) // abs(second) * (1 if (first < 0) == (second < 0) else -1)
        return _wrapped(quotient if symbol == "/" else first - quotient * second, is_unsigned=is_unsigned)
    number = int(_OPERATORS[symbol](first, second))
    return _Value(number) if symbol in _COMPARISONS else _wrapped(number, is_unsigned=is_unsigned)


def _wrapped(number: int, *, is_unsigned: bool) -> _Value:
    number &= (1 << 64) - 1
    return _Value(number if is_unsigned or number < 1 << 63 else number - (1 << 64), is_unsigned)
