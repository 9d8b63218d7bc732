"""Macros: their definitions, which of them hold at a place, and what a use of one becomes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache
from typing import Final, NamedTuple, TypeAlias

from hatch_cuda_kernels.cpp.lexer import Directive, SourceFile, is_identifier, is_literal, lex_with_places

_NOTHING: Final[frozenset[str]] = frozenset()
_VARIADIC: Final = "__VA_ARGS__"
_OPTIONAL: Final = "__VA_OPT__"
#: More tokens than one use becomes in code that people write.
_BUDGET: Final = 1 << 18


class ExpansionError(Exception):
    """A use of a macro becomes more than anybody writes, or is no use that the language knows."""


class MacroToken(NamedTuple):
    """A token of a macro's text, or of what a use becomes."""

    text: str
    is_spaced: bool = False
    """Whether a blank stands before it."""
    hidden: frozenset[str] = _NOTHING
    """Macros that it can no longer become."""


#: Makes a token, or returns an equal one: few words are most of all texts.
shared_token: Final = lru_cache(maxsize=1 << 14)(MacroToken)
#: The text of a macro that is defined, with a value that nobody knows before the compile.
UNKNOWN_VALUE: Final = MacroToken("<unknown>")
#: What stands for an operand of ``##`` that is empty.
_PLACEMARKER: Final = MacroToken("")


def texts_of(tokens: Iterable[MacroToken]) -> list[str]:
    """Return the texts of tokens; ``>`` and what follows it at once are one, as they are in a shift."""
    found: list[str] = []
    for token in tokens:
        if token.text.startswith(">") and not token.is_spaced and found[-1:] == [">"]:
            found[-1] += token.text
        else:
            found.append(token.text)
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Macro:
    """One definition of a macro; there is one object for each."""

    name: str
    parameters: tuple[str, ...] | None
    """None for a macro without parentheses. The last one stands for the rest if it is variadic."""
    is_variadic: bool
    body: tuple[MacroToken, ...]
    file: str = ""
    """The file that defines it; empty for an option, and for what a compiler defines."""
    offset: int = 0
    words: frozenset[str] = field(init=False)
    """The identifiers of its text."""
    makes_names: bool = field(init=False)
    """Whether ``##`` may make names that it does not have."""
    is_even: bool = field(init=False)
    """Whether each brace of its text has its counterpart there."""

    def __post_init__(self) -> None:
        texts = [token.text for token in self.body]
        rest = self.parameters[-1:] if self.parameters and self.is_variadic else ()
        makes = any(
            text == "##" and not (texts[max(at - 1, 0)] == "," and (*texts[at + 1 : at + 2],) == rest)  # ``, ##rest``
            for at, text in enumerate(texts)
        )
        object.__setattr__(self, "words", frozenset(filter(is_identifier, texts)))
        object.__setattr__(self, "makes_names", makes)
        object.__setattr__(self, "is_even", closes_braces(texts))

    @property
    def made_names(self) -> Iterator[tuple[str, str]]:
        """How each name begins and ends that ``##`` makes; empty where that is an argument's."""
        texts = [token.text for token in self.body]
        for first in (at for at, text in enumerate(texts) if text == "##" != "".join(texts[at - 2 : at - 1])):
            last = first
            while texts[last : last + 1] == ["##"]:
                last += 2
            free = {*(self.parameters or ()), _VARIADIC}
            begin, end = "".join(texts[max(first - 1, 0) : first]), "".join(texts[last - 1 : last])
            yield "" if begin in free else begin, "" if end in free else end


def closes_braces(texts: Iterable[str]) -> bool:
    """Return whether each brace among some tokens has its counterpart there."""
    depth = 0
    for text in texts:
        depth += (text == "{") - (text == "}")
        if depth < 0:
            return False
    return not depth


def parse_definition(directive: Directive, file: SourceFile) -> Macro | None:
    """Return the macro of a ``#define``; None for one that no compiler takes."""
    return _parse(directive.operand, file.name, directive.start)


def parse_define(name: str, value: str | None) -> Macro | None:
    """Return the macro of an option: ``NAME`` or ``NAME(x)``, and its text; None stands for 1."""
    return _parse(f"{name} {'1' if value is None else value}", "", 0)


