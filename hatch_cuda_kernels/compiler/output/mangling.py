"""The words of mangled names, and types as they stand around the names that they declare.

Rules: Itanium C++ ABI, "Mangling".
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

__all__ = [
    "ARRAY",
    "BUILTIN",
    "DISCRIMINATOR",
    "LENGTH",
    "LITERAL",
    "LITERAL_SUFFIXES",
    "NAMES",
    "NUMBERED",
    "OPERATORS",
    "PARAMETER",
    "QUALIFIERS",
    "REFERENCES",
    "SEQUENCE",
    "STD",
    "STRUCTOR",
    "SUFFIXES",
    "TRUTH",
    "VERSION",
    "SpelledType",
    "SymbolCursor",
    "UnknownError",
]


def _table(text: str) -> dict[str, str]:
    """Return what the first word of each part stands for."""
    return dict(part.strip().split(" ", 1) for part in text.split(","))


BUILTIN: Final = _table(
    "v void, w wchar_t, b bool, c char, a signed char, h unsigned char, s short, t unsigned short, i int, "
    "j unsigned int, l long, m unsigned long, x long long, y unsigned long long, n __int128, o unsigned __int128, "
    "f float, d double, e long double, g __float128, z ..., Dn decltype(nullptr), Ds char16_t, Di char32_t, "
    "Du char8_t, DF16_ _Float16, Da auto"
)
STD: Final = {"St": "std", "Sa": "std::allocator", "Sb": "std::basic_string", "Ss": "std::string"}
OPERATORS: Final = _table(
    "pl +, mi -, ml *, dv /, rm %, an &, or |, eo ^, aS =, pL +=, mI -=, mL *=, dV /=, ls <<, rs >>, eq ==, ne !=, "
    "lt <, gt >, le <=, ge >=, nt !, aa &&, oo ||, pp ++, mm --, cl (), ix [], ps +, ng -, ad &, de *, co ~, rM %=, "
    "aN &=, oR |=, eO ^=, lS <<=, rS >>=, ss <=>, pm ->*, pt ->"
)
REFERENCES: Final = {"P": "*", "R": "&", "O": "&&"}
QUALIFIERS: Final = {"r": "__restrict__", "V": "volatile", "K": "const"}
#: Of member functions.
SUFFIXES: Final = {"R": "&", "O": "&&", "K": " const", "V": " volatile"}
LENGTH: Final = re.compile(r"[1-9][0-9]*")
SEQUENCE: Final = re.compile(r"S([0-9A-Z]*)_")
PARAMETER: Final = re.compile(r"T([0-9]*)_")
LITERAL: Final = re.compile(r"n?[0-9a-f]+E")
ARRAY: Final = re.compile(r"A([0-9]*)_")
NUMBERED: Final = re.compile(r"([0-9]*)_")
STRUCTOR: Final = re.compile(r"[CD][0-3]")
DISCRIMINATOR: Final = re.compile(r"_[0-9]|__[0-9]+_")
#: What the name of a class can begin with.
NAMES: Final = "NSZU0123456789"
TRUTH: Final = {"0": "false", "1": "true"}
LITERAL_SUFFIXES: Final = {"int": "", "unsigned int": "u", "long": "l", "unsigned long": "ul"} | {
    "long long": "ll", "unsigned long long": "ull",
}  # fmt: skip
#: Inline namespaces of libraries that name their version and what they are compiled for: no type of a source has them.
VERSION: Final = re.compile(r"_*(?:[A-Z][A-Z0-9_]*_SM_[0-9_]+(?:NS)?|V?_?[0-9]+)|__cxx11")


class SpelledType(NamedTuple):
    """A type as it stands around the name that it declares."""

    before: str
    after: str = ""
    is_open: bool = False
    """Whether it is an array or a function: a pointer to it takes parentheses."""

    def __str__(self) -> str:
        return f"{self.before} {self.after}" if self.is_open else f"{self.before}{self.after}"

    def reference(self, mark: str) -> SpelledType:
        """Return the type of a pointer or reference to it."""
        if not self.is_open:
            return SpelledType(self.before + mark, self.after)
        return SpelledType(f"{self.before} ({mark}", f"){' ' * self.after.startswith('[')}{self.after}")

    def qualified(self, words: str) -> SpelledType:
        """Return it with ``const`` and the like: before what is not a pointer, as people write it."""
        is_pointer = self.before.endswith(("*", "&", " const", " volatile"))
        return self._replace(before=f"{self.before} {words}" if is_pointer else f"{words} {self.before}")


class UnknownError(Exception):
    """The name has something that is not read here."""


class SymbolCursor:
    """A place in a mangled name."""

    def __init__(self, text: str, at: int) -> None:
        self._text = text
        self._at = at

    def _ends(self) -> bool:
        """Return whether a list ends here, or the name."""
        return self._at >= len(self._text) or self._text[self._at] in ".E"

    def _next(self, text: str) -> bool:
        return self._text.startswith(text, self._at)

    def _take(self, text: str) -> bool:
        found = self._next(text)
        self._at += len(text) * found
        return found

    def _expect(self, text: str) -> None:
        if not self._take(text):
            raise UnknownError

    def _match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        found = pattern.match(self._text, self._at)
        self._at = found.end() if found is not None else self._at
        return found

    def _counted(self, pattern: re.Pattern[str], base: int = 10) -> int | None:
        """Return the number of a pattern that counts ``_``, ``0_``, ``1_`` and so on, from 0; None without one."""
        found = self._match(pattern)
        return None if found is None else int(found[1], base) + 1 if found[1] else 0
