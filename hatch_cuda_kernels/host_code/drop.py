"""Blanks what is for the host only, in the texts of a closure: lines stay, and so do directives."""

from __future__ import annotations

import re
from bisect import bisect
from collections import defaultdict
from typing import TYPE_CHECKING, Final, NamedTuple

from hatch_cuda_kernels.host_code.default_arguments import without_host_defaults
from hatch_cuda_kernels.host_code.head_conditions import behind_conditions, head_end, is_another
from hatch_cuda_kernels.host_code.host_constants import declared_only
from hatch_cuda_kernels.host_code.includes import host_header
from hatch_cuda_kernels.host_code.made import made_by
from hatch_cuda_kernels.host_code.pragmas import pragmas_before
from hatch_cuda_kernels.host_code.rule import action_of, is_dropped
from hatch_cuda_kernels.host_code.usings import is_assertion
from hatch_cuda_kernels.host_code.words import VIRTUAL
from hatch_cuda_kernels.source.branches import CONDITIONS
from hatch_cuda_kernels.source.dropped import Dropped
from hatch_cuda_kernels.source.lexer import CHARACTER, COMMENT, STRING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from hatch_cuda_kernels.host_code.facts import Facts
    from hatch_cuda_kernels.host_code.items import Outline, OutlineItem
    from hatch_cuda_kernels.host_code.rule import Action
    from hatch_cuda_kernels.source.directive_lines import DirectiveLine
    from hatch_cuda_kernels.source.dropped import DroppedKind

__all__ = ["MARKS", "TextChange", "apply", "find_changes", "without_inline"]

#: What is put before what stays, by what is done.
MARKS: Final = {"declare": "__host__ __device__ ", "mark": "__host__ __device__ ", "constant": "constexpr "}
_KINDS: Final[Mapping[str, DroppedKind]] = {
    "type": "type",
    "variable": "variable",
    "texture": "texture",
    "include": "include",
    "using": "using",
    "assertion": "assertion",
}
_CHANGED: Final[Mapping[str, DroppedKind]] = {"constant": "constant", "expand": "macro", "extern": "value"}
#: The templates of references, which CUDA 12 removed: a toolkit before that takes these for device variables.
_TEXTURES: Final = {("texture",), ("surface",)}
#: A statement; what it throws may hold literals.
_THROW: Final = re.compile(
    rf"{COMMENT}|{STRING}|{CHARACTER}|(?<=[;{{}})])(?P<before>\s*(?:\belse\b\s*)?)"
    rf"\bthrow\b(?P<what>(?:[^;\"']|{STRING}|{CHARACTER})*);"
)
_INLINE: Final = re.compile(r"\b(?:inline|__inline__|__inline|__forceinline__)\b\s?")
_VISIBLE: Final = re.compile(r"\S+")
#: Directives that are for what is around them.
_LOCAL: Final = frozenset({"include", "include_next", "import", "pragma"})


class TextChange(NamedTuple):
    """What to do with a place of a text; positions are in the original."""

    action: Action
    kind: str
    """``function``, ``variable``, ``texture``, ``include``, ``using``, ``assertion`` or ``call``.

    A ``type`` goes where a port guards it, or the user says that it is the host's.
    """
    name: str
    start: int
    end: int
    first: int = 0
    """Where a mark may be put."""
    last: int = 0
    """Where a function's body begins, with what initialises members."""
    text: str = ""
    """What takes the place of a macro's use, of a constant with its value, or of a function that is only declared."""


def find_changes(outline: Outline, facts: Facts) -> list[TextChange]:
    """Return what is to be changed in a text, in order. Declarations that branches share are changed alike, or not."""
    text, place = outline.source.text, outline.source.place
    found: dict[int, list[TextChange]] = {}
    conditions = [line for line in outline.directives if line.word in CONDITIONS]
    for item in outline.items:
        action = action_of(item, text, facts)
        made = made_by(item, text, facts, lambda one: _without(one, facts)) if action == "keep" else None
        if action == "extern":
            made = declared_only(item, text)
        if made is not None:
            change = _change(item, "extern" if action == "extern" else "expand", outline)
            found.setdefault(item.start, []).append(change._replace(text=made, last=change.end))
            continue
        end_of_head = head_end(item, conditions, text) if action == "declare" else 0
        if end_of_head is None or (action in {"drop", "declare"} and is_another(item, conditions, text, facts)):
            action = "keep"
        change = _change(item, action, outline, end_of_head)
        found.setdefault(item.start, []).append(change._replace(text=_redeclared(item, action, text, facts)))
    changes = [change for alike in found.values() for change in _settled(alike)]
    begun = pragmas_before(outline, facts)
    changes = _without_wider(changes, outline)
    changes = [one._replace(start=begun.get(one.start, one.start)) if one.action == "drop" else one for one in changes]
    for line in outline.directives:
        header = None if line.hidden else host_header(line) or _stated_header(line, facts)
        if header is not None:
            changes.append(TextChange("drop", "include", header, place(line.start), place(line.end - 1) + 1))
    return [*_outermost(sorted(changes, key=lambda change: change.start))]


def _stated_header(line: DirectiveLine, facts: Facts) -> str | None:
    """Return the header that a directive includes, if the user says that it is the host's."""
    name = line.operand[1:-1] if line.word == "include" else ""
    return name if f"<{name}>" in facts.host_only else None


def _without_wider(changes: list[TextChange], outline: Outline) -> list[TextChange]:
    """Return changes without those of declarations that hold others which stay: in some branch, they end earlier."""
    dropped = {change.start for change in changes if change.action == "drop"}
    scopes = {outline.source.place(item.start): item.class_name for item in outline.items}
    stays: dict[str | None, list[int]] = defaultdict(list)
    for start in sorted(scopes.keys() - dropped):
        stays[scopes[start]].append(start)
    return [change for change in changes if not _holds(change, stays[scopes[change.start]])]


