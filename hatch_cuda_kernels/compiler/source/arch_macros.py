"""Finds where project files depend on the architecture they are compiled for: a shared front end freezes that."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.compiler.source.directives import LITERALS
from hatch_cuda_kernels.names import VIRTUAL_ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hatch_cuda_kernels.compiler.source.closure import Closure

__all__ = ["arch_uses"]

_MACRO: Final = r"\b(?P<macro>__CUDA_ARCH_\w+|NV_(?:PROVIDES|IS_EXACTLY|HAS_FEATURE)_SM_\w+)"
_LEXER: Final = re.compile("|".join((*LITERALS, _MACRO)))
#: Whether there is an architecture at all tells device code from host code, and is the same for all.
_TESTED: Final = re.compile(r"#[ \t]*ifn?def[ \t]+\Z|\bdefined[ \t]*\(?[ \t]*\Z")


def arch_uses(closure: Closure) -> tuple[str, ...]:
    """Return ``path:line`` of each use of ``__CUDA_ARCH__`` or one of its kin, once a line, by path.

    A test whether ``__CUDA_ARCH__`` is defined does not count, nor what the toolkit's headers do.
    """
    texts = {closure.program_name: closure.source, **dict(closure.headers)}
    project = {name: text for name, text in texts.items() if name.startswith(VIRTUAL_ROOT)}
    found = (f"{name.removeprefix(VIRTUAL_ROOT)}:{line}" for name in sorted(project) for line in _lines(project[name]))
    return tuple(dict.fromkeys(found))


def _lines(text: str) -> Iterator[int]:
    if "__CUDA_ARCH_" not in text and "_SM_" not in text:
        return
    for match in _LEXER.finditer(text):
        if match.lastgroup == "macro" and not _only_tests(text, match):
            yield text.count("\n", 0, match.start()) + 1


def _only_tests(text: str, match: re.Match[str]) -> bool:
    start = text.rfind("\n", 0, match.start()) + 1
    return match["macro"] == "__CUDA_ARCH__" and _TESTED.search(text[start : match.start()]) is not None
