"""Namespaces that macros open and close: ``BEGIN_NAMESPACE`` for ``namespace a {``. A kernel's full name has them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from hatch_cuda_kernels.host_code.items import Outline

__all__ = ["with_macro_namespaces"]

_OPENS: Final = re.compile(r"(?:\s*(?:inline\s+)?namespace\s+(?:\w+\s*::\s*)*\w+\s*\{)+\s*")
_NAME: Final = re.compile(r"namespace\s+((?:\w+\s*::\s*)*\w+)")
_CLOSES: Final = re.compile(r"(?:\s*\}\s*;?)+\s*")


def with_macro_namespaces(outline: Outline, texts: Mapping[str, Iterable[str]]) -> Outline:
    """Return an outline whose items are in the namespaces that macros open around them; ``texts`` are the macros'.

    Where a text closes more than it opened, it is as it was.
    """
    found = []
    opened: list[str] = []
    for item in sorted(outline.items, key=lambda item: item.start):
        meant = texts.get(item.declaration.name, ()) if item.declaration.kind == "call" else ()
        opens = next((_names(text) for text in meant if _OPENS.fullmatch(text)), None)
        closes = next((text.count("}") for text in meant if _CLOSES.fullmatch(text)), 0)
        if closes > len(opened):
            return outline
        if opens:
            opened += opens
        elif closes:
            del opened[len(opened) - closes :]
        found.append(item._replace(namespace="::".join(filter(None, (*opened, item.namespace)))))
    return outline._replace(items=tuple(sorted(found, key=lambda item: item.end)))


def _names(text: str) -> list[str]:
    return ["".join(name.split()) for name in _NAME.findall(text)]
