"""Macros that stand for ``#pragma unroll``: nvcc takes them anywhere, NVRTC in no lambda, but for ``_Pragma``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.names import VIRTUAL_ROOT
from hatch_cuda_kernels.source.directive_lines import directive_lines
from hatch_cuda_kernels.source.dropped import Dropped
from hatch_cuda_kernels.source.lexer import Joined, UnclearTextError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_PRAGMA: Final = re.compile(
    r"(?P<define>[ \t]*#[ \t]*define[ \t]+(?P<name>\w+)[ \t]+)"
    r"#[ \t]*pragma[ \t]+(?P<what>(?:no)?unroll(?:[ \t]+\d+)?)(?=[ \t\r]*(?:\Z|//|/\*))"
)

__all__ = ["spell_pragmas"]


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
