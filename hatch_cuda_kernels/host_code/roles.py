"""What a project's macros are to the declarations that use them."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING, Final, NamedTuple

from hatch_cuda_kernels.host_code.words import SPECIFIERS

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Mapping

__all__ = ["MacroRole", "find_roles", "reached"]

#: Words that decide whether a declaration is host code, and that macros hide: ``EXAMPLE_CONSTEXPR int f()``.
_SPECIFIERS: Final = frozenset(
    {"constexpr", "consteval", "constinit", "const", "friend", "virtual", "override", "final"}
)
_PRAGMA: Final = re.compile(r"\b(?:_Pragma|__pragma)\s*\((?:[^()]|\([^()]*\))*\)")
#: What has arguments is a macro, or an attribute.
_CALL: Final = re.compile(r"\b\w+\s*(?=\()")
_PIECE: Final = re.compile(r"[A-Za-z_]\w*|[()\[\]<>*&]")


class MacroRole(NamedTuple):
    """What a macro is to a declaration; of one that is defined several times, what any of these makes of it."""

    is_whole: bool = False
    """Whether it stands for whole declarations, or opens or closes braces."""
    words: frozenset[str] = frozenset()
    """The specifiers that it stands for, or begins or ends with."""
    is_type: bool = False
    """Whether there is a type in what it stands for."""


def find_roles(texts: Mapping[str, Iterable[str]], users: Mapping[str, set[str]]) -> dict[str, MacroRole]:
    """Return the role of each macro, by what it stands for; ``users`` are the macros that name a word."""
    direct = {
        name for name, found in texts.items() if any(set(text) & set("{};") for text in found) or _is_pragma(found)
    }
    whole = reached(direct, users)
    words = _hidden_words(texts, users)
    return {
        name: MacroRole(name in whole, frozenset(words.get(name, ())), any(_has_type(text, texts) for text in found))
        for name, found in texts.items()
    }


def _has_type(text: str, macros: Container[str]) -> bool:
    """Return whether a word outside brackets may be a type: it is no macro's, and no compiler's, specifier."""
    words = (word for word in _outer_words(_CALL.sub("", text)) if word not in SPECIFIERS and word not in macros)
    return any(word[0] != "_" for word in words)


def _is_pragma(texts: Iterable[str]) -> bool:
    """Return whether a macro stands for pragmas, or for nothing where a compiler has none."""
    left = {_PRAGMA.sub("", text).strip() for text in texts}
    return left == {""} and any(texts)


def _hidden_words(texts: Mapping[str, Iterable[str]], users: Mapping[str, set[str]]) -> dict[str, set[str]]:
    """Return the specifiers that macros stand for, also by way of others."""
    outer: dict[str, set[str]] = defaultdict(set)
    for name in reached(_SPECIFIERS, users) & texts.keys():
        for word in (word for text in texts[name] for word in _outer_words(text)):
            outer[word].add(name)
    found: dict[str, set[str]] = defaultdict(set)
    for word in _SPECIFIERS:
        for name in reached({word}, outer):
            found[name].add(word)
    return found


def _outer_words(text: str) -> Iterator[str]:
    """Yield the words outside brackets; ``const`` not where it is what a pointer or a reference is to."""
    depth, found = 0, list[str]()
    for piece in _PIECE.findall(text):
        depth += (piece in "([<") - (piece in ")]>")
        if not depth and piece in "*&":
            found = [word for word in found if word != "const"]
        elif not depth and (piece[0].isalpha() or piece[0] == "_"):
            found.append(piece)
    yield from found


def reached(names: Iterable[str], users: Mapping[str, set[str]]) -> frozenset[str]:
    """Return names and all macros that use them, directly or not."""
    found = set(names)
    waiting = list(found)
    while waiting:
        fresh = users.get(waiting.pop(), set()) - found
        found |= fresh
        waiting += fresh
    return frozenset(found)
