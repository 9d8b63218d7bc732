"""Guards: a patch that shows NVRTC what a compile would cut by itself; to nvcc, the text means what it meant."""

from __future__ import annotations

from bisect import bisect_left
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, Final, NamedTuple

from hatch_cuda_kernels.cpp import SourceFile, lex, lex_with_places, spell

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hatch_cuda_kernels.cpp import Edit

#: Why an edit is made, by what it does.
REASONS: Final = {
    "include": "a header of the host's",
    "body": "the body has no device mark; what it declares stays",
    "definition": "it has no device mark; its declaration stays",
    "value": "it has no device mark, so device code cannot use its value",
    "mark": "NVRTC takes no such mark there",
    "constant": "nvcc folds it as a constant, NVRTC only if it is constexpr",
    "throw": "device code cannot throw",
    "attribute": "NVRTC heeds it behind the key",
    "pragma": "NVRTC takes it as an operator",
    "condition": "nvcc's branch, as NVRTC does not define it",
    "instantiation": "no device code",
    "variable": "its value is the host's",
    "removed": "NVRTC refuses it",
}
#: More lines than one declaration has that begins or ends in a branch, in code that people write.
_MOST_LINES: Final = 300
_ELSEWHERE: Final = "#ifndef __CUDACC_RTC__\n"


class Guard(NamedTuple):
    """One thing that NVRTC is not shown any more, or shown otherwise."""

    path: str
    line: int
    """In the file as it was."""
    kind: str
    """A kind of SourceChange."""
    name: str
    reason: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.kind} {self.name}: {self.reason}"


def guard_text(path: str, shown: SourceFile, edits: Sequence[Edit], additions: str) -> tuple[str, list[str]]:
    """Return a file with its guards, with ``additions`` before its first include, and what no guard can make."""
    page = _Page(path, shown)
    regions = {first: (last, own) for first, last, own in page.regions(edits)}
    place = page.first_include()
    place = next((first for first, (last, _) in regions.items() if first <= place <= last), place)
    pieces: list[str] = []
    at = 0
    while at < len(page.lines):
        last, own = regions.get(at, (at, []))
        pieces += [additions if at == place else "", page.show_twice(at, last, own) if own else page.lines[at]]
        at = last + 1
    made = "".join(pieces)
    return (made.replace("\r\n", "\n").replace("\n", "\r\n") if "\r\n" in shown.text else made), page.notes


