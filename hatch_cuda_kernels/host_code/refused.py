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

from hatch_cuda_kernels.host_code.chains import HOST_COMPILERS, errors_without_gcc
from hatch_cuda_kernels.host_code.dollars import dollar_parameters
from hatch_cuda_kernels.host_code.functions import may_be_value
from hatch_cuda_kernels.host_code.includes import host_header, included, is_missing
from hatch_cuda_kernels.host_code.marks import TEMPLATE, gather_facts, gather_macros, member_of
from hatch_cuda_kernels.host_code.rule import action_of
from hatch_cuda_kernels.host_code.seen import guard_of, seen_parts
from hatch_cuda_kernels.source.directive_lines import DirectiveLine, directive_lines
from hatch_cuda_kernels.source.lexer import CHARACTER, COMMENT, STRING, Joined, UnclearTextError

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Mapping

    from hatch_cuda_kernels.host_code.facts import Facts
    from hatch_cuda_kernels.host_code.items import Outline, OutlineItem
    from hatch_cuda_kernels.source.macros import MacroText
    from hatch_cuda_kernels.source.readings import Readings

__all__ = ["is_refused", "read_suspects", "takes_overloads"]

#: Functions of the host's that NVRTC takes declared without a mark.
_BUILTIN: Final = frozenset({"printf", "malloc", "free", "__assertfail"})
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


class _Glance(NamedTuple):
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


def read_suspects(
    texts: Mapping[str, str], start: Iterable[str], macros: Callable[[], Iterable[MacroText]], readings: Readings
) -> list[Outline | None]:
    """Return the outlines of texts that NVRTC refuses unless another text marks their functions; or none.

    ``texts`` are the project's by name, of which ``start`` are read first; ``macros`` finds theirs, which is seldom
    needed: most texts have the marks themselves.
    """
    start = [*start]
    found = _reached(texts, start, lambda name: _glance(texts[name]).includes)
    glances = {name: _glance(texts[name]) for name in found}
    if not any(glance.heads or glance.is_host for glance in glances.values()):
        return []
    known = gather_macros(macros())
    opened = {name: glance for name, glance in glances.items() if glance.is_open(known)}
    reached = _reached(opened, start, lambda name: opened[name].includes)
    suspects = {name: texts[name] for name in reached if opened[name].is_suspect(known)}
    facts, outlines = gather_facts(macros(), suspects, readings)
    return outlines if is_refused(outlines, facts) else []


def is_refused(outlines: Iterable[Outline | None], facts: Facts) -> bool:
    """Return whether one of the suspects' texts has host code in a part that is certainly seen."""
    return any(_has_host_code(outline, facts) for outline in outlines if outline is not None)


def _reached(names: Container[str], start: Iterable[str], includes: Callable[[str], Iterable[str]]) -> Iterator[str]:
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
    try:
        lines = [*directive_lines(source)]
    except UnclearTextError:
        return _Glance()
    parts = [*seen_parts(lines, len(source.text))]
    seen = [line for line in lines if _is_within(line.start, parts)]
    plain = _NOISE.sub(" ", "\n".join(_without(source.text, lines, parts)))
    pieces = _ENDS.split(_OPERATOR.sub("operator", plain))
    ended = zip(pieces[::2], pieces[1::2], strict=False)
    heads = (head for head, end in ended if _may_be_head(head, end))
    return _Glance(
        heads=tuple(dict.fromkeys(heads)),
        includes=tuple(name for line in seen if (name := included(line))),
        guard=guard_of(lines),
        is_host=_includes_host(seen) or _comes_to_error(lines, parts) or any(map(dollar_parameters, seen)),
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


def _has_host_code(outline: Outline, facts: Facts) -> bool:
    """Return whether there is an include or a function that NVRTC refuses."""
    parts = [*seen_parts(outline.directives, len(outline.source.text))]
    seen = [line for line in outline.directives if _is_within(line.start, parts)]
    if _includes_host(seen) or any(map(dollar_parameters, seen)):
        return True
    if facts.texts.keys().isdisjoint(HOST_COMPILERS) and _comes_to_error(outline.directives, parts):
        return True
    text = outline.source.text
    return any(_is_within(item.start, parts) and _is_refused(item, text, facts) for item in outline.items)


def _includes_host(lines: Iterable[DirectiveLine]) -> bool:
    return any(name is not None and is_missing(name) for name in map(host_header, lines))


def _comes_to_error(lines: Iterable[DirectiveLine], parts: Iterable[tuple[int, int]]) -> bool:
    """Return whether a condition that is certainly seen leads to an error where no macro of the host's is defined."""
    ends = {end for _, end in parts}
    return any(line.start in ends for line in errors_without_gcc(lines))


def takes_overloads(outlines: Iterable[Outline | None], facts: Facts) -> bool:
    """Return whether there is a host function that device code may mean, which then would call an overload of it.

    nvcc refuses such calls. A mark may be lacking, so this is not for a text to decide. One that stays declared is no
    matter: a call of it fails.
    """
    return any(
        _is_overload(item, facts) and action_of(item, outline.source.text, facts) == "drop"
        for outline in outlines
        if outline is not None
        for item in outline.items
    )


def _is_overload(item: OutlineItem, facts: Facts) -> bool:
    """Return whether a device function of the same namespace takes as many arguments, of other types.

    Operators do not count: one of their operands is of a class, so that seldom another one takes them.
    """
    declared = item.declaration
    if declared.kind != "function" or item.class_name is not None or declared.name.startswith("operator"):
        return False
    marked = facts.marked.get(member_of(item, facts))
    if marked is None or (item.namespace, declared.name) not in facts.marked_in:
        return False
    others = {one[one[:1] == TEMPLATE :] for one in marked.declared | marked.defined}
    return declared.parameters not in others and len(declared.parameters) in set(map(len, others))


def _is_refused(item: OutlineItem, text: str, facts: Facts) -> bool:
    declared = item.declaration
    is_function = declared.kind == "function" or (declared.kind == "call" and declared.name == item.class_name)
    if not is_function or declared.form not in {"", "template"} or declared.name in _BUILTIN:
        return False
    if may_be_value(item, text, facts):
        return False
    action = action_of(item, text, facts)
    return action in {"drop", "declare"} or (action == "mark" and "constexpr" in declared.words)
