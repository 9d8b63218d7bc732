"""What is read out of texts, each text once: the sources of a project share most of their headers."""

from __future__ import annotations

import re
from sys import intern
from typing import TYPE_CHECKING, Final, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

__all__ = ["Readings", "find_words"]

_WORD: Final = re.compile(r"[A-Za-z_]\w*")
_T = TypeVar("_T")


class Readings:
    """Remembers what functions return whose arguments are all that their results depend on."""

    def __init__(self) -> None:
        self._made: Final[dict[tuple[Hashable, ...], object]] = {}

    def of(self, read: Callable[..., _T], *about: Hashable) -> _T:
        """Return what a function returns for some arguments, usually a text."""
        key = (read, *about)
        if key not in self._made:
            self._made[key] = read(*about)
        return cast("_T", self._made[key])


def find_words(text: str) -> frozenset[str]:
    """Return the words of a text, those of comments and literals among them."""
    return frozenset(map(intern, {*_WORD.findall(text)}))
