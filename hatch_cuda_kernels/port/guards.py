"""Guards: a patch that shows NVRTC what a compile would cut by itself; to nvcc, the text means what it meant."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, Final, NamedTuple

from hatch_cuda_kernels.cpp import SourceFile, lex, lex_with_places

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from hatch_cuda_kernels.cpp import Directive, Edit

__all__ = ["Guard", "guarded", "needed"]

_REASONS: Final = {
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
_OPENING: Final = frozenset({"if", "ifdef", "ifndef"})


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

    @classmethod
    def of(cls, path: str, line: int, edit: Edit, said: str = "") -> Guard:
        """Return the guard that makes an edit; what NVRTC ``said`` is the reason of what goes as a whole."""
        reason = f"NVRTC: {said}" if said and edit.reason == "removed" else _REASONS.get(edit.reason, edit.reason)
        return cls(path, line, edit.reason, edit.name, reason)


def needed(file: SourceFile, edits: Iterable[Edit]) -> list[Edit]:
    """Return the edits that change a text, in order, without those inside others."""
    found: list[Edit] = []
    done = 0
    for edit in sorted(edits, key=lambda edit: (edit.start, -edit.end)):
        if edit.text != file.text[edit.start : edit.end] and edit.start >= done:
            found.append(edit)
            done = edit.end
    return found


def guarded(path: str, shown: SourceFile, edits: Sequence[Edit], additions: str) -> tuple[str, list[str]]:
    """Return a file with its guards, with ``additions`` before its first include, and what no guard can make."""
    page = _Page(path, shown)
    regions = {first: (last, own) for first, last, own in page.regions(edits)}
    place = page.first_include()
    place = next((first for first, (last, _) in regions.items() if first <= place <= last), place)
    pieces: list[str] = []
    at = 0
    while at < len(page.lines):
        last, own = regions.get(at, (at, []))
        pieces += [additions if at == place else "", *(page.shown_twice(at, last, own) if own else [page.lines[at]])]
        at = last + 1
    made = "".join(pieces)
    return (made.replace("\r\n", "\n").replace("\n", "\r\n") if "\r\n" in shown.text else made), page.notes


class _Page:
    """A file by its lines."""

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
        return bisect_right(self._starts, offset) - 1

    def _whole(self, edit: Edit) -> tuple[int, int] | None:
        """Return the lines around an edit with whole comments, joined lines and groups; None for too many."""
        first, last = self._line_of(edit.start), self._line_of(max(edit.start, edit.end - 1))
        if edit.reason == "condition":
            return self._with_joined(first, last)
        while True:
            wide = self._with_groups(*self._with_joined(first, last))
            if wide is None or wide == (first, last):
                return wide
            first, last = wide

    def _with_joined(self, first: int, last: int) -> tuple[int, int]:
        while first and self.lines[first - 1].rstrip("\r\n").endswith("\\"):
            first -= 1
        while last + 1 < len(self.lines) and self.lines[last].rstrip("\r\n").endswith("\\"):
            last += 1
        while first and self._is_inside(self._starts[first]):
            first -= 1
        while last + 1 < len(self.lines) and self._is_inside(self._starts[last + 1]):
            last += 1
        return first, last

    def _is_inside(self, offset: int) -> bool:
        """Return whether a line begins inside a comment or a literal. Joined lines never do."""
        at = bisect_left(self._tokens, offset, key=lambda token: self._file.place(token.start)) - 1
        begin = 0
        if at >= 0:
            begin = self._file.place_behind(self._file.place(self._tokens[at].start), self._tokens[at].text)
        return offset < begin or not lex(f"{self._file.text[begin:offset]}*/")  # which only a comment takes in

    def _with_groups(self, first: int, last: int) -> tuple[int, int] | None:
        """Return lines with all of each conditional group that begins, goes on or ends in them."""
        low, high = first, last
        for directive in self._directives(first, last):
            if directive.is_conditional:
                begin, end = self._groups.get(directive.start, (directive.start, directive.end))
                low, high = min(low, self._line_of(begin)), max(high, self._line_of(end - 1))
        return None if high - low - (last - first) > _MOST_LINES else (low, high)

    def _directives(self, first: int, last: int) -> Sequence[Directive]:
        found = self._file.directives
        begin = bisect_left(found, self._starts[first], key=lambda one: one.start)
        end = bisect_left(found, self._starts[last + 1], key=lambda one: one.start)
        return found[begin:end]

    @cached_property
    def _groups(self) -> dict[int, tuple[int, int]]:
        """Where the group of each conditional directive begins and ends, by where the directive does."""
        found: dict[int, tuple[int, int]] = {}
        opened: list[list[int]] = []
        for directive in self._file.directives:
            if directive.word in _OPENING:
                opened.append([])
            if directive.is_conditional and opened:
                opened[-1].append(directive.start)
                if directive.word == "endif":
                    chain = opened.pop()
                    found |= dict.fromkeys(chain, (chain[0], directive.end))
        return found

    def first_include(self) -> int:
        """Return the first line with an include that no ``#if`` is around; 0 where there is none."""
        depth = 0
        for directive in self._file.directives:
            if directive.word == "include" and not depth:
                return self._line_of(directive.start)
            depth += (directive.word in _OPENING) - (directive.word == "endif")
        return 0

    def shown_twice(self, first: int, last: int, edits: Sequence[Edit]) -> Iterator[str]:
        """Yield lines as NVRTC and as others are to see them."""
        old = "".join(self.lines[first : last + 1])
        if all(edit.reason == "condition" for edit in edits) and len(edits) == 1:
            edit = edits[0]
            yield f"{self._file.text[self._starts[first] : edit.start]}{self._condition(edit)}\n"
            return
        new = self._edited(first, last, edits)
        if not lex(new):
            yield f"#ifndef __CUDACC_RTC__\n{old}#endif\n"
        else:
            yield f"#ifdef __CUDACC_RTC__\n{new}#else\n{old}#endif\n"

    def _edited(self, first: int, last: int, edits: Sequence[Edit]) -> str:
        pieces: list[str] = []
        done = self._starts[first]
        for edit in edits:
            before = self._file.text[done : edit.start]
            text = self._condition(edit) if edit.reason == "condition" else edit.text
            pieces += [before.rstrip() if text[:1] == ";" and before.strip() else before, text, self._kept(edit)]
            done = edit.end
        made = "".join((*pieces, self._file.text[done : self._starts[last + 1]]))
        lines = [line.rstrip() for line in made.splitlines()]
        return "".join(f"{line}\n" for line in lines if line)

    def _kept(self, edit: Edit) -> str:
        """Return the directives inside what goes, but for groups in which nothing is left."""
        if edit.reason == "condition" or "\n" not in self._file.text[edit.start : edit.end]:
            return ""
        inside = self._directives(self._line_of(edit.start), self._line_of(edit.end - 1))
        inside = [one for one in inside if edit.start <= one.start and one.end <= edit.end]
        if all(one.is_conditional or one.word == "pragma" for one in inside):
            return ""
        return "".join(f"\n{self._file.text[one.start : one.end]}" for one in inside) + "\n"

    def _condition(self, edit: Edit) -> str:
        """Return a directive that holds for NVRTC, or does not, and is what it was for others."""
        at = bisect_left(self._file.directives, edit.start, key=lambda one: one.start)
        directive = self._file.directives[at]
        texts = directive.texts
        asked = directive.operand.strip() if not directive.word.endswith("def") else texts[0]
        asked = " ".join(asked.split()) if "/*" not in asked and "//" not in asked else " ".join(texts)
        if directive.word.endswith("def"):
            asked = f"!defined({asked})" if directive.word.endswith("ndef") else f"defined({asked})"
        holds = edit.text.endswith("1")
        if "?" in texts or (not holds and "||" in texts):
            asked = f"({asked})"
        word = "elif" if directive.word.startswith("el") else "if"
        both = f"{asked} || defined(__CUDACC_RTC__)" if holds else f"{asked} && !defined(__CUDACC_RTC__)"
        return f"#{word} ({both})"