class _Page:
    def __init__(self, path: str, shown: SourceFile) -> None:
        self.notes: Final[list[str]] = []
        self._path: Final = path
        self._file: Final = shown if shown.text.endswith("\n") else SourceFile(path, f"{shown.text}\n")
        self.lines: Final = [f"{line}\n" for line in self._file.text.split("\n")[:-1]]
        self._starts: Final = [0, *accumulate(map(len, self.lines))]
        self._tokens: Final = lex_with_places(self._file.joined)

    def regions(self, edits: Sequence[Edit]) -> list[tuple[int, int, list[Edit]]]:
        """Return the lines that each guard is around, from the first to the last, with the edits inside."""
        found: list[tuple[int, int, list[Edit]]] = []
        for edit in edits:
            lines = self._whole(edit)
            if lines is None:
                line = self._file.line(edit.start)
                self.notes.append(f"{self._path}:{line}: {edit.name} is not guarded: an #if ends inside it")
                continue
            first, last = lines
            own = [edit]
            while found and (first <= found[-1][1] or self._is_one(found[-1], first, edit)):
                before = found.pop()
                first, last, own = before[0], max(last, before[1]), [*before[2], *own]
            found.append((first, last, own))
        return found

    def _is_one(self, before: tuple[int, int, list[Edit]], first: int, edit: Edit) -> bool:
        """Return whether two things share a guard: nothing is left of either, and at most an empty line is between."""
        between = self.lines[before[1] + 1 : first]
        is_near = len(between) < 2 and not "".join(between).strip()
        return is_near and not any(one.text.strip() for one in (*before[2], edit))

    def _line_of(self, offset: int) -> int:
        return self._file.line(offset) - 1

    def _whole(self, edit: Edit) -> tuple[int, int] | None:
        """Return the lines around an edit with whole comments, joined lines and groups; None for too many."""
        first, last = self._line_of(edit.start), self._line_of(max(edit.start, edit.end - 1))
        fewest = last - first
        while True:
            while first and self._goes_on(first - 1):
                first -= 1
            while last + 1 < len(self.lines) and self._goes_on(last):
                last += 1
            inside = range(*(self._file.run_at(self._starts[line] - 1) for line in (first, last + 1)))
            is_whole = edit.reason == "condition"
            groups = [] if is_whole else [self._groups[at] for at in inside if at in self._groups]
            wide = min([first, *(one[0] for one in groups)]), max([last, *(one[1] for one in groups)])
            if wide == (first, last):
                return wide
            first, last = wide
            if last - first - fewest > _MOST_LINES:
                return None

    def _goes_on(self, line: int) -> bool:
        """Return whether a line ends in a backslash, a comment or a literal."""
        if self.lines[line].rstrip("\r\n").endswith("\\"):
            return True
        offset, begin = self._starts[line + 1], 0
        at = bisect_left(self._tokens, offset, key=lambda token: self._file.place(token.start)) - 1
        if at >= 0:
            begin = self._file.place_behind(self._file.place(self._tokens[at].start), self._tokens[at].text)
        return offset < begin or not lex(f"{self._file.text[begin:offset]}*/")  # which only a comment takes in

    @cached_property
    def _groups(self) -> dict[int, tuple[int, int]]:
        """The first and the last line of the group of each conditional directive, by its index."""
        found: dict[int, tuple[int, int]] = {}
        directives = self._file.directives
        for at, one in enumerate(directives):
            if one.is_conditional and at not in found:
                chain = self._file.group(at)
                span = self._line_of(one.start), self._line_of(directives[chain[-1]].end - 1)
                found |= dict.fromkeys(chain, span)
        return found

    def first_include(self) -> int:
        """Return the first line with an include that no ``#if`` is around; 0 where there is none."""
        at, directives = 0, self._file.directives
        while at < len(directives):
            if directives[at].word == "include":
                return self._line_of(directives[at].start)
            at = self._file.group(at)[-1] + 1
        return 0

    def show_twice(self, first: int, last: int, edits: Sequence[Edit]) -> str:
        """Return lines as NVRTC and as others are to see them."""
        pieces: list[str] = []
        done, end = self._starts[first], self._starts[last + 1]
        old = self._file.text[done:end]
        for edit in edits:
            before = self._file.text[done : edit.start]
            pieces.append(before.rstrip() if edit.text[:1] == ";" and before.strip() else before)
            pieces.append(self._condition(edit) if edit.reason == "condition" else edit.text)
            done = edit.end
        lines = (line.rstrip() for line in "".join((*pieces, self._file.text[done:end])).splitlines())
        new = "".join(f"{line}\n" for line in lines if line)
        if all(one.reason == "condition" for one in edits):
            return new
        return f"#ifdef __CUDACC_RTC__\n{new}#else\n{old}#endif\n" if lex(new) else f"{_ELSEWHERE}{old}#endif\n"

    def _condition(self, edit: Edit) -> str:
        """Return a directive that holds for NVRTC, or does not, and is what it was for others."""
        directive = self._file.directives[self._file.run_at(edit.start) - 1]
        asked = " ".join(directive.operand.split()) if "/" not in directive.operand else spell(directive.texts)
        if directive.word.endswith("def"):
            asked = f"!defined({asked})" if directive.word.endswith("ndef") else f"defined({asked})"
        holds = edit.text.endswith("1")
        if "?" in asked or (not holds and "||" in asked):
            asked = f"({asked})"
        word = "elif" if directive.word.startswith("el") else "if"
        return f"#{word} ({asked} {'||' if holds else '&& !'}{' ' * holds}defined(__CUDACC_RTC__))"
