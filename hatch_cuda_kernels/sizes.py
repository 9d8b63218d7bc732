"""Sizes as people write them: bytes, or a number with a unit."""

from __future__ import annotations

import re
from typing import Final

#: A number with a unit: of 1000, as download pages count, or of 1024 with an ``i``.
SIZE_PATTERN: Final = r"(?P<number>[0-9]{1,6}(?:\.[0-9]{1,6})?) ?(?P<prefix>[kKMG])(?P<binary>i?)B"
#: More digits than any disk has bytes; int() refuses thousands of them.
_BYTES: Final = re.compile(r"[0-9]{1,18}")


def parse_size(text: str) -> int:
    """Return the bytes of ``500000``, ``5MB`` or ``5 MiB``. Raises ValueError for anything else, signs included."""
    if _BYTES.fullmatch(text):
        return int(text)
    found = re.fullmatch(SIZE_PATTERN, text)
    if found is None:
        raise ValueError(f"{text[:20]!r} is not a size; write bytes, or a unit as in 5MB or 5MiB")
    base = 1024 if found["binary"] else 1000
    whole, _, rest = found["number"].partition(".")
    unit: int = base ** (1 + "KMG".index(found["prefix"].upper()))
    parts: int = 10 ** len(rest)
    return int(whole + rest) * unit // parts
