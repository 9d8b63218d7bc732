"""Mangled names, of the Itanium C++ ABI, as C++ spells them: names, parameters, template arguments."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, NamedTuple, TypeVar

STD: Final = {"St": "std", "Sa": "std::allocator", "Sb": "std::basic_string", "Ss": "std::string"}
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
T = TypeVar("T")


def _table(text: str) -> dict[str, str]:
    return dict(part.strip().split(" ", 1) for part in text.split(","))


BUILTIN: Final = _table(
    "v void, w wchar_t, b bool, c char, a signed char, h unsigned char, s short, t unsigned short, i int, "
    "j unsigned int, l long, m unsigned long, x long long, y unsigned long long, n __int128, o unsigned __int128, "
    "f float, d double, e long double, g __float128, z ..., Dn decltype(nullptr), Ds char16_t, Di char32_t, "
    "Du char8_t, DF16_ _Float16, Da auto"
)
OPERATORS: Final = _table(
    "pl +, mi -, ml *, dv /, rm %, an &, or |, eo ^, aS =, pL +=, mI -=, mL *=, dV /=, ls <<, rs >>, eq ==, ne !=, "
    "lt <, gt >, le <=, ge >=, nt !, aa &&, oo ||, pp ++, mm --, cl (), ix [], ps +, ng -, ad &, de *, co ~, rM %=, "
    "aN &=, oR |=, eO ^=, lS <<=, rS >>=, ss <=>, pm ->*, pt ->"
)


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


def demangled(lowered: str) -> str:
    """Return a lowered name with its parameters as C++ spells it; as it is, where it is not mangled or too unusual."""
    return _read(_Demangler.encoding, lowered, brief=False) or lowered


def function_parameters(lowered: str) -> tuple[str, ...] | None:
    """Return the types of a function's parameters, without inline version namespaces; None if the name lacks them."""
    return _read(_Demangler.parameters, lowered, brief=True)


def argument_parameters(lowered: str) -> tuple[str, ...] | None:
    """Return the types that the function takes whose pointer type is the first template argument of a lowered name."""
    return _read(_Demangler.argument, lowered, brief=True)


def _read(what: Callable[[_Demangler], T], lowered: str, *, brief: bool) -> T | None:
    if not lowered.startswith("_Z"):
        return None
    try:
        return what(_Demangler(lowered, brief=brief))
    except (IndexError, KeyError, RecursionError, ValueError, UnknownError):
        return None


class _Name(NamedTuple):
    text: str
    arguments: list[str] | None = None
    """Template arguments, if it ends in them."""
    qualifiers: str = ""


