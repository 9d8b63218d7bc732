"""What one quick look at a text tells of host code in it: most texts have none, and are left at that."""

from __future__ import annotations

import re
from bisect import bisect
from functools import lru_cache
from operator import itemgetter
from typing import TYPE_CHECKING, Final, NamedTuple

from hatch_cuda_kernels.host_code.chains import errors_without_gcc
from hatch_cuda_kernels.host_code.dollars import dollar_parameters
from hatch_cuda_kernels.host_code.includes import host_header, included, is_missing
from hatch_cuda_kernels.host_code.seen import guard_of, seen_parts
from hatch_cuda_kernels.source.directive_lines import DirectiveLine, directive_lines
from hatch_cuda_kernels.source.lexer import CHARACTER, COMMENT, STRING, Joined, UnclearTextError

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Mapping

    from hatch_cuda_kernels.host_code.facts import Facts

__all__ = ["Glance", "comes_to_error", "glance", "glances", "includes_host", "is_within", "reached"]

_NOISE: Final = re.compile(f"{COMMENT}|{STRING}|{CHARACTER}")
#: With its symbol, unless that is the brackets of a call.
_OPERATOR: Final = re.compile(r"\boperator\s*[^\s\w(;{}]+")
_ENDS: Final = re.compile(r"([;{}])")
#: What may be the head of a function that is defined, or declared, as far as one look tells.
_TEMPLATE: Final = r"(?:\s*template\s*<[^(]*>)?"
_HEADS: Final = {
    "{": re.compile(rf"{_TEMPLATE}[^=(]*\w\s*\("),
    ";": re.compile(rf"{_TEMPLATE}[^=(]*\w[\s&*>]+[\w:~]*\w\s*\("),
}
_NO_HEAD: Final = re.compile(
    r"__(?:device|global)__|\b(?:if|for|while|switch|catch|return|else|do|case|new|delete|throw|goto|asm|using|typedef"
    r"|static_assert)\b"
)


class Glance(NamedTuple):
    """What one quick look at a text tells, of its parts that are certainly seen."""

    heads: tuple[str, ...] = ()
    """What may be functions without a mark."""
    includes: tuple[str, ...] = ()
    guard: str | None = None
    is_host: bool = False
    """Whether a header of the host's is included, there is an error for compilers that are not known, or a ``$``."""

    def is_open(self, facts: Facts) -> bool:
        """Return whether the text's guard lets it be read: whether nothing else defines the macro."""
        return self.guard is None or len(facts.texts.get(self.guard, ())) == 1

    def is_suspect(self, facts: Facts) -> bool:
        """Return whether there may be host code."""
        return self.is_host or any(not facts.is_marked(head) for head in self.heads)


def glances(texts: Mapping[str, str], start: Iterable[str]) -> dict[str, Glance]:
    """Return what a look at those texts tells that may be read where the names ``start`` are; none where all is well.

    Then NVRTC refuses none of them for its host code.
    """
    found = {name: glance(texts[name]) for name in reached(texts, start, lambda name: glance(texts[name]).includes)}
    return found if any(one.heads or one.is_host for one in found.values()) else {}


def reached(names: Container[str], start: Iterable[str], includes: Callable[[str], Iterable[str]]) -> Iterator[str]:
    """Yield the names that are certainly read, each once."""
    waiting, done = [*start], set[str]()
    while waiting:
        name = waiting.pop()
        if name in names and name not in done:
            done.add(name)
            yield name
            waiting += includes(name)


@lru_cache(maxsize=1024)
def glance(text: str) -> Glance:
    """Return what a look at a text tells."""
    source = Joined(text)
    try:
        lines = [*directive_lines(source)]
    except UnclearTextError:
        return Glance()
    parts = [*seen_parts(lines, len(source.text))]
    seen = [line for line in lines if is_within(line.start, parts)]
    plain = _NOISE.sub(" ", "\n".join(_without(source.text, lines, parts)))
    pieces = _ENDS.split(_OPERATOR.sub("operator", plain))
    ended = zip(pieces[::2], pieces[1::2], strict=False)
    heads = (head for head, end in ended if _may_be_head(head, end))
    return Glance(
        heads=tuple(dict.fromkeys(heads)),
        includes=tuple(name for line in seen if (name := included(line))),
        guard=guard_of(lines),
        is_host=includes_host(seen) or comes_to_error(lines, parts) or any(map(dollar_parameters, seen)),
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


def is_within(position: int, parts: list[tuple[int, int]]) -> bool:
    """Return whether a position is in one of the parts, which are in their order."""
    at = bisect(parts, position, key=itemgetter(0)) - 1
    return at >= 0 and position < parts[at][1]


def includes_host(lines: Iterable[DirectiveLine]) -> bool:
    """Return whether a header of the host's is included that is nowhere for NVRTC."""
    return any(name is not None and is_missing(name) for name in map(host_header, lines))


def comes_to_error(lines: Iterable[DirectiveLine], parts: Iterable[tuple[int, int]]) -> bool:
    """Return whether a condition that is certainly seen leads to an error where no macro of the host's is defined."""
    ends = {end for _, end in parts}
    return any(line.start in ends for line in errors_without_gcc(lines))
