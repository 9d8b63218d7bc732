"""Whether NVRTC certainly refuses a source for the host code in it, or in a header that it certainly includes.

NVRTC takes no function without a device mark, neither defined nor declared, and no header of a host library. So a
source that compiles as it is has none of these outside conditions: it is never one of those found here.
"""

from __future__ import annotations

import re
from bisect import bisect
from functools import lru_cache
from operator import itemgetter
from typing import TYPE_CHECKING, Final, NamedTuple

from hatch_cuda_kernels.host_code.includes import host_header, included, is_missing
from hatch_cuda_kernels.host_code.rule import action_of
from hatch_cuda_kernels.host_code.seen import guard_of, seen_parts
from hatch_cuda_kernels.host_code.tokens import DirectiveLine, Tokens, UnclearTextError
from hatch_cuda_kernels.source.lexer import CHARACTER, COMMENT, STRING, Joined

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

    from hatch_cuda_kernels.host_code.items import Outline, OutlineItem
    from hatch_cuda_kernels.host_code.marks import Facts

__all__ = ["is_refused", "may_be_refused"]

#: Functions of the host's that NVRTC takes declared without a mark.
_BUILTIN: Final = frozenset({"printf", "malloc", "free", "__assertfail"})
_NOISE: Final = re.compile(f"{COMMENT}|{STRING}|{CHARACTER}")
_ENDS: Final = re.compile(r"([;{}])")
#: What may be the head of a function that is defined, or declared, as far as one look tells.
_HEADS: Final = {
    "{": re.compile(r"[^=(\[]*\w\s*\("),
    ";": re.compile(r"[^=(\[]*\w[\s&*>]+[\w:~]*\w\s*\("),
}
_NO_HEAD: Final = re.compile(
    r"__(?:device|global)__|\b(?:if|for|while|switch|catch|return|else|do|case|new|delete|throw|goto|asm|using|typedef"
    r"|static_assert)\b"
)


class _Glance(NamedTuple):
    """What one quick look at a text tells, of its parts that are certainly seen."""

    heads: tuple[str, ...] = ()
    """What may be functions without a mark."""
    includes: tuple[str, ...] = ()
    is_host: bool = False
    """Whether a header of the host's is included."""


def may_be_refused(texts: Mapping[str, str], start: Iterable[str], facts: Callable[[], Facts]) -> bool:
    """Return whether ``is_refused`` may be true: no outline is read for this, and seldom a macro.

    ``texts`` are the project's by name, of which ``start`` are read first; ``facts`` says what their macros say.
    """
    glances = [_glance(texts[name]) for name in _reached(texts, start, lambda name: _glance(texts[name]).includes)]
    if any(glance.is_host for glance in glances):
        return True
    if not any(glance.heads for glance in glances):
        return False
    known = facts()
    return any(not known.is_marked(head) for glance in glances for head in glance.heads)


def is_refused(outlines: Mapping[str, Outline | None], start: Iterable[str], facts: Facts) -> bool:
    """Return whether a text that is certainly read has host code in a part that is certainly seen."""
    read = {name: _Seen(outline, facts) for name, outline in outlines.items() if outline is not None}
    reached = _reached(read, start, lambda name: read[name].includes)
    return any(read[name].has_host_code() for name in reached)


def _reached(names: Collection[str], start: Iterable[str], includes: Callable[[str], Iterable[str]]) -> Iterator[str]:
    """Yield the names that are certainly read, each once."""
    waiting, done = [*start], set[str]()
    while waiting:
        name = waiting.pop()
        if name in names and name not in done:
            done.add(name)
            yield name
            waiting += includes(name)


@lru_cache(maxsize=1024)
def _glance(text: str) -> _Glance:
    source = Joined(text)
    tokens = Tokens(source)
    try:
        lines = [line for line in iter(lambda: tokens.next("skipped"), None) if isinstance(line, DirectiveLine)]
    except UnclearTextError:
        return _Glance()
    parts = [*seen_parts(lines, len(source.text))]
    seen = [line for line in lines if _is_within(line.start, parts)]
    plain = _NOISE.sub(" ", "\n".join(_without(source.text, lines, parts)))
    pieces = _ENDS.split(plain)
    ended = zip(pieces[::2], pieces[1::2], strict=False)
    heads = (head for head, end in ended if _may_be_head(head, end))
    hosts = map(host_header, seen)
    return _Glance(
        heads=tuple(dict.fromkeys(heads)),
        includes=tuple(name for line in seen if (name := included(line))),
        is_host=any(name is not None and is_missing(name) for name in hosts),
    )


def _may_be_head(text: str, end: str) -> bool:
    pattern = _HEADS.get(end)
    found = pattern is not None and pattern.match(text) is not None and _NO_HEAD.search(text) is None
    return found and text.count("(") == text.count(")")


def _without(text: str, lines: Iterable[DirectiveLine], parts: Iterable[tuple[int, int]]) -> Iterator[str]:
    """Yield the parts of a text, without directives."""
    cuts = iter([*lines, DirectiveLine("", "", len(text), len(text))])
    cut = next(cuts)
    for start, end in parts:
        while cut.start < start:
            cut = next(cuts)
        while cut.start < end:
            yield text[start : cut.start]
            start = cut.end  # noqa: PLW2901 - what is left of the part
            cut = next(cuts)
        yield text[start:end]


def _is_within(position: int, parts: list[tuple[int, int]]) -> bool:
    at = bisect(parts, position, key=itemgetter(0)) - 1
    return at >= 0 and position < parts[at][1]


class _Seen:
    """One text, of which only the parts count that are certainly seen."""

    def __init__(self, outline: Outline, facts: Facts) -> None:
        self._outline = outline
        self._facts = facts
        guard = guard_of(outline.directives)
        is_open = guard is None or len(facts.texts.get(guard, ())) == 1  # nothing else defines it
        self._parts = [*seen_parts(outline.directives, len(outline.source.text))] if is_open else []
        self._lines = [line for line in outline.directives if _is_within(line.start, self._parts)]
        self.includes = [name for line in self._lines if (name := included(line))]

    def has_host_code(self) -> bool:
        """Return whether there is an include or a function that NVRTC refuses."""
        hosts = map(host_header, self._lines)
        return any(name is not None and is_missing(name) for name in hosts) or any(
            _is_within(item.start, self._parts) and self._is_refused(item) for item in self._outline.items
        )

    def _is_refused(self, item: OutlineItem) -> bool:
        declared = item.declaration
        is_function = declared.kind == "function" or (declared.kind == "call" and declared.name == item.class_name)
        if not is_function or declared.form not in {"", "template"} or declared.name in _BUILTIN:
            return False
        action = action_of(item, self._outline.source.text, self._facts)
        return action in {"drop", "declare"} or (action == "mark" and "constexpr" in declared.words)
