"""Finds where project files depend on the architecture they are compiled for: a shared front end freezes that."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.names import VIRTUAL_ROOT
from hatch_cuda_kernels.source.lexer import Joined, Lexer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hatch_cuda_kernels.source.lexer import Found
    from hatch_cuda_kernels.source.source_set import SourceSet

__all__ = ["arch_uses"]

_LEXER: Final = Lexer(r"(?<!\w)(?:__CUDA_ARCH_\w++|NV_(?:PROVIDES|IS_EXACTLY|HAS_FEATURE)_SM_\w++)", starts="_N")
#: Whether there is an architecture at all tells device code from host code, and is the same for all.
_WIDEST_TEST: Final = 80
_TESTED: Final = re.compile(r"(?:#[ \t]*ifn?def[ \t]+|\bdefined[ \t]*\(?[ \t]*)\Z")


def arch_uses(sources: SourceSet) -> tuple[str, ...]:
    """Return ``path:line`` of each use of ``__CUDA_ARCH__`` or one of its kin, once a line, by path.

    A test whether ``__CUDA_ARCH__`` is defined does not count, nor what the toolkit's headers do.
    """
    project = sources.project_texts
    found = (f"{name.removeprefix(VIRTUAL_ROOT)}:{line}" for name in sorted(project) for line in _lines(project[name]))
    return tuple(dict.fromkeys(found))


def _lines(text: str) -> Iterator[int]:
    if "__CUDA_ARCH_" not in text and "_SM_" not in text:
        return
    source = Joined(text)
    position = done = 0
    line = 1
    while found := _LEXER.find(source, position):
        position = found.end
        if not found.is_unclear and not _only_tests(source.text, found):
            place = source.place(found.start)
            line, done = line + text.count("\n", done, place), place
            yield line


def _only_tests(text: str, found: Found) -> bool:
    before = text[max(0, found.start - _WIDEST_TEST) : found.start]
    return text[found.start : found.end] == "__CUDA_ARCH__" and _TESTED.search(before) is not None