class _Demangler:
    """One pass through a mangled name. ``brief`` names leave out inline namespaces with a library's version."""

    def __init__(self, text: str, *, brief: bool) -> None:
        self._text = text
        self._at = len("_Z")
        self._seen: list[SpelledType] = []
        self._arguments: list[str] = []
        self._brief = brief

    def encoding(self) -> str:
        """Return the whole name, without the result of a template: a call does not need it."""
        name = self._name()
        return name.text if self._ends() else f"{name.text}({', '.join(self._parameters(name))}){name.qualifiers}"

    def parameters(self) -> tuple[str, ...]:
        return tuple(self._parameters(self._name()))

    def argument(self) -> tuple[str, ...]:
        """Return the types of the parameters of the first template argument, a pointer to a function."""
        self._expect("N")
        name = self._plain()
        while not self._take("I"):
            self._keep(SpelledType(name))
            name = f"{name}::{self._plain()}"
        self._keep(SpelledType(name))
        self._expect("PF")
        self._type()
        return tuple(self._types())

    def _parameters(self, name: _Name) -> list[str]:
        self._arguments = name.arguments or []
        if name.arguments is not None and not name.text.endswith("()"):
            self._type()
        return self._types()

    def _types(self) -> list[str]:
        found = [str(self._type())]
        while not self._ends():
            found.append(str(self._type()))
        return [] if found == ["void"] else found

    def _keep(self, found: SpelledType) -> SpelledType:
        """Note what later parts of the name may refer to by its number."""
        self._seen.append(found)
        return found

    def _name(self) -> _Name:
        if self._take("N"):
            return self._nested()
        if self._take("Z"):
            return self._local()
        known = self._referred()
        text = f"std::{self._plain()}" if known == "std" else known or self._plain()
        if not self._next("I"):
            return _Name(text)
        if known in {"", "std"}:
            self._keep(SpelledType(text))
        arguments = self._template()
        return _Name(f"{text}<{', '.join(arguments)}>", arguments)

    def _nested(self) -> _Name:
        qualifiers = ""
        while (word := SUFFIXES.get(self._text[self._at])) is not None:
            qualifiers += word
            self._at += 1
        name, last, arguments = self._referred(), "", None
        while not self._take("E"):
            arguments = self._template() if self._next("I") else None
            if arguments is not None:
                name += f"<{', '.join(arguments)}>"
            else:
                structor = self._match(STRUCTOR)
                last = f"{'~' if structor[0][0] == 'D' else ''}{last}" if structor else self._plain()
                if not (self._brief and name and VERSION.fullmatch(last)):
                    name = f"{name}::{last}" if name else last
            if not self._next("E"):
                self._keep(SpelledType(name))
        return _Name(name, arguments, qualifiers)

    def _local(self) -> _Name:
        function = self.encoding()
        self._expect("E")
        inner = self._name()
        self._match(DISCRIMINATOR)
        return _Name(f"{function}::{inner.text}", inner.arguments)

    def _plain(self) -> str:
        """Return one identifier, an operator, or what stands for a class without a name."""
        self._take("L")  # internal linkage
        if self._take("Ut"):
            return f"{{unnamed type#{(self._counted(NUMBERED) or 0) + 1}}}"
        if self._take("Ul"):
            types = ", ".join(self._types())
            self._expect("E")
            return f"{{lambda({types})#{(self._counted(NUMBERED) or 0) + 1}}}"
        found = self._match(LENGTH)
        if found is None:
            operator = OPERATORS[self._text[self._at : self._at + 2]]
            self._at += 2
            return f"operator{operator}"
        end = self._at + int(found[0])
        if end > len(self._text):
            raise UnknownError
        name, self._at = self._text[self._at : end], end
        return "(anonymous namespace)" if name.startswith("_GLOBAL__N_") else name

    def _referred(self) -> str:
        """Return what an abbreviation stands for; empty where there is none."""
        for mark, name in STD.items():
            if self._take(mark):
                return name
        return "" if (known := self._known()) is None else str(known)

    def _known(self) -> SpelledType | None:
        number = self._counted(SEQUENCE, 36)
        return None if number is None else self._seen[number]

    def _template(self) -> list[str]:
        self._expect("I")
        arguments: list[str] = []
        while not self._take("E"):
            if self._take("J"):
                while not self._take("E"):
                    arguments.append(self._argument())
            else:
                arguments.append(self._argument())
        return arguments

    def _argument(self) -> str:
        if self._take("XadL_Z"):
            name = f"&{self.encoding()}"
            self._expect("EE")
            return name
        if not self._take("L"):
            return str(self._type())
        kind = str(self._type())
        found = self._match(LITERAL)
        if found is None:
            raise UnknownError
        number = found[0].rstrip("E").replace("n", "-")
        if kind == "bool":
            return TRUTH[number]
        suffix = LITERAL_SUFFIXES.get(kind)
        return f"({kind}){number}" if suffix is None else f"{number}{suffix}"

    def _type(self) -> SpelledType:
        """Return the next type, noted unless it is a builtin one or was noted before."""
        for mark, name in BUILTIN.items():
            if self._take(mark):
                return SpelledType(name)
        if self._next("S") and not self._next("St"):
            at, known = self._at, self._known()
            if known is not None and not self._next("I"):
                return known
            self._at = at
        return self._keep(self._compound())

    def _compound(self) -> SpelledType:
        words = ""
        while (word := QUALIFIERS.get(self._text[self._at])) is not None:
            words = f"{word} {words}".rstrip()
            self._at += 1
        if words:
            return self._type().qualified(words)
        mark = REFERENCES.get(self._text[self._at])
        if mark is not None:
            self._at += 1
            return self._type().reference(mark)
        if (number := self._counted(PARAMETER)) is not None:
            return SpelledType(self._arguments[number])
        if (array := self._match(ARRAY)) is not None:
            element = self._type()
            return SpelledType(element.before, f"[{array[1]}]{element.after}", is_open=True)
        if self._take("F"):
            result = self._type()
            types = ", ".join(self._types())
            self._expect("E")
            return SpelledType(str(result), f"({types})", is_open=True)
        if self._text[self._at] not in NAMES:
            raise UnknownError
        return SpelledType(self._name().text)

    def _ends(self) -> bool:
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
