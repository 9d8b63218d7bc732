"""Writes guards around what is not for NVRTC; for nvcc and for the host's compiler, the text means what it meant."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.host_code.branches import CONDITIONS
from hatch_cuda_kernels.host_code.drop import MARK

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hatch_cuda_kernels.host_code.drop import Change
    from hatch_cuda_kernels.host_code.items import Outline

__all__ = ["guardable", "guarded"]

#: Blanks and comments, at most to the end of a line; between two guards, what one guard may take in with both.
_REST_OF_LINE: Final = re.compile(r"[ \t\r]*(?://[^\n]*)?(?:\n|\Z)")
_BETWEEN: Final = re.compile(r"(?:\s+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_HEAD: Final = "#ifndef __CUDACC_RTC__\n"
_MARKED: Final = f"#ifdef __CUDACC_RTC__\n{MARK.strip()}\n#endif\n"
_END: Final = "#endif\n"


def guardable(outline: Outline, change: Change) -> bool:
    """Return whether a guard fits: a group of ``#if`` is inside it as a whole, or not at all."""
    place = outline.source.place
    depth = 0
    for line in outline.directives:
        if line.word in CONDITIONS and change.start <= place(line.start) < change.end:
            depth += 1 if line.word.startswith("if") else -1 if line.word == "endif" else 0
            if depth < 0 or (depth == 0 and line.word != "endif"):
                return False
    return depth == 0


def guarded(outline: Outline, changes: Sequence[Change], additions: str = "") -> str:
    """Return a text with its guards. ``additions`` go behind the first include that is guarded, or to the top."""
    text = outline.source.original
    pieces: list[str] = []
    done = 0
    pending = additions
    for group in _groups(text, changes):
        start, end = group[0].start, group[-1].end
        if start < done:
            continue
        begins = text.rfind("\n", 0, start) + 1
        starts_line = begins >= done and not text[begins:start].strip()
        if starts_line:
            start = begins
        rest = _REST_OF_LINE.match(text, end)
        pieces += text[done:start], "" if starts_line else "\n"
        if group[0].action == "drop":
            end = rest.end() if rest else end
            pieces += _HEAD, _line(text[start:end]), _END
            if pending and group[0].kind == "include":
                pieces.append(pending)
                pending = ""
        else:
            end = rest.end() if rest and group[0].last else end
            pieces.append(_shown(text, group[0], start, end))
        done = end
    made = "".join((pending, *pieces, text[done:]))
    return re.sub(r"(?<!\r)\n", "\r\n", made) if "\r\n" in text else made


def _groups(text: str, changes: Sequence[Change]) -> Iterator[list[Change]]:
    """Yield the changes that one guard serves: neighbours that are all guarded as they are."""
    group: list[Change] = []
    for change in changes:
        joins = group and group[-1].action == change.action == "drop"
        between = _BETWEEN.match(text, group[-1].end) if joins else None
        if between is not None and between.end() >= change.start:
            group.append(change)
        else:
            if group:
                yield group
            group = [change]
    if group:
        yield group


def _shown(text: str, change: Change, start: int, end: int) -> str:
    """Return a function that NVRTC is shown with marks, or with marks and without its body."""
    if change.action == "mark" or not change.last:
        head = text[start : change.first]
        return f"{head}{'' if not head.strip() else chr(10)}{_MARKED}{text[change.first : end]}"
    bare = f"{text[start : change.first]}{MARK}{text[change.first : change.last]};"
    return f"#ifdef __CUDACC_RTC__\n{_line(bare)}#else\n{_line(text[start:end])}{_END}"


def _line(text: str) -> str:
    return text if text.endswith("\n") else f"{text}\n"
