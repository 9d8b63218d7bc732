"""The tokens of one reading of a file, each with its place and its macro's use; macros are expanded when asked for."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate, compress, count, product, repeat, takewhile
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from hatch_cuda_kernels.cpp.lexer import CLOSED, CLOSING, Directive, SourceFile, TextError, is_identifier
from hatch_cuda_kernels.cpp.macros import UNKNOWN_VALUE, Expander, ExpansionError, MacroToken, closes_braces, leading_to
from hatch_cuda_kernels.cpp.unit import Inclusion, Item, Run, Visit

if TYPE_CHECKING:
    from hatch_cuda_kernels.cpp.macros import Macro, MacroTable, State

#: What the token of an included file begins with; the number of the inclusion follows.
INCLUSION: Final = "#include "
#: Words that a lambda may follow.
_BEFORE_LAMBDA: Final = frozenset({"return", "co_return", "co_yield", "co_await", "throw", "case", "else", "do"})
#: More tokens than captures have in code that people write.
_MOST_CAPTURED: Final = 4_096
#: More conditions than braces depend on in code that people write.
_MOST_ASSUMED: Final = 4


def closes_captures(texts: Sequence[str], at: int) -> bool:
    """Return whether a token is the ``]`` of a lambda's captures, and of no attribute, array or subscript."""
    depth = 0
    for first in range(at, max(at - _MOST_CAPTURED, -1), -1) if texts[at] == "]" else ():
        depth += (texts[first] == "]") - (texts[first] == "[")
        if depth == 0:
            before = texts[first - 1] if first else ";"
            is_subscript = before in {")", "]", "["} or (before not in _BEFORE_LAMBDA and is_identifier(before))
            return texts[first + 1] != "[" and not is_subscript
    return False


class _Tokens(NamedTuple):
    file: SourceFile
    number: int
    time: int
    tokens: list[str]


class Use(NamedTuple):
    """A use of a macro outside others: its tokens in the stream, and what they become."""

    first: int
    last: int
    texts: tuple[str, ...]
    others: frozenset[str] = frozenset()
    """The identifiers of other definitions that may hold there."""

    def tokens(self) -> list[StreamToken]:
        """Return what it becomes."""
        return [StreamToken(text, self.first, self, nth) for nth, text in enumerate(self.texts)]


class StreamToken(NamedTuple):
    """A token that a parser reads."""

    text: str
    at: int
    """Its index in the stream; of a token of a macro, that of the use's first token."""
    use: Use | None = None
    nth: int = 0
    """Its place among the tokens of the use."""

    @property
    def behind(self) -> int:
        """The index in the stream behind it, or behind the use that it is part of."""
        return self.at + 1 if self.use is None else self.use.last


def brace_macros(macros: MacroTable) -> frozenset[str]:
    """Return the macros that may become a brace, by any of their definitions."""
    known = macros.definitions
    holding = {macro.name for macro in known if any(token.text in {"{", "}"} for token in macro.body)}
    return leading_to(holding, known)


