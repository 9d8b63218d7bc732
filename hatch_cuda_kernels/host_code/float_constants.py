"""Floating-point constants, of which nvcc folds those that are made of others."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from hatch_cuda_kernels.host_code.facts import Facts
    from hatch_cuda_kernels.host_code.items import OutlineItem

__all__ = ["is_float_constant"]

#: A floating-point literal, or what may be a constant of one.
_FLOATING: Final = re.compile(r"[=\s]*(?:[A-Za-z_]\w*|-?(?=[\d.]*[.eE])\d*\.?\d*(?:[eE][-+]?\d+)?[fF]?)\s*;?\s*")


def is_float_constant(item: OutlineItem, text: str, facts: Facts) -> bool:
    """Return whether an item of a text is a floating-point constant of a namespace that is not ``constexpr``."""
    declared = item.declaration
    if declared.kind != "variable" or not declared.is_const or item.class_name is not None or not declared.is_sure:
        return False
    head, equals, _ = text[item.start : item.end].partition("=")
    is_plain = not (set("*&<") & set(head)) and not declared.words & {"constexpr", "constinit", "thread_local"}
    is_made = declared.types == ("auto",) and _FLOATING.fullmatch(text, declared.value, item.end)
    return bool(equals and is_plain and (is_made or (len(declared.types) == 1 and declared.types[0] in facts.reals)))
