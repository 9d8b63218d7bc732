"""What a text declares in a namespace of a library's."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["declared_in"]

#: A name before ``<`` is only specialised.
_DECLARED: Final = re.compile(r"\b(?:struct|class)\s+(\w+)\s*[{:;]|\busing\s+(\w+)\s*=|\b(\w+)\s*\(")


def declared_in(text: str, opened: re.Pattern[str]) -> Iterator[str]:
    """Yield the names that a text declares in a namespace, by what opens its braces."""
    for found in opened.finditer(text):
        inside = text[found.end() : _end_of_braces(text, found.end())]
        yield from (name for names in _DECLARED.findall(inside) for name in names if name)


def _end_of_braces(text: str, start: int) -> int:
    """Return where braces end that are open at a position."""
    depth = 1
    for brace in re.finditer("[{}]", text[start:]):
        depth += 1 if brace[0] == "{" else -1
        if not depth:
            return start + brace.start()
    return len(text)