@dataclass(eq=False)
class Stream:
    """What counts of a file, as a list of tokens.

    Where the branches of a group do not come out even, only one of them can be read at a time: ``assumed`` says of
    conditions whether they hold, and the others are assumed to.
    """

    _visit: Visit
    _bracing: frozenset[str]
    assumed: dict[str, bool] = field(default_factory=dict)
    _fragments: Collection[str] = ()

    def __post_init__(self) -> None:
        self.read_at: Callable[[int, Any], Any]
        """Returns the declaration that begins at a token; a parser sets it."""
        self.file = self._visit.file
        self._macros = self._visit.macros.table
        self.known = self._macros.names
        self._telling = self._bracing.union(CLOSING, CLOSED)
        self._places: dict[tuple[str, int], list[int]] = {}
        self._marks: dict[frozenset[str], list[list[StreamToken]]] = {}
        self._even: dict[tuple[str, int], bool] = {}
        self._plain_uses: dict[tuple[str, int], tuple[tuple[str, ...], frozenset[str]]] = {}
        """What macros without parameters become, with the identifiers of others, by their names and times."""
        counting = self.counting(self._visit)
        self._items = [item for item in counting if isinstance(item, Inclusion) or item.tokens]
        self.inclusions = [item for item in self._items if isinstance(item, Inclusion)]
        self._runs = [item for item in self._items if not isinstance(item, Inclusion)]
        starts = accumulate((1 if isinstance(item, Inclusion) else len(item.tokens) for item in self._items), initial=0)
        places = [*zip(self._items, starts, strict=False)]
        self._included_at = [at for item, at in places if isinstance(item, Inclusion)]
        self._starts = [at for item, at in places if not isinstance(item, Inclusion)]

    @cached_property
    def texts(self) -> list[str]:
        """The tokens of all runs; where a file is included, one token with the inclusion's number."""
        found: list[str] = []
        numbers = count()
        for item in self._items:
            found += [f"{INCLUSION}{next(numbers)}"] if isinstance(item, Inclusion) else item.tokens
        return found

    def forget(self) -> None:
        """Let go of lists of tokens that are made again where they are asked for."""
        for name in ("texts", "stops", "names", "_closing"):
            self.__dict__.pop(name, None)
        self._places.clear()

    @classmethod
    def readings(cls, visit: Visit, bracing: frozenset[str], fragments: Collection[str] = ()) -> list[Stream]:
        """Return every way to read a file: one, unless braces depend on conditions of which nothing is known.

        The tokens of ``fragments`` are part of the files that include them. Raises TextError for too many ways.
        """
        first = cls(visit, bracing, {}, fragments)
        found, waiting = [first], [*first.assumed]
        if len(waiting) > _MOST_ASSUMED:
            raise TextError("braces depend on too many conditions", visit.file, 0)
        others = (values for values in product((True, False), repeat=len(waiting)) if not all(values))
        assumed = (dict(zip(waiting, values, strict=True)) for values in others)
        found += (cls(visit, bracing, one, fragments) for one in assumed)
        return found

    def counting(self, visit: Visit, items: Iterable[Item] | None = None) -> Iterator[_Tokens | Inclusion]:
        """Yield what counts: all branches of a group, or the one that is assumed to where they do not come out even."""
        for item in visit.items if items is None else items:
            if isinstance(item, Run):
                yield _Tokens(visit.file, item.number, item.time, visit.file.tokens(item.number))
            elif isinstance(item, Inclusion):
                if item.visit.file.name in self._fragments:
                    yield from self.counting(item.visit)
                else:
                    yield item
            else:
                branches = [[*self.counting(visit, branch)] for branch in item.branches]
                if not all(map(self.is_even, branches)):
                    conditions = (visit.file.directives[at] for at in item.conditions)
                    branches = [*compress(branches, map(self._holds, conditions))][:1]
                yield from (one for branch in branches for one in branch)

    def _holds(self, condition: Directive) -> bool:
        if condition.word == "else":
            return True
        name, holds = condition.tested or ("", True)
        key = f"defined {name}" if name else " ".join(condition.texts)
        return self.assumed.setdefault(key, True) == holds

    def is_even(self, items: Iterable[_Tokens | Inclusion]) -> bool:
        """Return whether brackets that open in what counts close in it, and none others."""
        waiting: list[str] = []
        for item in items:
            if isinstance(item, Inclusion):
                continue
            for text in filter(self._telling.__contains__, item.tokens):
                macro = self._macro_at(text, item.time) if text in self._bracing else None
                for one in (text,) if macro is None else (token.text for token in macro.body):
                    if one in CLOSING:
                        waiting.append(CLOSING[one])
                    elif one in CLOSED and (not waiting or waiting.pop() != one):
                        return False
        return not waiting

    def _run(self, at: int) -> tuple[_Tokens, int]:
        number = bisect_right(self._starts, at) - 1
        return self._runs[number], at - self._starts[number]

    def file_at(self, at: int) -> SourceFile:
        """Return the file that a token stands in."""
        return self._run(at)[0].file

    def place(self, at: int) -> tuple[SourceFile, int, int]:
        """Return the file that a token stands in, and where it begins and ends there."""
        run, index = self._run(at)
        key = run.file.name, run.number
        if key not in self._places:
            self._places[key] = run.file.starts(run.number)
        start = self._places[key][index]
        return run.file, start, run.file.place_behind(start, self.texts[at])

    def spans(self, first: int, last: int) -> Iterator[tuple[SourceFile, int, int, int]]:
        """Yield where the tokens from one to another stand: a file, a run of it, and where they begin and end there."""
        for number in range(bisect_right(self._starts, first) - 1, bisect_right(self._starts, last)):
            run, start = self._runs[number], self._starts[number]
            begin, end = max(first, start), min(last, start + len(run.tokens) - 1)
            yield run.file, run.number, self.place(begin)[1], self.place(end)[2]

    @property
    def runs(self) -> Iterator[tuple[SourceFile, int]]:
        """The files and numbers of all runs; of a file whose tokens are part of others, each time."""
        return ((run.file, run.number) for run in self._runs)

    def time(self, at: int) -> int:
        """Return the time of the macros that hold at a token."""
        return self._run(at)[0].time

    @cached_property
    def stops(self) -> list[int]:
        """The indices of semicolons, of files that are included, of braces, and of macros that may become some."""
        wanted = {";", "{", "}", *self._bracing, *(self.texts[at] for at in self._included_at)}
        return [*compress(range(len(self.texts)), map(wanted.__contains__, self.texts))]

    def stop(self, at: int) -> int:
        """Return the index of the next semicolon, brace or included file; that of a token itself where none follows."""
        number = bisect_left(self.stops, at)
        return self.stops[number] if number < len(self.stops) else at

    def uses(self, at: int, behind: int) -> Iterator[Use]:
        """Yield the uses of macros that begin between two places. Raises TextError for one that is too long."""
        for name in self.names[bisect_left(self.names, at) : bisect_left(self.names, behind)]:
            if name >= at and (use := self.use(name)) is not None:
                at = use.last
                yield use

    @cached_property
    def names(self) -> list[int]:
        """The indices of words that may be macros."""
        return [*compress(range(len(self.texts)), map(self.known.__contains__, self.texts))]

    @cached_property
    def _closing(self) -> dict[int, int]:
        """Where the parenthesis stands that closes one, by its index; none where a file is included between the two."""
        found: dict[int, int] = {}
        waiting: list[int] = []
        wanted = {"(", ")", *(self.texts[at] for at in self._included_at)}
        for at in compress(range(len(self.texts)), map(wanted.__contains__, self.texts)):
            if self.texts[at] == "(":
                waiting.append(at)
            elif self.texts[at] != ")":
                waiting.clear()
            elif waiting:
                found[waiting.pop()] = at
        return found

    def inclusions_between(self, first: int, last: int) -> range:
        """Return the numbers of the inclusions between two tokens."""
        return range(bisect_right(self._included_at, first), bisect_left(self._included_at, last))

    def error(self, message: str, at: int) -> TextError:
        """Return an error about a token."""
        at = min(at, len(self.texts) - 1)
        while at > 0 and self.texts[at].startswith(INCLUSION):
            at -= 1
        if at < 0 or not self._starts or at < self._starts[0]:
            return TextError(message, self.file, 0)
        file, start, _ = self.place(at)
        return TextError(message, file, start)

    def macro(self, at: int) -> Macro | None:
        """Return the macro that a token is; of several that may hold, the longest."""
        return self._macro_at(self.texts[at], self.time(at))

    def use(self, at: int) -> Use | None:
        """Return the use of a macro that begins at a token, if one does. Raises TextError for one that is too long."""
        key = self.texts[at], self.time(at)
        if (known := self._plain_uses.get(key)) is not None:
            return Use(at, at + 1, *known)
        macro, time = self._macro_at(*key), key[1]
        is_called = macro is not None and macro.parameters is not None
        last = self._behind_call(at + 1) if is_called else at + 1
        if macro is None or (is_called and last == at + 1):
            return None
        while True:
            taken = [MacroToken(text, is_spaced=True) for text in self.texts[at:last]]
            try:
                found = self._expanded(taken, time)
            except ExpansionError as error:
                raise self.error(str(error), at) from error
            called = self._macro_at(found[-1].text, time) if found else None
            further = self._behind_call(last) if called is not None and called.parameters is not None else last
            if further == last or found[-1].text in found[-1].hidden:
                made = tuple(one.text for one in found), self._others(macro.name, time)
                if not is_called and called is None:
                    self._plain_uses[key] = made
                return Use(at, last, *made)
            last = further

    def is_sure(self, use: Use) -> bool:
        """Return whether all macros that a use leads to have one definition there."""
        return all(len(found) == 1 for found in self.reached(use.first, use.last).values())

    def reached(self, first: int, last: int) -> dict[str, State]:
        """Return the definitions that may hold of the words of some tokens, and of all that these lead to."""
        return self._macros.reached(self.texts[first:last], self.time(first))

    def behind_even(self, at: int) -> int:
        """Return the index behind a macro that may only become what has both braces or none; its own for another."""
        key = self.texts[at], self.time(at)
        if key not in self._even:
            reached = self._macros.reached(key[:1], key[1]).values()
            known = [one for found in reached for one in found if one is not None]
            ends = {one.body[-1].text for one in known if one.body}
            self._even[key] = ends.isdisjoint(self.known) and all(one.is_even and not one.makes_names for one in known)
        end = self._behind_call(at + 1) if self._even[key] else at
        return end if closes_braces(self.texts[at:end]) else at

    def _others(self, name: str, time: int) -> frozenset[str]:
        """Return the identifiers that other definitions of a macro lead to, if several may hold."""
        if len(self._macros.at(name, time)) == 1:
            return frozenset()
        reached = self._macros.reached([name], time).values()
        return frozenset(word for found in reached for one in found if one is not None for word in one.words)

    def between(self, first: StreamToken, last: StreamToken) -> list[StreamToken]:
        """Return what stands between two tokens, each macro expanded."""
        if first.use is not None and first.use is last.use:
            return first.use.tokens()[first.nth + 1 : last.nth]
        found = [] if first.use is None else first.use.tokens()[first.nth + 1 :]
        found += takewhile(lambda token: token.at < last.at, Cursor(self, first.behind).tokens())
        return found if last.use is None else [*found, *last.use.tokens()[: last.nth]]

    def behind_captures(self, words: frozenset[str]) -> list[list[StreamToken]]:
        """Return those of some words that stand between a lambda's captures and its parameters."""
        if words in self._marks:
            return self._marks[words]
        found, texts = self._marks.setdefault(words, []), self.texts
        for first in compress(range(len(texts)), map(words.__contains__, texts)):
            if first == 0 or not closes_captures(texts, first - 1):
                continue
            last = first
            while last < len(texts) and texts[last] in words:
                last += 1
            if texts[last : last + 1] in (["("], ["{"], ["mutable"], ["->"]):
                found.append([StreamToken(texts[at], at) for at in range(first, last)])
        return found

    def spelled(self, use: Use) -> tuple[MacroToken, ...]:
        """Return what a use becomes, with the blanks that ``#`` sees."""
        taken, behind = [], -1
        for at in range(use.first, use.last):
            _, start, end = self.place(at)
            taken.append(MacroToken(self.texts[at], is_spaced=start != behind))
            behind = end
        return tuple(self._expanded(taken, self.time(use.first)))

    def _expanded(self, tokens: Sequence[MacroToken], time: int) -> list[MacroToken]:
        return Expander(lambda name: self._macro_at(name, time)).expand(tokens)

    def _macro_at(self, name: str, time: int) -> Macro | None:
        """Return the macro that a name is; of several that may hold, the longest. None where a compile decides it."""
        known = [one for one in self._macros.at(name, time) if one is not None]
        if any(one.body == (UNKNOWN_VALUE,) for one in known):
            return None
        return max(known, key=lambda one: len(one.body), default=None)

    def _behind_call(self, at: int) -> int:
        """Return the index behind the parentheses that open at a token; that token's where none do."""
        return self._closing[at] + 1 if at in self._closing else at


