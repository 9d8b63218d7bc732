"""Macros that stand for ``#pragma unroll``: nvcc takes them anywhere, NVRTC in no lambda, but for ``_Pragma``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.names import VIRTUAL_ROOT
from hatch_cuda_kernels.source.dropped import Dropped

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["spell_pragmas"]

_PRAGMA: Final = re.compile(
    r"^(?P<define>[ \t]*#[ \t]*define[ \t]+(?P<name>\w+)[ \t]+)#[ \t]*pragma[ \t]+(?P<what>(?:no)?unroll(?:[ \t]+\d+)?)"
    r"(?=[ \t]*(?:\r?\n|\Z|//|/\*))",
    re.MULTILINE,
)


def spell_pragmas(texts: dict[str, str]) -> Iterator[Dropped]:
    """Spell the pragmas of macros in texts by name as an operator, and yield these macros."""
    for name, text in texts.items():
        found = [*_PRAGMA.finditer(text)] if "pragma" in text else []
        for one in found:
            yield Dropped(name.removeprefix(VIRTUAL_ROOT), text.count("\n", 0, one.start()) + 1, "pragma", one["name"])
        if found:
            texts[name] = _PRAGMA.sub(r'\g<define>_Pragma("\g<what>")', text)
