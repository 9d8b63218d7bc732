"""What was left out of large closures, kept among the notes about this machine: to find it out anew takes seconds.

The subject of a note is everything that the outcome depends on, the code that finds it out included.
"""

from __future__ import annotations

import base64
import json
import sys
import zlib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from hatch_cuda_kernels.cache.notes import Notes
from hatch_cuda_kernels.digest import sha256
from hatch_cuda_kernels.source.dropped import Dropped
from hatch_cuda_kernels.source.library_names import library_macros, library_names

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["Trimmed", "remembered"]

_NOTES: Final = Notes("host-code")
#: In characters: what is smaller is as soon found out as remembered.
_LARGE: Final = 1_000_000
#: Bytes of an unpacked note; a damaged one must not fill the memory.
_MOST: Final = 256_000_000
#: The folders whose code finds the outcome.
_CODE: Final = ("host_code", "source")


class Trimmed(NamedTuple):
    """The texts that change, and what is left out of them; none where a closure is to be left as it is."""

    texts: Mapping[str, str]
    dropped: tuple[Dropped, ...]
    unread: tuple[str, ...] = ()
    """The names of texts that nothing reads any more."""


def remembered(texts: Mapping[str, str], about: tuple[Any, ...], find: Callable[[], Trimmed]) -> Trimmed:
    """Return what ``find`` returns for texts by name, or has returned; ``about`` is what else it depends on."""
    if sum(map(len, texts.values())) < _LARGE or not _code():
        return find()
    subject = _subject(texts, about)
    found = _unpacked(_NOTES.read(subject))
    if found is None:
        found = find()
        _NOTES.write(subject, {"outcome": _packed(found)})
    return found


def _subject(texts: Mapping[str, str], about: tuple[Any, ...]) -> str:
    digests = [(name, sha256(text.encode(errors="surrogateescape")).hexdigest()) for name, text in texts.items()]
    return json.dumps([_code(), sys.version_info[:2], about, digests])


@cache
def _code() -> str:
    """Return a digest of this package's code that reads texts, and of the names it knows; empty without files of it."""
    package = Path(__file__).parents[1]
    found = [path.read_bytes() for folder in _CODE for path in sorted((package / folder).glob("*.py"))]
    names = json.dumps([sorted(library_names().items()), sorted(library_macros().values())]).encode()
    return sha256(b"".join((*found, names))).hexdigest() if found else ""


def _packed(found: Trimmed) -> str:
    return base64.b64encode(zlib.compress(json.dumps([dict(found.texts), *found[1:]]).encode(), 1)).decode()


def _unpacked(note: Mapping[str, Any]) -> Trimmed | None:
    """Return the outcome that a note holds; None where there is none, or it is damaged."""
    try:
        texts, dropped, unread = json.loads(zlib.decompressobj().decompress(base64.b64decode(note["outcome"]), _MOST))
        return Trimmed(texts, tuple(Dropped(*one) for one in dropped), tuple(unread))
    except (KeyError, TypeError, ValueError, zlib.error):
        return None
