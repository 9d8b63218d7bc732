"""Whether a lowered name can be that of a name expression, as far as that shows without a compiler.

Rules: Itanium C++ ABI, "Mangling". What a name's text does not tell (types of the project, default arguments,
expressions) is not looked at.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.names import base_name, normalize_name, plain_name

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["can_mean"]

_TYPES: Final = {
    "bool": "b",
    "char": "c",
    "signed char": "a",
    "unsigned char": "h",
    "short": "s",
    "unsigned short": "t",
    "int": "i",
    "unsigned": "j",
    "unsigned int": "j",
    "long": "l",
    "unsigned long": "m",
    "long long": "x",
    "unsigned long long": "y",
    "float": "f",
    "double": "d",
}
_NUMBER: Final = re.compile(r"(-?)(0|[1-9][0-9]*)")
_TRUTH: Final = {"true": "1", "false": "0"}


def can_mean(name: str, lowered: str) -> bool:
    """Return whether a lowered name may be that of a kernel or variable with this name."""
    word = base_name(name).rpartition("::")[2]
    if name == lowered or not word or "(" in name:  # a cast names an overload
        return True
    if "<" not in name:
        plain = plain_name(lowered)
        last = f"{len(word)}{word}" in lowered if plain is None else plain.rpartition("::")[2] == word
        return last or word == lowered
    return plain_name(lowered) is None and bool(re.search(_pattern(word, name), lowered))


def _pattern(word: str, name: str) -> str:
    """Return a regular expression for a template's name and those of its arguments before the first unknown one."""
    codes = []
    for argument in _arguments(normalize_name(name)):
        code = _code(argument)
        if code is None:
            break
        codes.append(f"J?{code}E?")  # J and E stand around a pack
    return rf"{len(word)}{re.escape(word)}I{''.join(codes)}"


def _code(argument: str) -> str | None:
    if argument in _TYPES:
        return _TYPES[argument]
    number = _NUMBER.fullmatch(argument)
    if number is None and argument not in _TRUTH:
        return None
    value = f"{'n' if number[1] else ''}{number[2]}" if number else _TRUTH[argument]
    return rf"L(?:[a-z]|D[a-z]){value}E"


def _arguments(name: str) -> Iterator[str]:
    """Yield the arguments of a template's name, up to one with brackets of its own."""
    for argument in name.partition("<")[2].removesuffix(">").split(","):
        if any(bracket in argument for bracket in "<>()[]{}'\""):
            return
        yield argument
