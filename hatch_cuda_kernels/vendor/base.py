"""What the loader to vendor begins with: light substitutes for modules that take milliseconds to import.

The modules of the package that follow find these names in the place of those of the standard library.
"""

from __future__ import annotations

import os
from _thread import RLock, allocate_lock  # threading takes half a millisecond to import
from typing import IO, TYPE_CHECKING, Any, NoReturn, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator
    from types import FunctionType, TracebackType

_MADE: dict[Any, dict[str, Any]] = {}
_LOCK = RLock()


def _use(make: FunctionType) -> dict[str, Any]:
    """Return the names of a module, whose text runs when it is first used, as a function with globals of its own."""
    found = _MADE.get(make)
    if found is None:
        with _LOCK:
            found = _MADE.get(make)
            if found is None:
                found = globals().copy()
                type(make)(make.__code__, found)()
                _MADE[make] = found
    return found


def _several(make: FunctionType, names: str) -> Iterator[Any]:
    """Return several names of a module."""
    return map(_use(make).__getitem__, names.split())


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
    """How ``json`` reads by default, with what is done of NaN and Infinity."""

    strict = True
    object_hook = object_pairs_hook = None
    parse_float, parse_int = float, int

    def __init__(self, parse_constant: Callable[[str], Any]) -> None:
        self.parse_constant = parse_constant


class _Json:
    """As much of ``json`` as reading takes, without its import of ``re``."""

    @staticmethod
    def loads(text: str, parse_constant: Callable[[str], Any] = float) -> Any:
        """Return what a text says. Raises ValueError if it is no JSON, RecursionError if it nests too deep."""
        try:
            from _json import make_scanner

            scan = make_scanner(_Scanned(parse_constant))  # type: ignore[arg-type]  # it asks for these attributes
        except (ImportError, AttributeError):  # another Python
            import json as real

            return real.loads(text, parse_constant=parse_constant)
        text = text.strip(" \t\n\r")
        try:
            value, end = scan(text, 0)
        except StopIteration:
            end = -1
        if end != len(text):
            raise ValueError("not JSON")
        return value

    @staticmethod
    def dumps(value: str) -> str:
        """Return a text in quotes, for a message."""
        import json as real

        return real.dumps(value)


class Suppress:
    """``contextlib.suppress``."""

    def __init__(self, *kinds: type[BaseException]) -> None:
        self._kinds = kinds

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> bool:
        return kind is not None and issubclass(kind, self._kinds)


class _Manager:
    """What a generator does before and after the body of a ``with``."""

    def __init__(self, steps: Generator[Any]) -> None:
        self._steps = steps

    def __enter__(self) -> Any:
        return next(self._steps)

    def __exit__(self, _: object, error: BaseException | None, trace: TracebackType | None) -> bool:
        try:
            if error is None:
                next(self._steps)
            else:
                self._steps.throw(error)
        except StopIteration as stop:
            return stop is not error
        except BaseException as raised:
            if raised is not error:
                raise
            raised.__traceback__ = trace  # without the steps
        return False


def contextmanager(function: Callable[..., Generator[Any]]) -> Callable[..., _Manager]:
    """Return a function as ``contextlib.contextmanager`` does; all of contextlib takes half a millisecond."""
    return lambda *args, **named: _Manager(function(*args, **named))


class _Threading:
    Lock, RLock = allocate_lock, RLock


re, json, threading = _Re(), _Json(), _Threading()
