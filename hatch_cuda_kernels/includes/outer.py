"""The headers outside a project that a closure has to know of: the standard ones, and what the toolkit's ask for.

Those that are installed, or those that a store was built with.
"""

from __future__ import annotations

import os
import posixpath
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from hatch_cuda_kernels.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from hatch_cuda_kernels.includes.texts import SourceText

__all__ = [
    "NO_OUTER_HEADERS",
    "STANDARD_FOLDER",
    "Asked",
    "OuterHeaders",
    "StandardHeaders",
    "packaged_standard_headers",
]

#: Where the standard headers of this package are, as the toolkit's folders are written.
STANDARD_FOLDER: Final = str(Path(__file__).resolve().with_name("standard"))


class StandardHeaders:
    """Headers called as they are included. ``read`` returns the bytes of one; each is read once."""

    def __init__(self, names: Iterable[str], read: Callable[[str], bytes]) -> None:
        self.names = frozenset(names)
        self._read = read
        self._texts: dict[str, SourceText] = {}

    def __contains__(self, name: str) -> bool:
        return name in self.names

    def text(self, name: str) -> SourceText:
        """Return one of the headers. Raises InputError where it cannot be read."""
        if name not in self._texts:
            from hatch_cuda_kernels.includes.texts import parse_text  # what was read before needs none of it

            try:
                self._texts[name] = parse_text(name, self._read(name), "")
            except OSError as error:
                raise InputError(f"the standard header {name} cannot be read: {error.strerror}") from error
        return self._texts[name]


class Asked(NamedTuple):
    """Headers that the toolkit's headers ask for, as they spell them."""

    names: frozenset[str] = frozenset()
    beside: frozenset[str] = frozenset()
    """Those of them that a file beside the one that asks answers to."""


class OuterHeaders(NamedTuple):
    """The headers outside a project."""

    standard: StandardHeaders
    """What answers where the project does not."""
    asks: Callable[[tuple[str, ...]], Asked]
    """Returns what headers outside the project, called by these names, ask for in turn."""

    @classmethod
    def as_built(cls, standard: StandardHeaders, asked: Iterable[str]) -> OuterHeaders:
        """Return those of a build that recorded what the toolkit's headers asked for."""
        found = Asked(frozenset(asked))
        return cls(standard, lambda _: found)

    def without_asked(self, names: Iterable[str]) -> OuterHeaders:
        """Return the same for what is added to a closure: the toolkit's headers no longer ask for these names.

        They are answered already, and a build that was recorded does not tell who asked for which.
        """
        answered = frozenset(names)

        def asks(callers: tuple[str, ...]) -> Asked:
            found = self.asks(callers)
            return found._replace(names=found.names - answered)

        return self._replace(asks=asks)

    def without_standard(self) -> OuterHeaders:
        """Return the same without standard headers."""
        return self._replace(standard=_NONE)


_NONE: Final = StandardHeaders((), str.encode)
NO_OUTER_HEADERS: Final = OuterHeaders.as_built(_NONE, ())


@cache
def packaged_standard_headers() -> StandardHeaders:
    """Return the standard headers of this package."""
    folder = Path(STANDARD_FOLDER)
    # Path.rglob takes ten times as long for the three hundred of them, at the start of every build.
    places = ((place[len(STANDARD_FOLDER) + 1 :], names) for place, _, names in os.walk(STANDARD_FOLDER))
    files = (posixpath.join(place.replace(os.sep, "/"), name) for place, names in places for name in names)
    headers = (name for name in files if not name.endswith((".md", ".pyc")))
    return StandardHeaders(headers, lambda name: (folder / name).read_bytes())