def parse_defines(options: Iterable[tuple[str, str | None]]) -> dict[str, State]:
    """Return the macros of options by name, each as the only definition."""
    return {one.name: (one,) for name, value in options if (one := parse_define(name, value)) is not None}


@cache
def unknown_macro(name: str, parameters: tuple[str, ...] | None = None) -> Macro:
    """Return a macro that is defined, with a value that nobody knows before the compile."""
    return Macro(name, parameters, False, (UNKNOWN_VALUE,))


@lru_cache(maxsize=1 << 15)
def _parse(text: str, file: str, offset: int) -> Macro | None:
    tokens = lex_with_places(text)
    if not tokens or not is_identifier(tokens[0].text):
        return None
    parameters: list[str] | None = None
    is_variadic, first = False, 1
    if len(tokens) > 1 and tokens[1].text == "(" and not tokens[1].is_spaced:
        close = next((at for at, token in enumerate(tokens) if token.text == ")"), None)
        if close is None:
            return None
        words = [token.text for token in tokens[2:close] if token.text != ","]
        is_variadic = words[-1:] == ["..."]
        if is_variadic:
            words.pop()
            if not words or tokens[close - 2].text == ",":
                words.append(_VARIADIC)
        parameters, first = words, close + 1
    body = tuple(shared_token(token.text, token.is_spaced and at > 0) for at, token in enumerate(tokens[first:]))
    return Macro(tokens[0].text, None if parameters is None else tuple(parameters), is_variadic, body, file, offset)


def leading_to(words: Iterable[str], macros: Iterable[Macro]) -> frozenset[str]:
    """Return the words, and those of some macros that may become one of them."""
    users: dict[str, list[str]] = {}
    for macro in macros:
        for word in macro.words:
            users.setdefault(word, []).append(macro.name)
    found = {*words}
    waiting = [word for word in users if word in found]
    while waiting:
        fresh = {*users.get(waiting.pop(), ())} - found
        found |= fresh
        waiting += fresh
    return frozenset(found)


#: The definitions of a name that may hold; None among them where there may be none.
State: TypeAlias = tuple[Macro | None, ...]


#: A moment in the reading of directives: its time, and how many names had been looked up and changed.
Mark: TypeAlias = tuple[int, int, int]
#: A time, and what a name means from then on.
Change: TypeAlias = tuple[int, str, State]


@dataclass(eq=False)
class MacroChanges:
    """What was looked up after a moment, and what changed from then on; most are never asked again."""

    table: MacroTable
    since: int
    names: Sequence[str]
    changes: Sequence[Change]

    @cached_property
    def asked(self) -> dict[str, State]:
        """What each name that was looked up meant before."""
        return {name: self.table.at(name, self.since) for name in self.names}

    @cached_property
    def left(self) -> dict[str, State]:
        """What each name that was changed means behind it."""
        return {name: found for _, name, found in self.changes}

    @cached_property
    def made(self) -> dict[Macro, None]:
        """The definitions."""
        return dict.fromkeys(one for _, _, found in self.changes for one in found if one and one.file)

    @property
    def changed(self) -> dict[str, State]:
        """The macros that mean something else behind it than before, and what."""
        before = {name: self.table.at(name, self.since) for name in sorted(self.left)}
        return {name: self.left[name] for name, found in before.items() if found != self.left[name]}

    @cached_property
    def words(self) -> frozenset[str]:
        """The words of the definitions."""
        return frozenset().union(*(one.words for one in self.made))


