"""What a project's macros make of the code that uses them: launches that macros hide, with their template arguments."""

from __future__ import annotations

import re
from contextlib import suppress
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from hatch_cuda_kernels.source.lexer import NUMBER
from hatch_cuda_kernels.source.macro_arguments import COMMENT, LITERAL, arguments_at, is_one, quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from hatch_cuda_kernels.source.macros import MacroText

__all__ = ["MacroUse", "Macros"]

_WORD: Final = re.compile(r"[A-Za-z_]\w*")
_BODY: Final = re.compile(
    rf"{LITERAL}|(?P<paste>\s*##\s*)|#\s*(?P<string>\w+)|{NUMBER}|(?P<word>[A-Za-z_]\w*)", re.ASCII
)
_PIECE: Final = re.compile(rf"{LITERAL}|{COMMENT}|{NUMBER}|[A-Za-z_]\w*|[()]", re.DOTALL | re.ASCII)
#: What is not expanded as compilers do.
_UNUSUAL: Final = ("__VA_OPT__", 'R"')
_LONGEST: Final = 200_000
_DEEPEST: Final = 40
#: Characters that are made of one text, each use of a macro counting for some more.
_BUDGET: Final = 2_000_000
_USE: Final = 20


class _LeftError(Exception):
    """A macro that is left as it is decides what another makes of it."""


class _TooLongError(Exception):
    """A text is expanded to more than it has a budget for."""


class MacroUse(NamedTuple):
    """Where a macro is used in a text, and what it stands for there."""

    start: int
    end: int
    text: str


