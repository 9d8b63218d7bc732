"""Macros that stand for classes or functions of which NVRTC refuses a part: what they stand for, in their place."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.host_code.outline import read_outline

if TYPE_CHECKING:
    from collections.abc import Callable

    from hatch_cuda_kernels.host_code.facts import Facts
    from hatch_cuda_kernels.host_code.items import Outline, OutlineItem

__all__ = ["made_by"]

_LONGEST: Final = 20_000
_WORD: Final = re.compile(r"[A-Za-z_]\w*")


def made_by(item: OutlineItem, text: str, facts: Facts, without: Callable[[Outline], str]) -> str | None:
    """Return what a macro's use stands for, on one line, without host code; None where nothing is to be changed.

    ``without`` returns an outline's text without host code.
    """
    declared = item.declaration
    role = facts.roles.get(declared.name)
    if declared.kind != "call" or role is None or not role.is_whole or item.class_name == "":
        return None
    spelled = text[item.start : item.end].rstrip("; \n")
    made = facts.macros.expand_clear(spelled, lambda name: facts.roles[name].is_whole)
    if made is None or len(made) > _LONGEST or "#" in made or "//" in made:
        return None
    if declared.name in _WORD.findall(made):  # it stayed, or is no macro in what it stands for
        return None
    head = f"struct {item.class_name} {{ " if item.class_name else ""
    tail = "; };" if item.class_name else ";"
    outline = read_outline(f"{head}{made}{tail}", facts.roles)
    if outline is None or not any(found.declaration.kind != "type" for found in outline.items):
        return None
    left = without(outline)
    if left == outline.source.original:
        return None
    return " ".join(line.strip() for line in left[len(head) : len(left) - len(tail)].split("\n")) + ";"
