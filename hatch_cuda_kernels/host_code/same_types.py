"""Whether two functions of one name may be the same, though their parameters' types are spelled differently."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.host_code.known_types import are_known
from hatch_cuda_kernels.host_code.marks import TEMPLATE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hatch_cuda_kernels.host_code.facts import Facts

__all__ = ["may_be_same"]

_WORD: Final = re.compile(r"[A-Za-z_]\w*")


def may_be_same(one: Sequence[str], other: Sequence[str], facts: Facts) -> bool:
    """Return whether two signatures of marks.signature_of may have the same types: a name may stand for another."""
    if len(one) != len(other) or (one[:1] == TEMPLATE) != (other[:1] == TEMPLATE):
        return False
    return not any(
        (_is_reference(a) and _is_object(b, facts)) or (_is_reference(b) and _is_object(a, facts))
        for a, b in zip(one, other, strict=True)
    )


def _is_reference(spelled: str) -> bool:
    return spelled.endswith("&")


def _is_object(spelled: str, facts: Facts) -> bool:
    """Return whether a type is certainly no reference: all its names are known, and none stands for one."""
    if "&" in spelled or "::" in spelled or "..." in spelled:
        return False
    words = _WORD.findall(spelled)
    return are_known(words, facts.types) and facts.referring.isdisjoint(words)
