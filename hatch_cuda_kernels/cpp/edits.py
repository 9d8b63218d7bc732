"""The only way in which a text changes: spans with what takes their place, applied at once."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, groupby
from typing import TYPE_CHECKING, Final, NamedTuple

from hatch_cuda_kernels.cpp.macros import MacroToken, texts_of

if TYPE_CHECKING:
    from hatch_cuda_kernels.cpp.lexer import SourceFile
    from hatch_cuda_kernels.cpp.stream import Stream, StreamToken, Use
    from hatch_cuda_kernels.cpp.unit import Inclusion


class Edit(NamedTuple):
    """One change of a text. Offsets are in the original."""

    start: int
    end: int
    text: str
    reason: str = ""
    """What is done, for people."""
    name: str = ""
    """To what."""
    drops_pragmas: bool = False
    """Whether pragmas inside go with it, because the compiler heeds them later than they stand there."""


class Editor:
    """Gathers edits of declarations, at the uses of macros. Edits of one ``group`` are made together or not at all."""

    def __init__(self, stream: Stream) -> None:
        self._group, self._name = 0, ""
        self.swallowed: Final[list[Inclusion]] = []
        """Inclusions that stand inside what is replaced."""
        self.undecided: Final[set[int]] = set()
        """Groups of edits of a part of what a macro becomes, if it may become something else."""
        self._stream: Final = stream
        self._edits: Final[list[tuple[int, str, Edit]]] = []
        self._uses: Final[dict[int, tuple[Use, list[tuple[int, int, int, Edit]]]]] = {}

    def begin(self, group: int, name: str) -> None:
        """Let the edits that follow be of one group, of what has a name."""
        self._group, self._name = group, name

    def replace(
        self, tokens: Sequence[StreamToken], reason: str, text: str = "", *, drops_pragmas: bool = False
    ) -> None:
        """Put a text in the place of tokens that follow each other."""
        edit = Edit(0, 0, text, reason, self._name, drops_pragmas)
        pieces = self._pieces(tokens)
        behind = tokens[0].at
        for number, (first, last) in enumerate(pieces):
            piece = edit if not number else edit._replace(text="")
            if behind < first.at:
                self._add(behind, first.at - 1, edit._replace(text=""))
            behind = last.behind
            if first.use is None or (number and number < len(pieces) - 1):
                self._add(first.at, behind - 1, piece)
            else:
                use, changes = self._uses.setdefault(first.at, (first.use, []))
                begin = first.nth if not number else 0
                end = last.nth + 1 if number == len(pieces) - 1 and last.use is use else len(use.texts)
                changes.append((begin, end, self._group, piece))

    def insert(self, before: StreamToken, reason: str, text: str) -> None:
        """Put a text before a token."""
        edit = Edit(0, 0, text, reason, self._name)
        if before.use is None:
            file, start, _ = self._stream.place(before.at)
            self._edits.append((self._group, file.name, edit._replace(start=start, end=start)))
        else:
            changes = self._uses.setdefault(before.at, (before.use, []))[1]
            changes.append((before.nth, before.nth, self._group, edit))

    def _pieces(self, tokens: Sequence[StreamToken]) -> list[tuple[StreamToken, StreamToken]]:
        """Return the first and last tokens of stretches outside macros, and of what is in each use."""
        if tokens[0].use is None and tokens[-1].use is None:
            return [(tokens[0], tokens[-1])]
        groups = ([*group] for _, group in groupby(tokens, lambda token: id(token.use)))
        return [(one[0], one[-1]) for one in groups]

    def _add(self, first: int, last: int, edit: Edit) -> None:
        """Let an edit take the place of tokens; directives between them stay, but for includes and what it drops."""
        before: tuple[SourceFile, int] | None = None
        for file, run, start, end in self._stream.spans(first, last):
            passed = file.directives[before[1] : run] if before is not None and before[0] is file else ()
            for directive in passed if edit.drops_pragmas else ():
                if directive.word == "pragma":
                    gone = edit._replace(start=directive.start, end=directive.end, text="", drops_pragmas=False)
                    self._edits.append((self._group, file.name, gone))
            self._edits.append((self._group, file.name, edit._replace(start=start, end=end)))
            edit = edit._replace(text="")
            before = file, run
        self.swallowed.extend(self._stream.inclusions[at] for at in self._stream.inclusions_between(first, last))

    def grouped(self) -> list[tuple[int, str, Edit]]:
        """Return the edits, each with its group and its file."""
        for at, (use, changes) in self._uses.items():
            tokens, (_, _, self._group, edit) = self._stream.spelled(use), changes[0]
            is_whole = {nth for first, last, _, _ in changes for nth in range(first, last)} == {*range(len(tokens))}
            if not is_whole and not self._stream.is_sure(use):
                self.undecided.update(group for _, _, group, _ in changes)
            self._add(at, use.last - 1, edit._replace(text=_rendered(tokens, changes)))
        self._uses.clear()
        return self._edits


def _rendered(tokens: Sequence[MacroToken], changes: Iterable[tuple[int, int, int, Edit]]) -> str:
    pieces: list[str] = []
    done = 0
    for first, last, _, edit in sorted(changes, key=lambda change: change[:2]):
        if first < done:
            continue
        pieces += [*texts_of(tokens[done:first]), edit.text]
        done = last
    return " ".join((*pieces, *texts_of(tokens[done:]))).strip()


def outermost(edits: Iterable[Edit]) -> Iterator[Edit]:
    """Yield edits in order, without those inside others."""
    done = 0
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.start != edit.end, -edit.end)):
        if edit.start >= done:
            yield edit
            done = edit.end


class Edited:
    """A text with its edits applied. What is cut leaves its newlines, so that lines stay."""

    def __init__(self, file: SourceFile, edits: Iterable[Edit]) -> None:
        self.file: Final = file
        pieces: list[tuple[str, int, bool]] = []
        done = 0
        for edit in outermost(edits):
            left = file.text.count("\n", edit.start, edit.end) - edit.text.count("\n")
            pieces += (file.text[done : edit.start], done, True), (edit.text + "\n" * left, edit.start, False)
            done = edit.end
        pieces.append((file.text[done:], done, True))
        starts = accumulate((len(text) for text, _, _ in pieces), initial=0)
        self.text: Final = "".join(text for text, _, _ in pieces)
        self._pieces: Final = [(at, original, same) for at, (_, original, same) in zip(starts, pieces, strict=False)]
        """Where each piece begins here and in the original, and whether it is as it was there."""

    def original(self, line: int, column: int) -> int:
        """Return the offset, in the original, of a column, from 0, of a line, from 1."""
        start = -1
        for _ in range(line - 1):
            start = self.text.find("\n", start + 1)
        offset = start + 1 + column
        begin, original, is_same = self._pieces[bisect_right(self._pieces, (offset, len(self.file.text), True)) - 1]
        return original + (offset - begin) * is_same