def _holds(change: TextChange, starts: Sequence[int]) -> bool:
    at = bisect(starts, change.start)
    return change.action not in {"mark", "constant"} and at < len(starts) and starts[at] < change.end


def _redeclared(item: OutlineItem, action: Action, text: str, facts: Facts) -> str:
    """Return a function that is only declared, with other defaults where they name what is dropped; or nothing."""
    declared = item.declaration
    head = text[declared.first : declared.last]
    left = without_host_defaults(head, item.class_name, facts, is_dropped(facts)) if action == "declare" else None
    is_called = declared.words & VIRTUAL and declared.ending != "0"  # through a table, where no symbol is undefined
    if left is None or is_called or "#" in text[item.start : declared.first]:
        return ""
    rest = ";" if declared.ending == "{}" else text[declared.last : item.end]
    return without_inline(
        f"{' '.join(text[item.start : declared.first].split())} {MARKS['declare']}{left}{rest}"
    ).strip()


def _outermost(changes: list[TextChange]) -> Iterator[TextChange]:
    """Yield changes without those inside a class that goes as a whole."""
    end = 0
    for change in changes:
        if change.start >= end:
            yield change
            end = change.end if change.kind == "type" else end


def _without(outline: Outline, facts: Facts) -> str:
    return apply("", outline, find_changes(outline, facts))[0]


def _settled(alike: list[TextChange]) -> Iterator[TextChange]:
    """Yield the change of declarations that begin at one place, in branches of ``#if``."""
    if {change.action for change in alike} == {"drop"}:
        yield max(alike, key=lambda change: change.end)
    elif len(alike) == 1 and alike[0].action != "keep":
        yield alike[0]


def _change(item: OutlineItem, action: Action, outline: Outline, end_of_head: int | None = 0) -> TextChange:
    place, declared = outline.source.place, item.declaration
    name = f"{declared.scope or item.class_name or ''}::{declared.name}".removeprefix("::")
    kind: str = declared.kind
    if kind == "other":
        kind = "assertion" if is_assertion(item, outline.source.text) else "using"
        name = " ".join(outline.source.text[item.start : item.end - 1].split()).removeprefix("using ")
    if kind == "variable" and declared.types[:1] in _TEXTURES:
        kind = "texture"
    first = max(declared.first, behind_conditions(item, outline)) if action == "mark" else declared.first
    last = place((end_of_head or declared.last) - 1) + 1 if declared.ending == "{}" else 0
    return TextChange(action, kind, name, place(item.start), place(item.end - 1) + 1, place(first), last)


def apply(path: str, outline: Outline, changes: list[TextChange]) -> tuple[str, tuple[Dropped, ...]]:
    """Return a text's original as NVRTC is to see it, with as many lines as before, and what was dropped."""
    text = outline.source.original
    kept = [  # in order
        (outline.source.place(line.start), outline.source.place(line.end - 1) + 1)
        for line in outline.directives
        if line.word not in _LOCAL
    ]
    pieces: list[str] = []
    dropped: list[Dropped] = []
    done = line = 0
    at = 0
    for change in changes:
        if change.start < done:
            continue
        pieces.append(text[done : change.start])
        line, at = line + text.count("\n", at, change.start), change.start
        pieces.append(_changed(text, change, kept))
        done = change.end
        dropped.append(Dropped(path, line + 1, _kind(change), change.name))
    return "".join((*pieces, text[done:])), tuple(dropped)


def _kind(change: TextChange) -> DroppedKind:
    if change.action in _CHANGED:
        return _CHANGED[change.action]
    if change.action == "drop":
        return _KINDS.get(change.kind, "function")
    return "body" if change.action == "declare" and change.last else "mark"


def _changed(text: str, change: TextChange, kept: list[tuple[int, int]]) -> str:
    """Return what stands in a changed place's stead."""
    if change.action == "drop":
        return _blank(text, change.start, change.end, kept)
    if change.text:
        return change.text + "\n" * (text.count("\n", change.start, change.end) - change.text.count("\n"))
    end = change.last if change.action == "declare" and change.last else change.end
    head = f"{text[change.start : change.first]}{MARKS[change.action]}{text[change.first : end]}"
    if change.action == "declare":
        head = without_inline(head)
    elif change.action == "mark":
        head = _THROW.sub(_trap, head)
    return head if end == change.end else f"{head};{_blank(text, end, change.end, kept)}"


def without_inline(head: str) -> str:
    """Return a head for a declaration only: what is inline has to be defined where anything names it."""
    return _INLINE.sub("", head)


def _trap(found: re.Match[str]) -> str:
    """Return what a ``throw`` becomes in a function that NVRTC gets a mark for: device code has no exceptions."""
    if found["what"] is None:
        return found[0]
    return f"{found['before']}__trap();" + "\n" * found["what"].count("\n")


def _blank(text: str, start: int, end: int, kept: list[tuple[int, int]]) -> str:
    """Return part of a text as blanks and newlines, but for the directives that are kept."""
    pieces: list[str] = []
    for first, last in kept[bisect(kept, (start,)) : bisect(kept, (end,))]:
        pieces += _VISIBLE.sub(_blanks, text[start:first]), text[first:last]
        start = last
    return "".join((*pieces, _VISIBLE.sub(_blanks, text[start:end])))


def _blanks(found: re.Match[str]) -> str:
    return " " * len(found[0])
