"""Macros that stand for pragmas.

For ``#pragma unroll``: nvcc takes them anywhere, NVRTC in no lambda, but for ``_Pragma``. For one that tells something
of the function behind it: NVRTC takes it before nothing else.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.names import VIRTUAL_ROOT
from hatch_cuda_kernels.source.directive_lines import directive_lines
from hatch_cuda_kernels.source.dropped import Dropped
from hatch_cuda_kernels.source.lexer import Joined, UnclearTextError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from hatch_cuda_kernels.host_code.facts import Facts
    from hatch_cuda_kernels.host_code.items import Outline

_PRAGMA: Final = re.compile(
    r"(?P<define>[ \t]*#[ \t]*define[ \t]+(?P<name>\w+)[ \t]+)"
    r"#[ \t]*pragma[ \t]+(?P<what>(?:no)?unroll(?:[ \t]+\d+)?)(?=[ \t\r]*(?:\Z|//|/\*))"
)

#: As facts have macros: without what literals say.
_OPERATOR: Final = re.compile(r"\s*(?:(?:_Pragma|__pragma)\s*\([^()]*\)\s*)?")
#: Of the function behind it; others are of a region.
_OF_FUNCTION: Final = re.compile(r"exec_?check|hd_?warn", re.IGNORECASE)

__all__ = ["pragmas_before", "spell_pragmas"]


def spell_pragmas(texts: dict[str, str]) -> Iterator[Dropped]:
    """Spell the pragmas of macros in texts by name as an operator, and yield these macros.

    One that is a macro's argument by itself stays: it may become a string.
    """
    found = {name: [*_pragmas(text)] for name, text in texts.items() if "pragma" in text}
    names = {one["name"] for pragmas in found.values() for _, one in pragmas}
    names -= _arguments(names, texts.values()) if names else set()
    for name, pragmas in found.items():
        pieces, text, done, line = list[str](), texts[name], 0, 1
        for start, one in pragmas:
            if one["name"] in names:
                pieces += text[done:start], f'{one["define"]}_Pragma("{one["what"]}")'
                line += text.count("\n", done, start)
                yield Dropped(name.removeprefix(VIRTUAL_ROOT), line, "pragma", one["name"])
                done = start + one.end()
        texts[name] = "".join((*pieces, text[done:]))


def pragmas_before(outline: Outline, facts: Facts) -> dict[int, int]:
    """Return where macros for pragmas begin that stand before declarations, by where these begin in the original."""
    items, place = sorted(outline.items, key=lambda item: (item.start, -item.end)), outline.source.place
    found: dict[int, int] = {}
    for item, after in pairwise(items):
        name = item.declaration.name if item.declaration.kind == "call" else ""
        texts = facts.texts.get(name, ()) if _OF_FUNCTION.search(name) else ()
        if texts and all(map(_OPERATOR.fullmatch, texts)) and item.end <= after.start:
            found[place(after.start)] = found.get(place(item.start), place(item.start))
    return found


def _pragmas(text: str) -> Iterator[tuple[int, re.Match[str]]]:
    """Yield where directives of a text begin that define such a macro, and what they say."""
    source = Joined(text)
    try:
        for line in directive_lines(source):
            start = source.place(line.start)
            found = _PRAGMA.match(text[start : source.place(line.end - 1) + 1]) if line.word == "define" else None
            if found is not None:
                yield start, found
    except UnclearTextError:
        return


def _arguments(names: set[str], texts: Iterable[str]) -> set[str]:
    """Return the names that are an argument by themselves."""
    alone = re.compile(rf"[(,]\s*({'|'.join(sorted(names))})\s*(?=[,)])")
    return {name for text in texts for name in alone.findall(text)}
