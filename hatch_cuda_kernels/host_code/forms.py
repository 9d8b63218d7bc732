"""Where a declaration begins after what makes a template of it, and after attributes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hatch_cuda_kernels.host_code.tokens import Token

__all__ = ["form_of", "is_attribute"]


def form_of(nodes: Sequence[Token]) -> tuple[int, Literal["", "template", "specialisation", "instantiation"]]:
    """Return where a declaration begins after what makes a template of it, and after attributes; and what it makes."""
    at = 0
    form: Literal["", "template", "specialisation", "instantiation"] = ""
    while at < len(nodes):
        text, after = nodes[at].text, nodes[at + 1] if at + 1 < len(nodes) else None
        if text == "template" and after is not None and after.text == "<>":
            form = "template" if after.inner or form == "template" else "specialisation"
            at += 2
        elif text == "template" or (text == "extern" and after is not None and after.text == "template"):
            form = "instantiation"
            at += 1
        elif is_attribute(nodes[at]):
            at += 1
        else:
            break
    return at, form


def is_attribute(node: Token) -> bool:
    """Return whether a node is ``[[...]]``."""
    return node.text == "[]" and len(node.inner) == 1 and node.inner[0].text == "[]"
