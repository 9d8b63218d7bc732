"""``__DATE__`` and its kin, which make each build another."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.names import VIRTUAL_ROOT
from hatch_cuda_kernels.source.directives import find_directives
from hatch_cuda_kernels.source.guarded_parts import without_guarded
from hatch_cuda_kernels.source.lexer import CHARACTER, COMMENT, STRING
from hatch_cuda_kernels.source.macros import find_macro_texts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["clocks_of_option", "find_clocks"]

_CLOCKS: Final = frozenset({"__DATE__", "__TIME__", "__TIMESTAMP__"})
_CLOCK: Final = re.compile("__(?:DATE__|TIME__|TIMESTAMP__)")
_WORD: Final = re.compile(r"[A-Za-z_]\w*")
#: Comments, literals, what macros stand for, and whether there are some.
_UNSEEN: Final = re.compile(
    rf"{COMMENT}|{STRING}|{CHARACTER}|^[ \t]*#[ \t]*(?:define|undef|ifn?def)\b(?:\\\r?\n|[^\n])*", re.MULTILINE
)


def find_clocks(texts: Mapping[str, str]) -> Iterator[str]:
    """Yield what of texts, by name, would make each build another, with its place; a macro must be used to do so.

    What conditions such as ``#ifndef __CUDACC_RTC__`` keep from NVRTC does not count.
    """
    if not any(map(_CLOCK.search, texts.values())):
        return
    texts = dict(zip(texts, without_guarded(texts.values()), strict=True))
    names = _names([text for text in texts.values() if _CLOCK.search(text)], texts)
    telling = [text for text in texts.values() if any(name in text for name in names)]
    if not any(names.intersection(_WORD.findall(_UNSEEN.sub(" ", text))) for text in telling):
        return
    for name, text in sorted(texts.items()):
        for found in find_directives(text):
            if found.is_clock:
                line = text.count("\n", 0, found.start) + 1
                yield f"{name.removeprefix(VIRTUAL_ROOT)}:{line}: {found.problem}"


def _names(telling: list[str], texts: Mapping[str, str]) -> set[str]:
    """Return the words that stand for the time, in the texts that spell it or by the macros of any."""
    users: dict[str, set[str]] = {}
    for text in texts.values() if telling else ():
        for macro in find_macro_texts(text):
            for word in _WORD.findall(macro.text) if macro.kind == "define" else ():
                users.setdefault(word, set()).add(macro.name)
    reached = set(_CLOCKS)
    waiting = [*reached]
    while waiting:
        fresh = users.get(waiting.pop(), set()) - reached
        reached |= fresh
        waiting += fresh
    return reached


def clocks_of_option(name: str, value: str) -> Iterator[str]:
    """Yield what makes an option's macro differ in each build."""
    for directive in find_directives(value):
        if directive.problem:
            yield f"the option define {name}={value}: {directive.problem}"
