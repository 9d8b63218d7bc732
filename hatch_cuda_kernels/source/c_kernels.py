"""Finds the kernels of C linkage in C++ text: a compiler has to be asked for their types, which no symbol tells.

As ``declarations``, this is no C++ parser. What it finds may not be there after ``#if``, and macros hide others.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.source.declarations import declaration_at
from hatch_cuda_kernels.source.lexer import SPLICE, blank_literals

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

__all__ = ["find_c_kernels"]

#: Texts whose kernels are remembered: a module has the same for every architecture.
_MOST: Final = 256
_KERNEL: Final = "__global__"
_LINKAGE: Final = re.compile(r'\bextern\s*"C"')
#: Stands for ``extern "C"`` where literals are left out.
_C: Final = "extern_C_"
_MACRO: Final = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)(\([\w, \t.]*\))?[ \t]+([^\n]*)", re.MULTILINE)
_DIRECTIVE: Final = re.compile(r"^[ \t]*#.*", re.MULTILINE)
_TOKEN: Final = re.compile(r"\w+|::|[^\w\s]")
_NAME: Final = re.compile(r"[^\W\d]\w*")
_BOUNDS: Final = frozenset("{};")


@lru_cache(_MOST)
def find_c_kernels(texts: tuple[str, ...]) -> tuple[str, ...]:
    """Return the qualified names of the kernels of C linkage that the texts of one program declare, each once."""
    marked = [text for text in texts if _KERNEL in text or _LINKAGE.search(text)]
    if not any(map(_LINKAGE.search, marked)):
        return ()
    codes = [blank_literals(_LINKAGE.sub(_C, SPLICE.sub("", text))) for text in marked]
    macros = _macros(codes)
    found = (name for code in codes for name in _kernels(_TOKEN.findall(_expanded(_DIRECTIVE.sub(" ", code), macros))))
    return tuple(dict.fromkeys(found))


def _macros(codes: Iterable[str]) -> dict[str, str]:
    """Return what macros without parameters stand for that hide the mark of a kernel or its linkage."""
    found: dict[str, str] = {}
    plain = [(name, body) for code in codes for name, parameters, body in _MACRO.findall(code) if not parameters]
    while fresh := {
        name: body for name, body in plain if name not in found and {_KERNEL, _C, *found} & {*_NAME.findall(body)}
    }:
        found |= fresh
    return found


def _expanded(code: str, macros: dict[str, str]) -> str:
    for _ in macros:  # one may stand for another
        code = _NAME.sub(lambda word: macros.get(word[0], word[0]), code)
    return code


def _kernels(tokens: Sequence[str]) -> Iterator[str]:
    """Yield the names of kernels of C linkage, within their namespaces."""
    scopes: list[str] = []
    start = 0
    for at, mark in enumerate(tokens):
        if mark not in _BOUNDS:
            continue
        head, start = tokens[start:at], at + 1
        if mark == "}":
            del scopes[-1:]
            continue
        if _KERNEL in head and (_C in head or _C in scopes) and "template" not in head:
            declared = declaration_at(tokens, at - len(head) + head.index(_KERNEL) + 1)
            spaces = (scope for scope in scopes if scope not in {"", _C})
            yield from [] if declared is None else ["::".join([*spaces, declared[0]])]
        if mark == "{":
            scopes.append(_scope(head))


def _scope(head: Sequence[str]) -> str:
    """Return what a brace after these tokens opens: the name of a namespace, C linkage, or nothing of the kind."""
    if head[-1:] == [_C]:
        return _C
    return "".join(head[head.index("namespace") + 1 :]) if "namespace" in head else ""