class MacroTable:
    """Which definitions of each macro hold at a time, which grows with each directive that is read.

    Where a condition is unknown, several may hold, and None among them is that there is none. ``predefined`` hold where
    no directive says anything of a name. Nothing is known of other names for which ``is_foreign`` returns True, by
    default of probes such as ``__has_include(<name>)``. ``behind`` are those that a header outside what is read leaves.
    """

    def __init__(
        self,
        predefined: Mapping[str, State] | None = None,
        is_foreign: Callable[[str], bool] = lambda name: "(" in name,
        behind: Mapping[str, Mapping[str, State]] | None = None,
    ) -> None:
        self.time = 0
        self._behind: Final = behind or {}
        self.told_of: Final = frozenset().union(*self._behind.values())
        """Names of which it is known which headers leave them."""
        self._predefined: Final = predefined or {}
        self._first: Final[dict[str, State]] = {}
        """What holds of names of which no directive says anything, as far as that was asked."""
        self._is_foreign: Final = is_foreign
        self._history: Final[dict[str, list[Change]]] = {}
        self._now: Final[dict[str, State]] = {}
        """What holds of each name that was changed or looked up."""
        self._branches: Final[list[dict[str, State]]] = []
        self.names: Final = {*self._predefined}
        """Every name that may be a macro's somewhere."""
        self._made: Final[dict[tuple[frozenset[tuple[str, str]], int], frozenset[str]]] = {}
        self.definitions: Final[dict[Macro, None]] = {}
        """Every definition that was read so far."""
        self._asked: Final[list[str]] = []
        """Each name that was looked up."""
        self._changes: Final[list[Change]] = []

    def standing_for(self, words: Collection[str]) -> frozenset[str]:
        """Return the words, and the macros that some definition makes stand for nothing but these."""
        found = {*words}
        plain = [one for one in self.definitions if one.parameters is None and one.body]
        while fresh := {one.name for one in plain if all(token.text in found for token in one.body)} - found:
            found |= fresh
        return frozenset(found)

    def made(self, ends: frozenset[tuple[str, str]]) -> frozenset[str]:
        """Return the macros whose names begin and end as ``##`` makes some."""
        key = ends, len(self.names)
        if ends and key not in self._made:
            fitting = [name for name in self.names if name.endswith(tuple(last for _, last in ends))]
            made = (one for first, last in ends for one in fitting if one.startswith(first) and one.endswith(last))
            self._made[key] = frozenset(made)
        return self._made.get(key, frozenset())

    def _at_first(self, name: str) -> State:
        found = self._first.get(name)
        if found is None:
            found = self._predefined.get(name, ()) or (() if self._is_foreign(name) else (None,))
            self._first[name] = found
        return found

    def at(self, name: str, time: int) -> State:
        """Return the definitions that may hold at a time."""
        for since, _, found in reversed(self._history.get(name, ())):
            if since <= time:
                return found
        return self._at_first(name)

    def reached(self, words: Iterable[str], time: int) -> dict[str, State]:
        """Return the definitions that may hold at a time of words, and of all words that these lead to."""
        found: dict[str, State] = {}
        waiting = [*words]
        for name in waiting:
            if name not in found and name in self.names:
                found[name] = self.at(name, time)
                for one in found[name]:
                    waiting += () if one is None else one.words
        return found

    def now(self, name: str) -> State:
        """Return the definitions that may hold now."""
        self._asked.append(name)
        found = self._now.get(name)
        if found is None:
            found = self._now[name] = self._at_first(name)
        return found

    def mark(self) -> Mark:
        """Return what ``since`` takes."""
        return self.time, len(self._asked), len(self._changes)

    def since(self, mark: Mark) -> MacroChanges:
        """Return what was looked up since a moment, and what changed since."""
        time, asked, changes = mark
        names = self._asked[asked:] = [*dict.fromkeys(self._asked[asked:])]
        return MacroChanges(self, time, names, self._changes[changes:])

    def answers(self, asked: Mapping[str, State]) -> bool:
        """Return whether names mean now what they did elsewhere."""
        self._now.update({name: self._at_first(name) for name in asked.keys() - self._now.keys()})
        return asked.items() <= self._now.items()

    def repeat(self, found: MacroChanges) -> None:
        """Let what was looked up and changed elsewhere be so here, at one moment."""
        self._asked.extend(found.asked)
        self.definitions.update(found.made)
        for branch in self._branches[-1:]:
            for name in found.left:
                branch.setdefault(name, self.now(name))
        self.time += 1
        changes = [(self.time, name, state) for name, state in found.left.items()]
        self._changes.extend(changes)
        self._now.update(found.left)
        self.names.update(found.left)
        for one in changes:
            self._history.setdefault(one[1], []).append(one)

    def set(self, name: str, found: State) -> None:
        """Say which definitions hold from now on."""
        for branch in self._branches[-1:]:
            branch.setdefault(name, self.now(name))
        self.time += 1
        self._now[name] = found
        self._changes.append((self.time, name, found))
        self.names.add(name)
        self._history.setdefault(name, []).append(self._changes[-1])

    def define(self, macro: Macro) -> None:
        """Let a definition hold from now on."""
        self.definitions[macro] = None
        self.set(macro.name, (macro,))

    def pass_header(self, header: str) -> None:
        """Let hold what a header leaves, where no definition is sure to."""
        for name, found in self._behind.get(header, {}).items():
            before = self.now(name)
            if not before or None in before:
                self.set(name, found)

    def begin_branch(self) -> None:
        """Begin to read what may or may not be compiled."""
        self._branches.append({})

    def end_branch(self) -> dict[str, State]:
        """Return what the branch leaves of each macro that it changed, and undo that."""
        before = self._branches.pop()
        after = {name: self.now(name) for name in before}
        for name, found in before.items():
            for outer in self._branches[-1:]:
                outer.setdefault(name, found)
            self.set(name, found)
        return after

    def merge(self, branches: Sequence[dict[str, State]]) -> None:
        """Let hold what any of some branches leaves or left as it was; nothing is known where one knows nothing."""
        for name in dict.fromkeys(name for branch in branches for name in branch):
            before = self.now(name)
            found = [branch.get(name, before) for branch in branches]
            self.set(name, tuple(dict.fromkeys(one for some in found for one in some)) if all(found) else ())


