"""What the loader to vendor begins with: light substitutes for modules that take milliseconds to import.

The modules of the package that follow find these names in the place of ``pathlib``, ``re`` and ``json``.
"""

from __future__ import annotations

import os
from _thread import RLock  # threading takes a millisecond to import
from typing import IO, TYPE_CHECKING, Any, NoReturn, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_MADE: dict[Any, dict[str, Any]] = {}
_LOCK = RLock()


def _use(make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Return the names of a module, whose text runs when it is first used."""
    found = _MADE.get(make)
    if found is None:
        with _LOCK:
            found = _MADE.get(make)
            if found is None:
                found = _MADE[make] = make()
                for name, value in found.items():
                    if isinstance(value, type) and "<locals>" in value.__qualname__:
                        value.__qualname__ = name  # so that errors can be pickled
    return found


def _absent(what: str) -> NoReturn:
    """Refuse what needs a module that is left out."""
    raise ImportError(f"{what} needs more than this loader: pip install 'hatch-cuda-kernels[jit]'")


class LightPath(str):
    """A path, as far as a store needs one."""

    __slots__ = ()

    def __new__(cls, *parts: str) -> Self:
        """Return the path of these parts."""
        return super().__new__(cls, os.path.join(*parts))  # noqa: PTH118 - that is what this is for

    def __truediv__(self, other: str) -> LightPath:
        return LightPath(self, other)

    def open(self, mode: str) -> IO[Any]:
        """Open the file."""
        return open(self, mode)  # noqa: PTH123 - as above

    def read_bytes(self) -> bytes:
        """Return the file's bytes."""
        with open(self, "rb") as file:  # noqa: PTH123 - as above
            return file.read()

    def is_file(self) -> bool:
        """Return whether there is such a file."""
        return os.path.isfile(self)  # noqa: PTH113 - as above

    def glob(self, pattern: str) -> Iterator[Any]:
        """Return the files that a pattern names; only messages ask for that."""
        from pathlib import Path

        return Path(self).glob(pattern)


class _LazyPattern:
    """A regular expression that is compiled when it is first asked for something."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __getattr__(self, name: str) -> Any:
        import re as real

        return getattr(real.compile(self._text), name)


class _Re:
    """``re``, imported when a regular expression is used."""

    compile = _LazyPattern

    def __getattr__(self, name: str) -> Any:
        import re as real

        return getattr(real, name)


class _Scanned:
    """How ``json`` reads by default."""

    strict = True
    object_hook = object_pairs_hook = None
    parse_float, parse_int, parse_constant = float, int, float


class _Json:
    """As much of ``json`` as reading takes, without its import of ``re``."""

    @staticmethod
    def loads(text: str) -> Any:
        """Return what a text says. Raises ValueError if it is no JSON, RecursionError if it nests too deep."""
        try:
            from _json import make_scanner

            scan = make_scanner(_Scanned)  # type: ignore[arg-type]  # it asks for these attributes
        except (ImportError, AttributeError):  # another Python
            import json as real

            return real.loads(text)
        text = text.strip(" \t\n\r")
        try:
            value, end = scan(text, 0)
        except StopIteration:
            end = -1
        if end != len(text):
            raise ValueError("not JSON")
        return value


re, json = _Re(), _Json()
