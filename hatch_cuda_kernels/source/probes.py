"""What a condition's ``__has_include`` itself spells, and where macros change that after all."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["is_argument", "without_spelled"]

_LITERAL: Final = re.compile(r'"(?:[^"\\\n]++|\\.|(?!))*+"?+')
_SPELLED: Final = re.compile(r"__has_include(?:_next)?\s*\(\s*(?:<[^<>\n]*>|\"[^\"\n]*\")\s*\)")
_CLOSED: Final = re.compile(r"\([^()]*\)")
_CALL: Final = re.compile(r"\w\s*\(")


def is_argument(before: str) -> bool:
    """Return whether what stands behind the beginning of a condition may be among the arguments of a macro.

    There, macros are replaced also in what looks like a header's name: with an empty ``E``,
    ``IF(__has_include(<E/a.h>))`` looks for ``/a.h``. Compilers read a name as it stands elsewhere.
    """
    text, count = _LITERAL.sub("", _SPELLED.sub(" ", before)), 1
    while count:
        text, count = _CLOSED.subn(" ", text)
    return _CALL.search(text) is not None


def without_spelled(condition: str) -> str:
    """Return a condition without the probes whose names no macro changes."""
    return _SPELLED.sub(lambda probe: probe[0] if is_argument(condition[: probe.start()]) else " ", condition)
