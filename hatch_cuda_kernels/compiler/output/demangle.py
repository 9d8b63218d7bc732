"""Lowered names as C++ spells them, for messages. Rules: Itanium C++ ABI, "Mangling".

What device code has in its symbols: functions and variables, namespaces, classes, templates, and the types of their
parameters. A name with anything else (expressions, lambdas) stays as it is.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = ["demangled"]


def _table(text: str) -> dict[str, str]:
    """Return what the first word of each part stands for."""
    return dict(part.strip().split(" ", 1) for part in text.split(","))


_BUILTIN: Final = _table(
    "v void, w wchar_t, b bool, c char, a signed char, h unsigned char, s short, t unsigned short, i int, "
    "j unsigned int, l long, m unsigned long, x long long, y unsigned long long, n __int128, o unsigned __int128, "
    "f float, d double, e long double, g __float128, z ..., Dn decltype(nullptr), Ds char16_t, Di char32_t, "
    "Du char8_t, DF16_ _Float16"
)
_STD: Final = {"St": "std", "Sa": "std::allocator", "Sb": "std::basic_string", "Ss": "std::string"}
_OPERATORS: Final = _table(
    "pl +, mi -, ml *, dv /, rm %, an &, or |, eo ^, aS =, pL +=, mI -=, mL *=, dV /=, ls <<, rs >>, eq ==, ne !=, "
    "lt <, gt >, le <=, ge >=, nt !, aa &&, oo ||, pp ++, mm --, cl (), ix []"
)
_SUFFIXES: Final = {"P": "*", "R": "&", "O": "&&", "K": " const", "V": " volatile"}
_LENGTH: Final = re.compile(r"[1-9][0-9]*")
_SEQUENCE: Final = re.compile(r"S([0-9A-Z]*)_")
_PARAMETER: Final = re.compile(r"T([0-9]*)_")
_LITERAL: Final = re.compile(r"L([a-z])(n?[0-9]+)E")
_ARRAY: Final = re.compile(r"A([0-9]*)_")
_SPELLED_LITERALS: Final = {"j": "u", "l": "l", "m": "ul", "x": "ll", "y": "ull"}
_TRUTH: Final = {"0": "false", "1": "true"}


def demangled(lowered: str) -> str:
    """Return a lowered name with its parameters as C++ spells it; as it is, where it is not mangled or too unusual."""
    if not lowered.startswith("_Z"):
        return lowered
    try:
        return _Demangler(lowered).encoding()
    except (IndexError, KeyError, RecursionError, ValueError, _UnknownError):
        return lowered


class _UnknownError(Exception):
    """The name has something that is not read here."""


class _Demangler:
    """One pass through a mangled name."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = len("_Z")
        self._seen: list[str] = []
        self._arguments: list[str] = []

    def encoding(self) -> str:
        """Return the whole name."""
        name, is_template, qualifiers = self._name()
        if self._done():
            return name
        result = self._type() if is_template and not name.endswith("()") else ""  # not shown: a call does not need it
        types = [self._type()] if not self._done() else [result]
        while not self._done():
            types.append(self._type())
        listed = "" if types == ["void"] else ", ".join(types)
        return f"{name}({listed}){qualifiers}"

    def _done(self) -> bool:
        return self._at >= len(self._text) or self._text[self._at] == "."

    def _take(self, text: str) -> bool:
        if self._text.startswith(text, self._at):
            self._at += len(text)
            return True
        return False

    def _match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        found = pattern.match(self._text, self._at)
        if found is not None:
            self._at = found.end()
        return found

    def _keep(self, text: str) -> str:
        """Note what later parts of the name may refer to by its number."""
        self._seen.append(text)
        return text

    def _name(self) -> tuple[str, bool, str]:
        """Return a name, whether it ends in template arguments, and what qualifies a member function."""
        if self._take("N"):
            return self._nested()
        name = f"std::{self._plain()}" if self._take("St") else self._referred() or self._plain()
        if not self._text.startswith("I", self._at):
            return name, False, ""
        if name not in self._seen:
            self._keep(name)
        return name + self._template(), True, ""

    def _nested(self) -> tuple[str, bool, str]:
        qualifiers = ""
        while self._text[self._at] in "KVRO" and self._text[self._at : self._at + 2] not in {"Re", "Rs"}:
            qualifiers += _SUFFIXES[self._text[self._at]]
            self._at += 1
        name, last, is_template = "", "", False
        while not self._take("E"):
            if self._text.startswith("I", self._at):
                name += self._template()
                is_template = True
            elif not name and (referred := self._referred()):
                name = referred
                continue  # it has its number already
            else:
                last = self._structor(last) or self._plain()
                name = f"{name}::{last}" if name else last
                is_template = False
            if not self._text.startswith("E", self._at):
                self._keep(name)
        return name, is_template, qualifiers

    def _structor(self, owner: str) -> str:
        """Return the name of a constructor or destructor; empty where there is none."""
        if not re.match(r"[CD][0-3]", self._text[self._at : self._at + 2]):
            return ""
        self._at += 2
        return f"~{owner}" if self._text[self._at - 2] == "D" else owner

    def _plain(self) -> str:
        """Return one identifier, or an operator."""
        self._take("L")  # internal linkage
        length = self._match(_LENGTH)
        if length is not None:
            start = self._at
            self._at += int(length[0])
            if self._at > len(self._text):
                raise _UnknownError
            name = self._text[start : self._at]
            return "(anonymous namespace)" if name.startswith("_GLOBAL__N_") else name
        operator = _OPERATORS[self._text[self._at : self._at + 2]]
        self._at += 2
        return f"operator{operator}"

    def _referred(self) -> str:
        """Return what an abbreviation stands for; empty where there is none."""
        for mark, name in _STD.items():
            if self._take(mark):
                return name
        found = self._match(_SEQUENCE)
        return "" if found is None else self._seen[int(found[1], 36) + 1 if found[1] else 0]

    def _template(self) -> str:
        self._take("I")
        arguments: list[str] = []
        while not self._take("E"):
            arguments += self._pack() if self._take("J") else [self._argument()]
        self._arguments = arguments
        return f"<{', '.join(arguments)}>"

    def _pack(self) -> list[str]:
        arguments = []
        while not self._take("E"):
            arguments.append(self._argument())
        return arguments

    def _argument(self) -> str:
        literal = self._match(_LITERAL)
        if literal is None:
            return self._type()
        number = literal[2].replace("n", "-")
        return _TRUTH[number] if literal[1] == "b" else f"{number}{_SPELLED_LITERALS.get(literal[1], '')}"

    def _type(self) -> str:
        for mark, name in _BUILTIN.items():
            if self._take(mark):
                return name
        suffix = _SUFFIXES.get(self._text[self._at])
        if suffix is not None:
            self._at += 1
            return self._keep(_with_suffix(self._type(), suffix))
        if (parameter := self._match(_PARAMETER)) is not None:
            return self._keep(self._arguments[int(parameter[1]) + 1 if parameter[1] else 0])
        if (array := self._match(_ARRAY)) is not None:
            return self._keep(f"{self._type()} [{array[1]}]")
        if self._take("F"):
            return self._keep(self._function())
        if self._text[self._at] not in "NS" and not self._text[self._at].isdigit():
            raise _UnknownError
        known = len(self._seen)
        name, is_template, _ = self._name()
        is_new = is_template or name not in self._seen[:known]
        return self._keep(name) if is_new else name

    def _function(self) -> str:
        result, types = self._type(), []
        while not self._take("E"):
            types.append(self._type())
        return f"{result} ({'' if types == ['void'] else ', '.join(types)})"


def _with_suffix(spelled: str, suffix: str) -> str:
    """Return a pointer or reference to a type, or the type qualified; that of an array or a function goes inside."""
    for opening in (" (", " ["):
        before, bracket, after = spelled.partition(opening)
        if bracket and "<" not in before:
            return f"{before} ({suffix.strip()}){opening if opening == ' [' else '('}{after}"
    return spelled + suffix
