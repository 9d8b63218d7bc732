"""Host functions that device code may observe without a call: overloads, and what ``decltype`` and concepts ask for.

nvcc sees them wherever it chooses among functions, and refuses a call. So they stay declared if their heads name only
types that NVRTC knows: a call of one is then undefined, where it would silently go to another function.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, Literal

from hatch_cuda_kernels.host_code.known_types import are_known

if TYPE_CHECKING:
    from hatch_cuda_kernels.host_code.facts import Facts
    from hatch_cuda_kernels.host_code.items import OutlineItem

__all__ = ["action_of_observed"]

_WORD: Final = re.compile(r"[A-Za-z_]\w*")
_ATTRIBUTE: Final = re.compile(r"\[\[.*?\]\]", re.DOTALL)
_LITERAL_DEFAULT: Final = re.compile(r"=\s*(?:-?[\d.][\w.]*|true|false|nullptr)(?=\s*[,)])")
#: What an operator, or a function of the toolkit's, is called; no code of the project's need name these.
_OPERATOR: Final = re.compile(r"operator(?!\w)")
_TOOLKITS: Final = frozenset(
    """
    abs begin ceil clamp cos data end exp fabs floor fma fmax fmin fmod isinf isnan log max min pow round rsqrt sin size
    sqrt swap tan tanh
    """.split()  # noqa: SIM905 - a list would take a line a word
)


def action_of_observed(item: OutlineItem, text: str, facts: Facts) -> Literal["drop", "declare", "mark"]:
    """Return what to do with a function without a mark. One whose type its body tells keeps that."""
    declared = item.declaration
    is_part = declared.scope or declared.form not in {"", "template"}  # of what is declared elsewhere
    if is_part or declared.name in facts.kernels or not _is_watched(item, facts):
        return "drop"
    words = _types_of(item, text, any_default=declared.name in facts.defaults)
    if not are_known((word for word in words if word != "auto"), facts.types):
        return "drop"
    needs_body = ("auto" in words and "->" not in declared.words) or _has_default_type(item, text)
    return "mark" if needs_body and declared.ending else "declare"


def _has_default_type(item: OutlineItem, text: str) -> bool:
    """Return whether a friend's template parameter has a default, which only a definition may have."""
    declared = item.declaration
    return "friend" in declared.words and re.search(r"(?<![=!<>])=(?!=)", text[item.start : declared.first]) is not None


def _is_watched(item: OutlineItem, facts: Facts) -> bool:
    """Return whether some code may tell a function from others: by its name, or as an operator."""
    declared = item.declaration
    is_member = item.class_name is not None and "friend" not in declared.words
    others = facts.marked_names if is_member else facts.marked_functions
    named = declared.name in facts.observed or declared.name in others or declared.name in _TOOLKITS
    return named or _OPERATOR.match(declared.name) is not None


def _types_of(item: OutlineItem, text: str, *, any_default: bool) -> list[str]:
    """Return the words of a function's head but its own name and those of its parameters.

    Unless they may be ``any_default``, arguments by default that are no literals make the head unknown.
    """
    declared = item.declaration
    head = _LITERAL_DEFAULT.sub("", _ATTRIBUTE.sub(" ", text[item.start : declared.last]))
    before, named, after = head.partition("operator") if _OPERATOR.match(declared.name) else _split(head, declared.name)
    is_plain = named and not {"()", "<>"} & declared.words and "#" not in head
    if not is_plain or (named != "operator" and "=" in after and not any_default):
        return ["?"]
    converted = after.partition("(")[0] if named == "operator" else ""
    returned = after.rpartition("->")[2] if "->" in declared.words else ""
    pieces = (before, converted, returned, *declared.parameters, *declared.words)
    return [word for piece in pieces for word in _WORD.findall(piece)]


def _split(head: str, name: str) -> tuple[str, str, str]:
    found = re.search(rf"\b{name}\s*\(", head)
    return (head[: found.start()], name, head[found.end() :]) if found else (head, "", "")
