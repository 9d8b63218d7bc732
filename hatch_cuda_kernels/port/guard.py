"""Writes guards around what is not for NVRTC; for nvcc and for the host's compiler, the text means what it meant."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.host_code.drop import MARKS, without_inline
from hatch_cuda_kernels.source.branches import CONDITIONS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hatch_cuda_kernels.host_code.drop import TextChange
    from hatch_cuda_kernels.host_code.items import Outline

__all__ = ["guardable", "guarded", "widened"]

#: What a guard takes in behind what it is for: the rest of a line that is empty, and semicolons behind a body.
_REST_OF_LINE: Final = re.compile(r"[ \t\r]*(?://[^\n]*)?(?:\n|\Z)")
_SEMICOLONS: Final = re.compile(r"(?:\s*;)*")
#: What one guard may take in between two things that it is for.
_BETWEEN: Final = re.compile(r"(?:\s+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_HEAD: Final = "#ifndef __CUDACC_RTC__\n"
_END: Final = "#endif\n"


def guardable(outline: Outline, change: TextChange) -> bool:
    """Return whether a guard fits: a group of ``#if`` is inside it as a whole, or not at all."""
    place = outline.source.place
    depth = 0
    for line in outline.directives:
        if line.word in CONDITIONS and change.start <= place(line.start) < change.end:
            depth += 1 if line.word.startswith("if") else -1 if line.word == "endif" else 0
            if depth < 0 or (depth == 0 and line.word != "endif"):
                return False
    return depth == 0


def widened(outline: Outline, change: TextChange) -> TextChange:
    """Return a change that begins where an ``#if`` does that has only the beginning of a declaration in it."""
    source, start = outline.source, outline.source.position(change.start)
    before = [line for line in outline.directives if line.start < start]
    opened = before and before[-1].word.startswith("if") and not source.text[before[-1].end : start].strip()
    first = source.place(before[-1].start) if opened else change.start
    inside = (item for item in outline.items if first <= source.place(item.start) < change.end)
    alone = all(source.place(item.start) == change.start for item in inside)
    return change._replace(start=first) if alone and change.kind == "function" and change.action == "drop" else change


def guarded(outline: Outline, changes: Sequence[TextChange], additions: str = "") -> str:
    """Return a text with its guards, and with ``additions`` before its first include that has no condition."""
    text = outline.source.original
    place = _first_include(outline)
    pieces: list[str] = []
    done = 0
    for group in _groups(text, changes):
        start, end = group[0].start, max(change.end for change in group)
        if start < done:
            continue
        begins = text.rfind("\n", 0, start) + 1
        starts_line = begins >= done and not text[begins:start].strip()
        if starts_line:
            start = begins
        if group[-1].kind == "call" or (text[end - 1] == "}" and group[-1].kind != "variable"):
            end = _end(_SEMICOLONS, text, end)
        end_of_line = _end(_REST_OF_LINE, text, end)
        if place < end and additions:
            pieces += text[done : min(place, start)], additions
            done, additions = min(place, start), ""
        pieces += text[done:start], "" if starts_line else "\n"
        if group[0].action == "drop":
            end = end_of_line
            pieces += _HEAD, _line(text[start:end]), _END
        else:
            end = end_of_line if group[0].last else end
            pieces.append(_shown(text, group[0], start, end))
        done = end
    made = "".join((*pieces, text[done:] if not additions else text[done:place] + additions + text[place:]))
    return re.sub(r"(?<!\r)\n", "\r\n", made) if "\r\n" in text else made


def _first_include(outline: Outline) -> int:
    """Return where the line of the first include begins that no ``#if`` is around; 0 where there is none."""
    depth = 0
    for line in outline.directives:
        if line.word == "include" and not depth:
            return outline.source.original.rfind("\n", 0, outline.source.place(line.start)) + 1
        depth += line.word.startswith("if") - (line.word == "endif")
    return 0


def _end(pattern: re.Pattern[str], text: str, position: int) -> int:
    """Return where a pattern ends that begins at a position; the position where none does."""
    found = pattern.match(text, position)
    return found.end() if found else position


def _groups(text: str, changes: Sequence[TextChange]) -> Iterator[list[TextChange]]:
    """Yield the changes that one guard serves: neighbours that are all guarded as they are."""
    group: list[TextChange] = []
    end = 0
    for change in changes:
        joins = bool(group) and group[-1].action == change.action == "drop"
        if joins and _end(_BETWEEN, text, end) >= change.start:
            group.append(change)
        else:
            if group:
                yield group
            group, end = [change], 0
        end = max(end, change.end)
    if group:
        yield group


def _shown(text: str, change: TextChange, start: int, end: int) -> str:
    """Return a function that NVRTC is shown with marks, or with marks and without its body."""
    if change.text:
        return f"#ifdef __CUDACC_RTC__\n{change.text}\n#else\n{_line(text[start:end])}{_END}"
    mark = MARKS[change.action]
    if change.action != "declare" or not change.last:
        head, marked = text[start : change.first], f"#ifdef __CUDACC_RTC__\n{mark.strip()}\n#endif\n"
        if not head.strip():
            return f"{marked}{head}{text[change.first : end]}"
        return f"{head.rstrip()}\n{marked}{text[change.first : end]}"
    bare = without_inline(f"{text[start : change.first]}{mark}{text[change.first : change.last]};")
    return f"#ifdef __CUDACC_RTC__\n{_line(bare)}#else\n{_line(text[start:end])}{_END}"


def _line(text: str) -> str:
    return text if text.endswith("\n") else f"{text}\n"
