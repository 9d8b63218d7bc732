"""Texts without what their conditions keep from NVRTC, as the guards of ported files do."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.source.branches import hidden_parts, undoes_tests

if TYPE_CHECKING:
    from collections.abc import Collection

__all__ = ["without_guarded"]

_VISIBLE: Final = re.compile(r"\S")


def without_guarded(texts: Collection[str]) -> list[str]:
    """Return texts that are compiled together with blanks for what their own conditions keep from NVRTC.

    They are returned as they are if one undefines what such conditions test.
    """
    return [*texts] if any(map(undoes_tests, texts)) else [_blanked(text) for text in texts]


def _blanked(text: str) -> str:
    pieces: list[str] = []
    done = 0
    for start, end in hidden_parts(text):
        pieces += text[done:start], _VISIBLE.sub(" ", text[start:end])
        done = end
    return "".join((*pieces, text[done:]))