#: The tokens of a call's arguments, by parameter.
Arguments: TypeAlias = dict[str, list[MacroToken]]


class Expander:
    """Expands macros as the standard says, each token knowing what it can no longer become.

    ``look_up`` returns the macro that a name is at the place in question. One expander is for one use: its budget of
    tokens is that of the use. The names ``kept`` and what is in the parentheses behind them stay as they are.
    """

    def __init__(
        self, look_up: Callable[[str], Macro | None], *, kept: Collection[str] = (), budget: int = _BUDGET
    ) -> None:
        self._look_up: Final = look_up
        self._kept: Final = kept
        self._left = budget

    def expand(self, tokens: Iterable[MacroToken]) -> list[MacroToken]:
        """Return what tokens become. Raises ExpansionError where that is too long."""
        waiting = [*tokens][::-1]
        found: list[MacroToken] = []
        while waiting:
            token = waiting.pop()
            self._spend(1)
            is_free = token.text not in token.hidden and is_identifier(token.text)
            macro = self._look_up(token.text) if is_free else None
            if token.text in self._kept:
                found += [token, *self._call(waiting)]
            elif macro is None:
                found.append(token)
            elif macro.parameters is None:
                waiting += self._replaced(macro, token, {}, token.hidden)[::-1]
            elif waiting and waiting[-1].text == "(":
                call = self._call(waiting)
                arguments = _arguments(macro, call) if call else None
                if arguments is None:
                    found.append(token)
                    waiting += call[::-1]
                else:
                    waiting += self._replaced(macro, token, arguments, token.hidden & call[-1].hidden)[::-1]
            else:
                found.append(token)
        return found

    def _call(self, waiting: list[MacroToken]) -> list[MacroToken]:
        """Take a word, or all from a parenthesis to the one that closes it, off what waits; nothing where none does."""
        count = length_of_call(token.text for token in reversed(waiting))
        self._spend(0 if count else len(waiting))
        found = waiting[len(waiting) - count :][::-1]
        del waiting[len(waiting) - count :]
        return found

    def _spend(self, count: int) -> None:
        self._left -= count
        if self._left < 0:
            raise ExpansionError("this use of a macro becomes more than 262,144 tokens")

    def _replaced(
        self, macro: Macro, use: MacroToken, arguments: Arguments, hidden: frozenset[str]
    ) -> list[MacroToken]:
        found = [token for token in self._substituted(macro, list(macro.body), arguments) if token.text]
        self._spend(len(found))
        hidden = hidden | {macro.name}
        found = [token._replace(hidden=token.hidden | hidden) for token in found]
        if found:
            found[0] = found[0]._replace(is_spaced=use.is_spaced)
        return found

    def _substituted(self, macro: Macro, body: list[MacroToken], arguments: Arguments) -> list[MacroToken]:
        expanded: Arguments = {}
        found: list[MacroToken] = []
        at, is_pasted = 0, False
        while at < len(body):
            token = body[at]
            follows = body[at + 1].text if at + 1 < len(body) else ""
            at += 1
            if token.text == "##" and found + body[at:]:
                is_pasted = True
                continue
            if token.text == "#" and macro.parameters is not None and follows in arguments:
                new = [MacroToken(_quoted(arguments[follows]), token.is_spaced)]
                at += 1
            elif token.text == _OPTIONAL and follows == "(" and macro.is_variadic:
                end = at + (length_of_call(token.text for token in body[at:]) or len(body))
                has_rest = bool(self._whole(macro.parameters[-1] if macro.parameters else "", arguments, expanded))
                new = self._substituted(macro, body[at + 1 : end - 1], arguments) if has_rest else []
                at = end
            elif token.text in arguments:
                is_operand = is_pasted or follows == "##"
                new = arguments[token.text] if is_operand else self._whole(token.text, arguments, expanded)
                new = [new[0]._replace(is_spaced=token.is_spaced), *new[1:]] if new else [_PLACEMARKER] * is_operand
                is_rest = macro.is_variadic and token.text == (macro.parameters or ("",))[-1]
                if is_pasted and is_rest and found and found[-1].text == ",":  # which an empty rest takes with it
                    is_pasted = False
                    found = found[:-1] if new == [_PLACEMARKER] else found
            else:
                new = [token]
            found = _pasted(found, new) if is_pasted else found + new
            is_pasted = False
        return found

    def _whole(self, name: str, arguments: Arguments, expanded: Arguments) -> list[MacroToken]:
        """Return an argument with its own macros expanded, each once."""
        if name not in expanded:
            expanded[name] = self.expand(arguments.get(name, []))
        return expanded[name]