class Macros:
    """The macros of a project; of several of one name, the first."""

    def __init__(self, macros: Iterable[MacroText]) -> None:
        self._macros: Final[dict[str, MacroText]] = {}
        self._unclear: Final[dict[str, list[MacroText]]] = {}
        self._left = _BUDGET
        for macro in macros:
            first = self._macros.setdefault(macro.name, macro)
            if first[2:] != macro[2:]:
                self._unclear.setdefault(macro.name, [first]).append(macro)

    def expand_clear(self, text: str, is_whole: Callable[[str], bool]) -> str | None:
        """Return a text with what those of its macros stand for that ``is_whole`` names; None where that is not clear.

        All others stay, as what they stand for may be another thing there: they may be defined later, or no longer.
        One of those that ``is_whole`` names stays, too, if it stands for this or for that. None where a macro that
        stays decides what another makes of it, and for what is not expanded here as compilers do.
        """
        reached = self._reached([text])
        if reached is None:
            return None
        left = frozenset(name for name in reached if name in self._unclear or not is_whole(name))
        self._left = _BUDGET
        try:
            return self._expand(text, left, left=left)
        except (_LeftError, _TooLongError):
            return None

    def meanings(self, use: str) -> list[str]:
        """Return what a macro's use stands for, by each of its definitions; none where that is not clear."""
        name = _WORD.match(use)
        first = self._macros.get(name[0]) if name else None
        if name is None or first is None:
            return []
        defined = self._unclear.get(first.name, [first])
        given = arguments_at(use, name.end(), len(use)) or ([], name.end())
        reached = self._reached([use[name.end() :], *(macro.text for macro in defined)])
        if reached is None or reached & (self._unclear.keys() - {first.name}):
            return []
        self._left = _BUDGET
        try:
            return [self._made(macro, given[0], frozenset(), 0) + use[given[1] :] for macro in defined]
        except _TooLongError:
            return []

    def _reached(self, texts: Iterable[str]) -> set[str] | None:
        """Return the macros that texts use, directly or not; None for what is not expanded here as compilers do."""
        reached: set[str] = set()
        waiting = [*texts]
        while waiting:
            words = _usual_words(waiting.pop())
            if words is None:
                return None
            fresh = {word for word in words if word in self._macros and word not in reached}
            reached |= fresh
            waiting += (self._macros[name].text for name in fresh)
        return reached

    def naming(self, wanted: Collection[str]) -> frozenset[str]:
        """Return the wanted words with the macros that stand for one of them or a launch, directly or not."""
        reached = {*wanted, "<<<"}
        waiting = [*reached]
        while waiting:
            fresh = self._users.get(waiting.pop(), set()) - reached
            reached |= fresh
            waiting += fresh
        return frozenset(reached)

    @cached_property
    def _users(self) -> dict[str, set[str]]:
        """The macros whose texts have a word, or a launch."""
        users: dict[str, set[str]] = {}
        for macro in self._macros.values():
            for word in (*_WORD.findall(macro.text), *(["<<<"] if "<<<" in macro.text else [])):
                users.setdefault(word, set()).add(macro.name)
        return users

    def uses(self, text: str, start: int, end: int, naming: frozenset[str]) -> Iterator[MacroUse]:
        """Yield the uses of macros in part of a text that stand for something that has to do with words."""
        position = start
        while (found := _PIECE.search(text, position, end)) is not None:
            position = found.end()
            macro = self._macros.get(found[0])
            if macro is None:
                continue
            given = arguments_at(text, found.end(), end) if macro.parameters is not None else ([], found.end())
            if given is None:
                continue
            spelled = text[found.start() : given[1]]
            if "<<<" in spelled or not naming.isdisjoint(_WORD.findall(spelled)):
                self._left = _BUDGET
                with suppress(_TooLongError):
                    yield MacroUse(found.start(), given[1], self._made(macro, given[0], frozenset(), 0))
                position = given[1]

    def expand(self, text: str) -> str:
        """Return a text with what its macros stand for; as it is where that is too much."""
        self._left = _BUDGET
        try:
            return self._expand(text)
        except _TooLongError:
            return text

    def _expand(
        self, text: str, hidden: frozenset[str] = frozenset(), depth: int = 0, left: frozenset[str] = frozenset()
    ) -> str:
        """Return a text with what its macros stand for, or a part of them where that is long.

        Raises _LeftError where one that is ``left`` as it is decides what another makes of it.
        """
        pieces: list[str] = []
        done = 0
        while depth < _DEEPEST and (found := _PIECE.search(text, done)) is not None:
            pieces.append(text[done : found.start()])
            done = found.end()
            macro = self._macros.get(found[0])
            given = None
            if macro is not None and found[0] not in hidden:
                given = arguments_at(text, done, len(text)) if macro.parameters is not None else ([], done)
            if macro is None or given is None or sum(map(len, pieces)) > _LONGEST:
                pieces.append(found[0])
            else:
                if depth and left and not all(map(is_one, self._texts(left & _words_in(given[0])))):
                    raise _LeftError
                pieces.append(self._made(macro, given[0], hidden, depth, left))
                done = given[1]
        return "".join((*pieces, text[done:]))

    def _texts(self, names: Iterable[str]) -> Iterator[str]:
        """Yield what macros stand for, by all of their definitions."""
        return (macro.text for name in names for macro in self._unclear.get(name, [self._macros[name]]))

    def _made(
        self,
        macro: MacroText,
        given: Sequence[str],
        hidden: frozenset[str],
        depth: int,
        left: frozenset[str] = frozenset(),
    ) -> str:
        """Return what a macro stands for with arguments."""
        hidden |= {macro.name}
        names = macro.parameters or ()
        if len(given) > len(names) > 0:  # of any number
            given = [*given[: len(names) - 1], ",".join(given[len(names) - 1 :])]
        raw = dict(zip(names, (*(one.strip() for one in given), *[""] * len(names)), strict=False))
        full: dict[str, str] = {}
        pieces: list[str] = []
        done = 0
        pasted = False
        for part in _BODY.finditer(macro.text):
            pieces.append(macro.text[done : part.start()])
            done = part.end()
            word = part["word"]
            is_pasted = word in raw and (pasted or macro.text[done:].lstrip().startswith("##"))
            if depth and left and (is_pasted or part["string"] in raw):
                _check_operand(raw[word if is_pasted else part["string"]], left)
            if part["string"] in raw:
                pieces.append(quoted(raw[part["string"]]))
            elif part["paste"]:
                pasted = True
                continue
            elif is_pasted:
                pieces.append(raw[word])
            elif word in raw:
                if word not in full:
                    full[word] = self._expand(raw[word], hidden - {macro.name}, depth + 1, left)
                pieces.append(full[word])
            else:
                pieces.append(part[0])
            pasted = False
        made = "".join((*pieces, macro.text[done:]))
        self._left -= _USE + len(made)
        if self._left < 0:
            raise _TooLongError
        return self._expand(made, hidden, depth + 1, left) if len(made) < _LONGEST else made


@lru_cache(maxsize=1 << 16)
def _usual_words(text: str) -> frozenset[str] | None:
    """Return the words of a text; None for what is not expanded here as compilers do. Many uses lead to one macro."""
    return None if any(word in text for word in _UNUSUAL) else frozenset(_WORD.findall(text))


def _words_in(texts: Iterable[str]) -> set[str]:
    return {word for text in texts for word in _WORD.findall(text)}


def _check_operand(text: str, left: frozenset[str]) -> None:
    """Raise _LeftError if ``#`` or ``##`` would have got what a macro stands for that is left as it is."""
    if not left.isdisjoint(_WORD.findall(text)):
        raise _LeftError
