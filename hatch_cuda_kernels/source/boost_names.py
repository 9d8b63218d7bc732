"""Names of Boost's that classes with device code have, where its headers are left out as the host's."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from hatch_cuda_kernels.source.readings import Readings

__all__ = ["boost_headers"]

_OBJECTS: Final = "hatch_cuda_kernels/boost_objects.h"
#: The headers that bring each, below ``boost/``; of the toolkit's and the project's, none has another meaning of it.
_BROUGHT: Final = {
    "enable_shared_from_this": "enable_shared_from_this smart_ptr",
    "function": "function",
    "make_shared": "make_shared smart_ptr",
    "mutex": "thread",
    "recursive_mutex": "thread",
    "scoped_ptr": "scoped_ptr smart_ptr",
    "shared_ptr": "enable_shared_from_this make_shared shared_ptr smart_ptr thread",
    "weak_ptr": "enable_shared_from_this smart_ptr weak_ptr",
}
_NAMED: Final = re.compile(rf"boost(?<=\bboost)\s*::\s*({'|'.join(_BROUGHT)})\b")
_HEADER: Final = re.compile(r"(?:.*/)?boost/(\w+)")


def boost_headers(texts: Sequence[str], readings: Readings, left_out: Collection[str]) -> frozenset[str]:
    """Return the headers of this package for the names that texts use of headers that are left out."""
    folders = {found[1] for header in left_out if (found := _HEADER.match(header))}
    used = {name for text in texts for name in readings.of(_names, text)} if folders else set()
    return frozenset({_OBJECTS} if any(not folders.isdisjoint(_BROUGHT[name].split()) for name in used) else ())


def _names(text: str) -> frozenset[str]:
    return frozenset(_NAMED.findall(text)) if "boost" in text else frozenset()
