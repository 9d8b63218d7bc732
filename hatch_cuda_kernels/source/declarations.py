"""Finds the declarations of kernels in C++ text, for the names of their parameters: PTX has none.

This is not a C++ parser. ``#if`` is not evaluated and no macro is expanded, so a declaration may be missed, found
twice, or belong to another overload; callers use what all fitting declarations agree on.
"""

from __future__ import annotations

import re
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from hatch_cuda_kernels.source.kernel_marks import KERNEL, with_marks_shown
from hatch_cuda_kernels.source.lexer import blank_literals

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

__all__ = ["Declarations", "DeclaredParameter", "declaration_at", "declarations_of", "find_declarations"]

#: Programs whose declarations are remembered.
_MOST: Final = 256


class DeclaredParameter(NamedTuple):
    """One parameter as it is declared: its type, and its name (empty if it has none)."""

    type: str
    name: str


_DIRECTIVE: Final = re.compile(r"^[ \t]*#.*", re.MULTILINE)
_TOKEN: Final = re.compile(r"\w+|::|\.\.\.|[^\w\s]")
#: Words before or after a kernel's name that take arguments of their own.
_ATTRIBUTES: Final = frozenset(
    {"__launch_bounds__", "__cluster_dims__", "__block_size__", "__maxnreg__", "__attribute__", "__declspec__"}
    | {"__declspec", "alignas", "requires", "decltype"}
)
_CLOSING: Final = {"(": ")", "[": "]", "{": "}", "<": ">"}
_QUALIFIERS: Final = frozenset(
    {"const", "volatile", "__restrict__", "__restrict", "restrict", "__grid_constant__", "struct", "class", "enum"}
    | {"typename", "register"}
)
_TYPE_WORDS: Final = frozenset(
    {"void", "bool", "char", "short", "int", "long", "float", "double", "signed", "unsigned", "auto", "wchar_t"}
    | {"char8_t", "char16_t", "char32_t", "__int64", "__int128"}
)


def find_declarations(text: str) -> dict[str, list[tuple[DeclaredParameter, ...]]]:
    """Return the parameter lists of every ``__global__`` function of a text, by its name without namespaces."""
    code = _DIRECTIVE.sub(" ", blank_literals(text))
    tokens = _TOKEN.findall(code)
    found: dict[str, list[tuple[DeclaredParameter, ...]]] = {}
    for at, token in enumerate(tokens):
        declared = declaration_at(tokens, at + 1) if token == KERNEL else None
        if declared is not None:
            found.setdefault(declared[0], []).append(declared[1])
    return found


class Declarations:
    """The kernels that the texts of one program declare."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._texts = tuple(texts)

    def parameters(self, name: str, count: int) -> tuple[DeclaredParameter, ...]:
        """Return what all declarations of a kernel with so many parameters agree on; nothing where there is none."""
        found = self._found.get(name.rpartition("::")[2], [])
        return tuple(map(_agreed, zip(*(declared for declared in found if len(declared) == count), strict=True)))

    def counts(self, name: str) -> frozenset[int]:
        """Return how many parameters a kernel is declared with; several numbers for an overloaded one."""
        return frozenset(map(len, self._found.get(name.rpartition("::")[2], [])))

    @property
    def kernels(self) -> frozenset[str]:
        """All kernels, without namespaces."""
        return frozenset(self._found)

    @cached_property
    def _found(self) -> dict[str, list[tuple[DeclaredParameter, ...]]]:
        found: dict[str, list[tuple[DeclaredParameter, ...]]] = {}
        for text in with_marks_shown(self._texts):
            for name, declared in find_declarations(text).items():
                found.setdefault(name, []).extend(declared)
        return found


@lru_cache(_MOST)
def declarations_of(texts: tuple[str, ...]) -> Declarations:
    """Return what the texts of one program declare; a module has the same for every architecture."""
    return Declarations(texts)


def _agreed(forms: Sequence[DeclaredParameter]) -> DeclaredParameter:
    """Return what all declarations agree on for one parameter; those without a name do not count for the name."""
    types, names = {form.type for form in forms}, {form.name for form in forms} - {""}
    return DeclaredParameter(types.pop() if len(types) == 1 else "", names.pop() if len(names) == 1 else "")


def declaration_at(tokens: Sequence[str], at: int) -> tuple[str, tuple[DeclaredParameter, ...]] | None:
    """Return the name and parameters of the function declared from ``at`` on; None if none is recognised.

    It is the last name with parentheses before the body or the semicolon: any before it is an attribute or a macro.
    """
    best = None
    while at < len(tokens) and tokens[at] not in {"{", ";", KERNEL}:
        name, after = tokens[at], at + 1
        if after < len(tokens) and tokens[after] == "<" and not name[0].isdigit():
            after = _end(tokens, after)  # arguments of an explicit specialisation
        if after < len(tokens) and tokens[after] == "(" and re.match(r"[^\W\d]", name):
            end = _end(tokens, after)
            if name not in _ATTRIBUTES:
                best = name, tuple(map(_parameter, _split(tokens[after + 1 : end - 1])))
            at = end
        else:
            at = max(after, at + 1) if re.match(r"[^\W\d]", name) else at + 1
    return best


def _end(tokens: Sequence[str], at: int) -> int:
    """Return the position after the bracket that closes the one at ``at``; the end of the text if none does."""
    closing: list[str] = []
    for position in range(at, len(tokens)):
        mark = tokens[position]
        if closing and mark == closing[-1]:
            closing.pop()
            if not closing:
                return position + 1
        elif mark in "([{" or (mark == "<" and (not closing or closing[-1] == ">")):
            closing.append(_CLOSING[mark])
    return len(tokens)


def _split(tokens: Sequence[str]) -> Iterator[list[str]]:
    """Yield the parameters of a list, separated by the commas outside all brackets."""
    part: list[str] = []
    at = 0
    while at < len(tokens):
        end = _end(tokens, at) if tokens[at] in _CLOSING else at + 1
        if tokens[at] == ",":
            yield part
            part = []
        else:
            part += tokens[at:end]
        at = end
    if part and part != ["void"]:
        yield part


def _parameter(tokens: list[str]) -> DeclaredParameter:
    if "=" in tokens:
        tokens = tokens[: tokens.index("=")]
    head = tokens[: tokens.index("[")] if "[" in tokens[1:] else tokens
    rest = ["*"] if len(head) < len(tokens) else []
    named = (
        len([token for token in head if token not in _QUALIFIERS]) > 1
        and re.fullmatch(r"[^\W\d]\w*", head[-1]) is not None
        and head[-1] not in _TYPE_WORDS | _QUALIFIERS
        and head[-2] != "::"
    )
    kind = (head[:-1] if named else head) + rest
    return DeclaredParameter(_spell(kind), head[-1] if named else "")


def _spell(tokens: Sequence[str]) -> str:
    """Return tokens as text, with the spaces that people write in types."""
    text = " ".join(tokens)
    text = re.sub(r" ?(::|[<>()\[\].]) ?", r"\1", text)
    text = re.sub(r" ?, ?", ", ", text)
    return re.sub(r"(?<=>)(?=\w)", " ", re.sub(r" (?=[*&])", "", text)).strip()
