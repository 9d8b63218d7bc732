"""The parameters of a template."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["parameter_texts", "required", "template_parameters"]

_PARAMETER: Final = re.compile(r"(\w+)\s*(?:=.*)?\Z", re.DOTALL)


def template_parameters(head: str) -> tuple[str, ...]:
    """Return the names of a template's parameters from its ``template <...>``."""
    found = (_PARAMETER.search(part.strip()) for part in _parts(head))
    return tuple(match[1] for match in found if match)


def required(head: str) -> int:
    """Return how many of a template's parameters have no default, nor stand for any number."""
    return sum("=" not in part and "..." not in part for part in _parts(head))


def parameter_texts(head: str) -> tuple[str, ...]:
    """Return the parameters of a template as they are spelled, from a text that begins with ``template <...>``."""
    depth = 0
    for at in range(head.find("<"), len(head)):
        depth += (head[at] in "(<") - (head[at] in ")>")
        if not depth:
            return tuple(part.strip() for part in _parts(head[: at + 1]) if part.strip())
    return ()


def _parts(head: str) -> list[str]:
    inner = head[head.find("<") + 1 : head.rfind(">")]
    depth, parts = 0, [""]
    for character in inner:
        depth += (character in "(<") - (character in ")>")
        if character == "," and not depth:
            parts.append("")
        else:
            parts[-1] += character
    return parts
