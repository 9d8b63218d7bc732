"""Texts that are included inside a declaration: what looks like a declaration there is part of another one.

A line of a function's body or a member of a class could be taken for a variable of the host's otherwise, and go.
"""

from __future__ import annotations

import posixpath
from collections import defaultdict
from typing import TYPE_CHECKING

from hatch_cuda_kernels.host_code.seen import guard_of
from hatch_cuda_kernels.source.directive_lines import directive_lines
from hatch_cuda_kernels.source.lexer import Joined, UnclearTextError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from hatch_cuda_kernels.host_code.items import Outline
    from hatch_cuda_kernels.source.directive_lines import DirectiveLine

__all__ = ["parts_of_bodies"]


def parts_of_bodies(texts: Mapping[str, str], outlines: Mapping[str, Outline | None]) -> frozenset[str]:
    """Return the names of texts that declarations of others include, and what those include in turn.

    A text that is guarded and included in a namespace as well was read there before.
    """
    by_end = _by_last_part(texts)
    inside, outside = set[str](), set[str]()
    for name, outline in outlines.items():
        for line in outline.directives if outline is not None else ():
            if not line.hidden:
                (inside if line.is_inside else outside).update(_meant(line, name, by_end))
    found, waiting = set[str](), sorted(inside)
    while waiting:
        name = waiting.pop()
        lines = [*_lines(texts[name])]
        if name in found or (name in outside and _is_guarded(lines)):
            continue
        found.add(name)
        waiting += (other for line in lines for other in _meant(line, name, by_end))
    return frozenset(found)


def _by_last_part(names: Iterable[str]) -> Mapping[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for name in names:
        found[posixpath.basename(name)].append(name)
    return found


def _meant(line: DirectiveLine, user: str, by_end: Mapping[str, list[str]]) -> Iterator[str]:
    """Yield the texts that an include may mean: of several that a path ends with, the one beside its user."""
    if not line.word.startswith("include") or line.operand[:1] not in {'"', "<"}:
        return
    spelled = posixpath.normpath(line.operand[1:-1])
    beside = posixpath.normpath(posixpath.join(posixpath.dirname(user), spelled))
    named = spelled.rpartition("../")[2]
    found = [name for name in by_end.get(posixpath.basename(spelled), ()) if f"/{name}".endswith(f"/{named}")]
    yield from [beside] if beside in found else found


def _lines(text: str) -> Iterator[DirectiveLine]:
    try:
        yield from directive_lines(Joined(text))
    except UnclearTextError:
        return


def _is_guarded(lines: list[DirectiveLine]) -> bool:
    return guard_of(lines) is not None or any(line.word == "pragma" and line.operand == "once" for line in lines)
