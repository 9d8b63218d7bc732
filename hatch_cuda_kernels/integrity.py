"""Whether data is what was written: its sha256, and the shape of JSON data, so that a damaged file is refused.

sha256 comes from the interpreter if it has its own: loading OpenSSL is a measurable part of a cold start. A shape is
written like the data:

| shape | data |
|---|---|
| ``str``, ``bool``, ``int``, ``dict``, ``None`` | of exactly this type; text has no NUL and no lone surrogate |
| ``range(10)``, ``frozenset({"a", "b"})`` | one of these integers, one of these words |
| a function such as ``file_name`` | what it returns True for |
| ``each(str, int)`` | a list of two items, of these shapes |
| ``(str, None)`` | of one of these shapes |
| ``[str]`` | a list of this shape |
| ``{str: int}`` | an object whose names and values have these shapes |
| ``{"a": str, "b?": int}`` | an object with ``a`` and perhaps ``b``; other names are not looked at |
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from hashlib import _Hash
    from hashlib import sha256 as _own
else:
    try:
        # hashlib takes these modules itself where OpenSSL is missing.
        if sys.version_info >= (3, 12):
            from _sha2 import sha256 as _own
        else:
            from _sha256 import sha256 as _own
    except ImportError:
        from hashlib import sha256 as _own


def sha256(data: bytes = b"") -> _Hash:
    """Return hashlib's sha256 of data; from OpenSSL, which is faster, if the process has loaded that anyway."""
    return getattr(sys.modules.get("hashlib"), "sha256", _own)(data)  # another thread may be importing it


_MISSING: Final = object()


def check_shape(data: object, shape: Any) -> None:
    """Raise ValueError, naming the place, if the data does not have the shape."""
    place = _misfit(data, shape)
    if place is not None:
        raise ValueError(f"{place.lstrip('.') or 'the file'} is missing or damaged")


def inner_path(data: object) -> bool:
    """Return whether this is a relative path that does not lead out of its folder, on any system; a shape."""
    if type(data) is not str or data[1:2] == ":":
        return False
    parts = data.replace("\\", "/").split("/")
    return parts[0] != "" and ".." not in parts


def file_name(data: object) -> bool:
    """Return whether this is the name of something in a folder, on any system; a shape."""
    return inner_path(data) and data != "." and not {"/", "\\"} & set(str(data))


def each(*shapes: Any) -> Callable[[Any], bool]:
    """Return the shape of a list with one item of each shape."""

    def fits(data: Any) -> bool:
        pairs = zip(data, shapes, strict=True) if type(data) is list and len(data) == len(shapes) else [(None, str)]
        return all(_misfit(*pair) is None for pair in pairs)

    return fits


def _misfit(data: Any, shape: Any) -> str | None:
    """Return the place of what does not fit, such as ``.images[2].bytes``, or None."""
    if type(shape) is dict:
        return _misfit_object(data, shape) if type(data) is dict else ""
    if type(shape) is list:
        if type(data) is not list:
            return ""
        for number, item in enumerate(data):
            place = _misfit(item, shape[0])
            if place is not None:
                return f"[{number}]{place}"
        return None
    return None if _fits(data, shape) else ""


def _misfit_object(data: dict[str, Any], shape: dict[Any, Any]) -> str | None:
    for key, one in shape.items():
        if not isinstance(key, str):
            for name, value in data.items():
                if not _fits(name, key):
                    return f".{name!a}"
                place = _misfit(value, one)
                if place is not None:
                    return f".{name}{place}"
            return None
        name = key.rstrip("?")
        value = data.get(name, _MISSING)
        if value is not _MISSING or name == key:
            place = _misfit(value, one)
            if place is not None:
                return f".{name}{place}"
    return None


def _fits(data: Any, shape: Any) -> bool:
    if type(data) is str and not _is_text(data):
        return False
    if type(shape) is type:
        return type(data) is shape
    if type(shape) is tuple:
        return any(_misfit(data, one) is None for one in shape)
    if isinstance(shape, range | frozenset):
        return type(data) is (int if isinstance(shape, range) else str) and data in shape
    return data is None if shape is None else bool(shape(data))


def _is_text(data: str) -> bool:
    if data.isascii():
        return "\0" not in data
    try:
        return b"\0" not in data.encode()
    except UnicodeEncodeError:
        return False
