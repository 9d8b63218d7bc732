"""Generic lambdas that a function names and calls: what their parameters stand for, by the values of each call."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.port.spelled import replaced, template_arguments, type_of, words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hatch_cuda_kernels.source.expansion import Macros

__all__ = ["with_passed"]

_LAMBDA: Final = re.compile(r"\bauto\s+(?P<name>\w+)\s*=\s*\[[^\[\]]*\]\s*\((?P<own>[^()]*\bauto\b[^()]*)\)[^{};]*\{")
_PARAMETER: Final = re.compile(r"(?:const\s+)?auto\s*&*\s*(\w+)")
_NO_VALUE: Final = re.compile(r"\{\s*\}")


def with_passed(spelled: Sequence[str], text: str, at: int, macros: Macros) -> list[tuple[str, ...]]:
    """Return template arguments at a place in a function's text, for each call of the generic lambdas around it."""
    found = [tuple(spelled)]
    for made in _LAMBDA.finditer(text, 0, at):
        names = [own[1] if (own := _PARAMETER.fullmatch(part.strip())) else "" for part in made["own"].split(",")]
        if _is_open(text, made.end(), at) and any(words(part) & {*names} for part in spelled):
            calls = [*_calls(made["name"], text, at, macros)]
            types = [dict(zip(names, map(_type, call), strict=False)) for call in calls if len(call) == len(names)]
            found = [tuple(_given(part, each) for part in parts) for parts in found for each in types]
    return found


def _is_open(text: str, start: int, at: int) -> bool:
    """Return whether a brace before a position is still open at another."""
    depth = 1
    for brace in re.finditer(r"[{}]", text[start:at]):
        depth += 1 if brace[0] == "{" else -1
        if not depth:
            return False
    return True


def _calls(name: str, text: str, at: int, macros: Macros) -> Iterator[tuple[str, ...]]:
    """Yield what a lambda is called with behind a place, in what macros stand for, too.

    These may make the name of another, which the parentheses behind them then belong to.
    """
    made = (macros.expand(use.text) for use in macros.uses(text, at, len(text), macros.naming({name})))
    for place in (text[at:], *made):
        plain = _NO_VALUE.sub("()", place)
        for call in re.finditer(rf"\b{name}\s*\(", plain):
            yield template_arguments(plain, call.end() - 1) or ()


def _type(argument: str) -> str:
    """Return the type of ``T()``; empty for other values, which are no constants."""
    return argument.removesuffix("()").strip() if argument.endswith("()") else type_of(argument, "")


def _given(part: str, types: dict[str, str]) -> str:
    """Return a template argument with the types of a lambda's parameters, where they are known."""
    known = {name: meaning for name, meaning in types.items() if name and meaning}
    part = re.sub(r"\bdecltype\s*\(\s*(\w+)\s*\)", lambda found: known.get(found[1], found[0]), part)
    return replaced(part, {name: f"{meaning}{{}}" for name, meaning in known.items()})
