"""What a text keeps from NVRTC by ``#ifndef __CUDACC_RTC__``, as ported files do."""

from __future__ import annotations

import re
from typing import Final

from hatch_cuda_kernels.source.lexer import CHARACTER, COMMENT, STRING

__all__ = ["without_guarded"]

_NOISE: Final = re.compile(f"{COMMENT}|{STRING}|{CHARACTER}")
_CONDITION: Final = re.compile(r"^[ \t]*#[ \t]*(if(?:n?def)?|elif\w*|else|endif)\b(.*)$", re.MULTILINE)
_VISIBLE: Final = re.compile(r"\S")


def without_guarded(text: str) -> str:
    """Return a text with blanks for what a guard keeps from NVRTC."""
    if "__CUDACC_RTC__" not in text:
        return text
    plain = _NOISE.sub(lambda found: _VISIBLE.sub(" ", found[0]), text)
    opened: list[bool] = []  # for each condition that is open, whether its part is not for NVRTC
    pieces: list[str] = []
    done = 0
    for line in _CONDITION.finditer(plain):
        part = text[done : line.start()]
        pieces += _VISIBLE.sub(" ", part) if any(opened) else part, line[0]
        done = line.end()
        test = f"{line[1]} {line[2]}".split()
        if line[1].startswith("if"):
            opened.append(test == ["ifndef", "__CUDACC_RTC__"])
        elif opened:
            opened[-1:] = [] if line[1] == "endif" else [False]
    return "".join((*pieces, text[done:]))
