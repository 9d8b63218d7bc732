"""Finds the kernels of C linkage in C++ text: a compiler has to be asked for their types, which no symbol tells.

As ``declarations``, this is no C++ parser. What it finds may not be there after ``#if``, and macros hide others.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.source.declarations import declaration_at
from hatch_cuda_kernels.source.kernel_marks import C_LINKAGE, KERNEL, with_marks_shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["find_c_kernels"]

#: Programs whose kernels are remembered: a module has the same for every architecture.
_MOST: Final = 256
_TOKEN: Final = re.compile(r"\w+|::|[^\w\s]")
_BOUNDS: Final = frozenset("{};")


@lru_cache(_MOST)
def find_c_kernels(texts: tuple[str, ...]) -> tuple[str, ...]:
    """Return the qualified names of the kernels of C linkage that the texts of one program declare, each once."""
    shown = (text for text in with_marks_shown(texts) if C_LINKAGE in text)
    return tuple(dict.fromkeys(name for text in shown for name in _kernels(_TOKEN.findall(text))))


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
        if KERNEL in head and (C_LINKAGE in head or C_LINKAGE in scopes) and "template" not in head:
            declared = declaration_at(tokens, at - len(head) + head.index(KERNEL) + 1)
            spaces = (scope for scope in scopes if scope not in {"", C_LINKAGE})
            yield from [] if declared is None else ["::".join([*spaces, declared[0]])]
        if mark == "{":
            scopes.append(_scope(head))


def _scope(head: Sequence[str]) -> str:
    """Return what a brace after these tokens opens: the name of a namespace, C linkage, or nothing of the kind."""
    if head[-1:] == [C_LINKAGE]:
        return C_LINKAGE
    return "".join(head[head.index("namespace") + 1 :]) if "namespace" in head else ""
