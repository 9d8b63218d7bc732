"""The headers in the toolkit's folders that no part's version stands for: each is hashed, with what it includes there.

Other wheels (cuRAND, ...) unpack into the same folders, and people put files there. The parts' own headers ask for each
other and for headers of a host compiler's library; those are looked for as well.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from hatch_cuda_kernels.cache.location import default_cache_path
from hatch_cuda_kernels.cache.notes import file_state
from hatch_cuda_kernels.compiler.toolchain.contents import Contents
from hatch_cuda_kernels.compiler.toolchain.parts import belongs
from hatch_cuda_kernels.compiler.toolchain.standard_headers import HOST_HEADERS
from hatch_cuda_kernels.digest import sha256

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

__all__ = ["HeaderScan", "scan_headers"]


class HeaderScan(NamedTuple):
    """What headers lead to in the toolkit's folders."""

    others: str
    """A digest of the files that no part's version stands for; empty where there are none."""
    states: Mapping[str, str]
    """The state of every path that was looked for, there or not."""


def scan_headers(names: Iterable[str], folders: tuple[str, ...]) -> HeaderScan:
    """Return what these headers, as spelled in includes, lead to in the toolkit's folders."""
    contents = _contents(folders, default_cache_path())
    states: dict[str, str] = {}
    digests: dict[str, str] = {}
    waiting = [(name, "") for name in (*names, *_host_headers(folders))]
    while waiting:
        name, beside = waiting.pop()
        for path in _unlisted(name, (beside, *folders) if beside else folders, folders, states):
            digests[path], *includes = contents.of(path, states[path])
            folder = os.path.dirname(path)  # noqa: PTH120
            waiting += [(spelling[1:-1], folder if spelling[0] == '"' else "") for spelling in includes]
    if not digests:
        return HeaderScan("", states)
    contents.save()
    listed = sorted([_place(path, folders)[1], digest] for path, digest in digests.items())
    return HeaderScan(sha256(json.dumps(listed).encode()).hexdigest()[:16], states)


@cache
def _contents(folders: tuple[str, ...], _cache: Path | None) -> Contents:
    """Return what is known of the headers in these folders, by this cache."""
    return Contents("\n".join(folders), _digest_and_includes)


def _digest_and_includes(path: str) -> list[str]:
    """Return a header's digest and the includes in it as spelled; an empty digest for one that cannot be read."""
    from hatch_cuda_kernels.compiler.source.directives import find_directives  # only for a new file

    try:
        data = Path(path).read_bytes()
    except OSError:  # NVRTC cannot read it either
        return [""]
    includes = {directive.spelling for directive in find_directives(data.decode(errors="replace"))} - {""}
    return [sha256(data).hexdigest(), *sorted(includes)]


def _unlisted(name: str, searched: Iterable[str], folders: tuple[str, ...], states: dict[str, str]) -> Iterator[str]:
    """Yield the files a name leads to in any of the searched folders, each once, without the parts' own."""
    for folder in searched:
        path = os.path.normpath(name if name.startswith("/") else f"{folder}/{name}")
        if path in states:
            continue
        states[path] = file_state(path)
        try:
            found = os.stat(path)  # noqa: PTH116
        except (OSError, ValueError):
            continue
        owner, below = _place(path, folders)
        if stat.S_ISREG(found.st_mode) and not (owner and belongs(owner, below, found.st_size)):
            yield path


def _place(path: str, folders: tuple[str, ...]) -> tuple[str, str]:
    """Return the innermost of the folders a file is in, and its path from there; else nothing and its bare name."""
    inside = [folder for folder in folders if path.startswith(f"{folder}/")]
    if not inside:
        return "", path.rpartition("/")[2]
    owner = max(inside, key=len)
    return owner, path[len(owner) + 1 :]


@cache
def _host_headers(folders: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of host library headers that the folders hold; a toolkit below ``/usr/include`` has many."""
    found: set[str] = set()
    for folder in folders:
        with contextlib.suppress(OSError):
            found |= HOST_HEADERS.intersection(os.listdir(folder))  # noqa: PTH208
    return tuple(sorted(found))
