"""Lowered names as C++ spells them, for messages, and the parameter types in them. Rules: Itanium C++ ABI, "Mangling".

What device code has in its symbols: functions and variables, namespaces, classes, templates, and the types of their
parameters. A name with anything else (most expressions) is not read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeVar

from hatch_cuda_kernels.compiler.output import mangling
from hatch_cuda_kernels.compiler.output.mangling import SpelledType, SymbolCursor, UnknownError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["argument_parameters", "demangled", "function_parameters"]

T = TypeVar("T")


def demangled(lowered: str) -> str:
    """Return a lowered name with its parameters as C++ spells it; as it is, where it is not mangled or too unusual."""
    return _read(_Demangler.encoding, lowered, brief=False) or lowered


def function_parameters(lowered: str) -> tuple[str, ...] | None:
    """Return the types of a function's parameters; None where its lowered name does not tell all of them.

    Inline namespaces with a library's version are left out.
    """
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
    """A name, and what is known of it."""

    text: str
    arguments: list[str] | None = None
    """Template arguments, if it ends in them."""
    qualifiers: str = ""
    """Of a member function."""


class _Demangler(SymbolCursor):
    """One pass through a mangled name. ``brief`` names leave out inline namespaces with a library's version."""

    def __init__(self, text: str, *, brief: bool) -> None:
        super().__init__(text, len("_Z"))
        self._seen: list[SpelledType] = []
        self._arguments: list[str] = []
        self._brief = brief

    def encoding(self) -> str:
        """Return the whole name, without the result of a template: a call does not need it."""
        name = self._name()
        return name.text if self._ends() else f"{name.text}({', '.join(self._parameters(name))}){name.qualifiers}"

    def parameters(self) -> tuple[str, ...]:
        """Return the types of a function's parameters."""
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
        """Return the types up to the end of a list."""
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
        while (word := mangling.SUFFIXES.get(self._text[self._at])) is not None:
            qualifiers += word
            self._at += 1
        name, last, arguments = self._referred(), "", None
        while not self._take("E"):
            arguments = self._template() if self._next("I") else None
            if arguments is not None:
                name += f"<{', '.join(arguments)}>"
            else:
                last = self._structor(last) or self._plain()
                name = self._member(name, last)
            if not self._next("E"):
                self._keep(SpelledType(name))
        return _Name(name, arguments, qualifiers)

    def _member(self, owner: str, name: str) -> str:
        if self._brief and owner and mangling.VERSION.fullmatch(name):
            return owner
        return f"{owner}::{name}" if owner else name

    def _local(self) -> _Name:
        """Return the name of what is declared in a function."""
        function = self.encoding()
        self._expect("E")
        inner = self._name()
        self._match(mangling.DISCRIMINATOR)
        return _Name(f"{function}::{inner.text}", inner.arguments)

    def _structor(self, owner: str) -> str:
        """Return the name of a constructor or destructor; empty where there is none."""
        found = self._match(mangling.STRUCTOR)
        return "" if found is None else f"{'~' if found[0][0] == 'D' else ''}{owner}"

    def _plain(self) -> str:
        """Return one identifier, an operator, or what stands for a class without a name."""
        self._take("L")  # internal linkage
        if self._take("Ut"):
            return f"{{unnamed type#{(self._counted(mangling.NUMBERED) or 0) + 1}}}"
        if self._take("Ul"):
            types = ", ".join(self._types())
            self._expect("E")
            return f"{{lambda({types})#{(self._counted(mangling.NUMBERED) or 0) + 1}}}"
        found = self._match(mangling.LENGTH)
        if found is None:
            operator = mangling.OPERATORS[self._text[self._at : self._at + 2]]
            self._at += 2
            return f"operator{operator}"
        end = self._at + int(found[0])
        if end > len(self._text):
            raise UnknownError
        name, self._at = self._text[self._at : end], end
        return "(anonymous namespace)" if name.startswith("_GLOBAL__N_") else name

    def _referred(self) -> str:
        """Return what an abbreviation stands for; empty where there is none."""
        for mark, name in mangling.STD.items():
            if self._take(mark):
                return name
        return "" if (known := self._known()) is None else str(known)

    def _known(self) -> SpelledType | None:
        number = self._counted(mangling.SEQUENCE, 36)
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
        found = self._match(mangling.LITERAL)
        if found is None:
            raise UnknownError
        number = found[0].rstrip("E").replace("n", "-")
        if kind == "bool":
            return mangling.TRUTH[number]
        suffix = mangling.LITERAL_SUFFIXES.get(kind)
        return f"({kind}){number}" if suffix is None else f"{number}{suffix}"

    def _type(self) -> SpelledType:
        """Return the next type, noted unless it is a builtin one or was noted before."""
        for mark, name in mangling.BUILTIN.items():
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
        while (word := mangling.QUALIFIERS.get(self._text[self._at])) is not None:
            words = f"{word} {words}".rstrip()
            self._at += 1
        if words:
            return self._type().qualified(words)
        mark = mangling.REFERENCES.get(self._text[self._at])
        if mark is not None:
            self._at += 1
            return self._type().reference(mark)
        if (number := self._counted(mangling.PARAMETER)) is not None:
            return SpelledType(self._arguments[number])
        if (array := self._match(mangling.ARRAY)) is not None:
            element = self._type()
            return SpelledType(element.before, f"[{array[1]}]{element.after}", is_open=True)
        if self._take("F"):
            result = self._type()
            types = ", ".join(self._types())
            self._expect("E")
            return SpelledType(str(result), f"({types})", is_open=True)
        if self._text[self._at] not in mangling.NAMES:
            raise UnknownError
        return SpelledType(self._name().text)