class Cursor:
    """Reads a stream token by token, each macro expanded."""

    def __init__(self, stream: Stream, at: int = 0) -> None:
        self.stream: Final = stream
        self.at = at
        self.waiting: Final[list[StreamToken]] = []
        """Tokens that come next, last token first; ``pull`` gets more where there are none."""

    @property
    def place(self) -> int:
        """The index in the stream of the next token; -1 inside what a macro becomes."""
        return self.at if not self.waiting else self.waiting[-1].at if not self.waiting[-1].nth else -1

    def peek(self) -> StreamToken | None:
        """Return the next token; None at the end."""
        return self.waiting[-1] if self.waiting or self.pull() else None

    def take(self) -> StreamToken | None:
        """Return the next token and go on behind it; None at the end."""
        return self.waiting.pop() if self.waiting or self.pull() else None

    def put_back(self, tokens: Sequence[StreamToken]) -> None:
        """Let tokens that were taken come next."""
        self.waiting.extend(reversed(tokens))

    def pull(self) -> bool:
        """Read on until a token waits; return whether one does."""
        texts, stream = self.stream.texts, self.stream
        names = stream.names
        while self.at < len(texts):
            at = self.at
            number = bisect_left(names, at)
            end = min(stream.stop(at) + 1, names[number] if number < len(names) else len(texts))
            if end > at:
                fields = zip(texts[at:end][::-1], range(end - 1, at - 1, -1), repeat(None), repeat(0))
                self.waiting.extend(map(tuple.__new__, repeat(StreamToken), fields))  # a third of StreamToken()'s time
                self.at = end
                return True
            use = stream.use(at)
            if use is None:
                self.waiting.append(StreamToken(texts[at], at))
                self.at += 1
                return True
            self.at = use.last
            if use.texts:
                self.waiting.extend(use.tokens()[::-1])
                return True
        return False

    def skip_braces(self, opening: StreamToken) -> StreamToken:
        """Go on behind the brace that closes one that was taken, and return it. Raises TextError without one."""
        stream, depth = self.stream, 1
        while self.waiting:
            token = self.waiting.pop()
            depth += (token.text == "{") - (token.text == "}")
            if not depth:
                return token
        stops, texts = stream.stops, stream.texts
        number = bisect_left(stops, self.at)
        while number < len(stops):
            at = stops[number]
            text = texts[at]
            if text == "{":
                depth += 1
            elif text == "}":
                depth -= 1
                if not depth:
                    self.at = at + 1
                    return StreamToken("}", at)
            elif is_identifier(text):
                closing = self._skip_use(at, depth)
                if isinstance(closing, StreamToken):
                    return closing
                depth = closing
                number = bisect_left(stops, self.at)
                continue
            number += 1
        raise stream.error("a brace that nothing closes", opening.at)

    def _skip_use(self, at: int, depth: int) -> StreamToken | int:
        """Go on behind a macro that may become a brace; return the depth there, or the brace that closes the last."""
        self.at = self.stream.behind_even(at)
        if self.at > at:
            return depth
        use = self.stream.use(at)
        self.at = at + 1 if use is None else use.last
        for nth, text in enumerate(() if use is None else use.texts):
            depth += (text == "{") - (text == "}")
            if not depth and use is not None:
                self.put_back(use.tokens()[nth + 1 :])
                return StreamToken("}", at, use, nth)
        return depth

    def tokens(self) -> Iterator[StreamToken]:
        """Return what is left."""
        return iter(self.take, None)