def length_of_call(texts: Iterable[str]) -> int:
    """Return how many tokens are from a first parenthesis to the one that closes it: 0 where none does, 1 of a word."""
    depth = 0
    for count, text in enumerate(texts, 1):
        depth += (text == "(") - (text == ")")
        if not depth:
            return count
    return 0


def _arguments(macro: Macro, call: Sequence[MacroToken]) -> Arguments | None:
    """Return what is between a call's parentheses by parameter; None for a call that no compiler takes."""
    depth, names = 0, macro.parameters or ()
    parts: list[list[MacroToken]] = [[]]
    for token in call[1:-1]:
        depth += (token.text == "(") - (token.text == ")")
        if token.text == "," and not depth and not (macro.is_variadic and len(parts) >= len(names)):
            parts.append([])
        else:
            parts[-1].append(token)
    if len(parts) > len(names) and parts != [[]]:
        return None
    return dict(zip(names, [*parts, *([] for _ in names)], strict=False))


def _pasted(found: list[MacroToken], new: list[MacroToken]) -> list[MacroToken]:
    """Return tokens and more of them, of which the two that meet are made one."""
    if not found or not new:
        return found + new
    last, first = found[-1], new[0]
    if not last.text or not first.text:
        return [*found[:-1], first if first.text else last, *new[1:]]
    made = lex_with_places(last.text + first.text)
    hidden = last.hidden & first.hidden
    joined = [MacroToken(one.text, last.is_spaced if not at else one.is_spaced, hidden) for at, one in enumerate(made)]
    return [*found[:-1], *joined, *new[1:]]


def _quoted(argument: Sequence[MacroToken]) -> str:
    """Return an argument as the string that ``#`` makes of it."""
    pieces = []
    for at, token in enumerate(argument):
        text = token.text.replace("\\", "\\\\").replace('"', '\\"') if is_literal(token.text) else token.text
        pieces.append(f" {text}" if at and token.is_spaced else text)
    return f'"{"".join(pieces)}"'
