"""Where a text says ``register``, which C++17 has no more, and nvcc takes all the same."""

from __future__ import annotations

import re
from typing import Final

from hatch_cuda_kernels.source.lexer import without_comments

__all__ = ["has_register"]

#: What is before and behind it, where it is of a variable in a function, or of a parameter.
_REGISTER: Final = re.compile(r"register(?<=\bregister)\s+[A-Za-z_]")
_BEFORE_REGISTER: Final = re.compile(r"(?:[;{}(,)]|^|\n)\s*(?:(?:const|volatile|else)\s+)*\Z")
#: Of specifiers before it.
_LONGEST: Final = 100
#: Left where code was: patterns that may begin at each line would pass over all of them from each.
_BLANKS: Final = re.compile(r"\n\s+")


def has_register(text: str) -> bool:
    """Return whether a declaration of a text has the word, of a variable in a function or of a parameter."""
    if "register" not in text:
        return False
    shown = _BLANKS.sub("\n", without_comments(text))
    return any(
        _BEFORE_REGISTER.search(shown[max(0, found.start() - _LONGEST) : found.start()])
        for found in _REGISTER.finditer(shown)
    )
