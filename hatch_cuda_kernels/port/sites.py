"""Where code, its macros expanded, names templates and launches kernels, with what the names around stand for there."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count, pairwise, takewhile
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias

from hatch_cuda_kernels.cpp import Stream, StreamToken, find_closing, is_identifier, lex, spell, split_at_commas
from hatch_cuda_kernels.libraries import dispatched, words_in
from hatch_cuda_kernels.names import VIRTUAL_ROOT

#: The texts of some tokens.
Spelling: TypeAlias = tuple[str, ...]

_DEEPEST: Final = 6
_LONGEST: Final = 100
_BUILTIN: Final = frozenset({"bool", "char", "double", "float", "int", "long", "short", "signed", "unsigned"})
#: What tells nothing of the type of a value, or only the optimizer something.
_SPECIFIERS: Final = frozenset(
    """
    constexpr extern inline register static thread_local volatile __shared__ typename __restrict__ __restrict restrict
    """.split()  # noqa: SIM905 - a list would take a line a word
)
_POINTERS: Final = frozenset({"*", "&", "&&"})
#: What is no type that a declaration begins with.
_KEYWORDS: Final = frozenset(
    """
    break case continue default delete do else for goto if namespace new operator return sizeof struct switch template
    throw try using while
    """.split()  # noqa: SIM905 - a list would take a line a word
)
_BEHIND_NAME: Final = frozenset(["=", ";", "(", "{", "[", ",", ")", ":"])
_CASTS: Final = frozenset({"static_cast", "reinterpret_cast", "const_cast"})
#: What a constant's value may consist of beside words and need no parentheses.
_PLAIN: Final = frozenset(["::", "<", ">", ",", ".", "*", "&"])


class Owner(NamedTuple):
    """A template around a place: what it is used by, and its parameters."""

    name: str
    parameters: tuple[str, ...]


class Alternatives(NamedTuple):
    """Names that stand for several things in a piece of code: a lambda's ``auto`` parameters, or a dispatched type."""

    parameters: tuple[str, ...]
    bindings: list[dict[str, Spelling]]
    """A parameter stands for a value of its type: ``float{}``."""


class Site(NamedTuple):
    """A place that names a template or launches a kernel, and what that means."""

    path: str
    line: int
    offset: int
    kernel: str
    """As it is spelled, with its qualifiers."""
    template: tuple[str, ...] | None
    """The template arguments as they are spelled; None where none are."""
    configuration: tuple[str, ...] | None
    """Between ``<<<`` and ``>>>``; None where nothing is launched."""
    arguments: tuple[str, ...]
    settled: tuple[Spelling, ...]
    """The template arguments with what constants and aliases of the function stand for."""
    types: tuple[Spelling, ...]
    """Of each argument; empty where it is unknown."""
    around: tuple[Alternatives | Owner, ...]
    """The dispatch macros, lambdas and templates around the place, the innermost first."""
    axes: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    """The names among the template arguments that stand for several types, with these; none where they are unknown."""
    meanings: tuple[tuple[str, ...], ...] = ()
    """What the template arguments stand for, where the templates around the place are used."""
    names: tuple[str, ...] = ()
    """The name expressions of these instances."""

    @property
    def plain(self) -> str:
        """The name without qualifiers."""
        return self.kernel.rpartition("::")[2]


class _Local(NamedTuple):
    """What a declaration in a function says of a name."""

    type: Spelling = ()
    meaning: Spelling = ()
    """Of a constant or an alias."""
    called: Alternatives | None = None
    """Of a generic lambda."""


def words(tokens: Sequence[str]) -> set[str]:
    """Return the identifiers among tokens."""
    return {*filter(is_identifier, tokens)}


def launches(texts: Sequence[str]) -> bool:
    """Return whether a kernel's launch is among tokens: ``<<<`` is lexed as two."""
    return "<<" in texts and ("<<", "<") in pairwise(texts)


def substitute(tokens: Spelling, meanings: Mapping[str, Spelling]) -> Spelling:
    """Return tokens with what identifiers among them stand for; members of something are no such identifiers."""
    found: list[str] = []
    for at, text in enumerate(tokens):
        is_free = text in meanings and not (at and tokens[at - 1] in {".", "->", "::"})
        found += meanings[text] if is_free else (text,)
    return tuple(found)


def value_type(tokens: Sequence[str]) -> Spelling:
    """Return a type without what tells nothing of the type of a value."""
    return tuple(text for text in tokens if text not in _SPECIFIERS)


def _is_type(tokens: Spelling) -> bool:
    at = 0
    while at < len(tokens):
        end = find_closing(tokens, at) if tokens[at] == "<" else at
        if end is None or not (end > at or is_identifier(tokens[at]) or tokens[at] in {"::", *_POINTERS}):
            return False
        at = end + 1
    names = words(tokens)
    return bool(names - {"const"}) and names.isdisjoint(_KEYWORDS) and tokens[0] not in _POINTERS


@dataclass
class Code:
    """Tokens of code, expanded, of which names around tell more."""

    _stream: Stream
    _tokens: Sequence[StreamToken]
    _outer: Mapping[str, Spelling]
    """The types of names that are declared around it."""
    _functions: Collection[str]
    """What these return is not known."""
    _scopes: list[dict[str, _Local]] = field(default_factory=lambda: [{}])
    _open: list[int] = field(default_factory=list)
    """The brackets around what is read."""
    _opening: dict[int, int] = field(default_factory=dict)
    """Where brackets open, by where they close."""
    _around: dict[int, Alternatives] = field(default_factory=dict)
    """Dispatch macros and generic lambdas, by the bracket before what they are around."""

    @cached_property
    def _texts(self) -> list[str]:
        return [token.text for token in self._tokens]

    def _text(self, at: int) -> str:
        return self._texts[at] if 0 <= at < len(self._texts) else ""

    def _is_launch(self, at: int) -> bool:
        return self._text(at) == "<<" and self._text(at + 1) == "<"

    def sites(self, names: Collection[str], owners: tuple[Owner, ...]) -> Iterator[Site]:
        """Yield the launches, and the places that name one of some templates; ``owners`` are around the code."""
        for at, text in enumerate(self._texts):
            if text in {"(", "[", "{"}:
                self._open.append(at)
                if text == "{" and not self._is_enum(at):
                    self._scopes.append({})
            elif text in {")", "]", "}"} and self._open:
                self._opening[at] = self._open.pop()
                if text == "}" and not self._is_enum(self._opening[at]):
                    self._scopes.pop()
            elif self._is_launch(at):
                kernel = at - 1 - (self._text(at - 1) == ")")
                if is_identifier(self._text(kernel)) and self._text(kernel) not in names:
                    yield self._site(kernel, owners)
            elif is_identifier(text):
                self._note(at)
                if text in names and self._text(at - 1) not in {".", "->"}:
                    yield self._site(at, owners)

    def _site(self, at: int, owners: tuple[Owner, ...]) -> Site:
        begin = at
        while self._text(begin - 1) == "::" and is_identifier(self._text(begin - 2)):
            begin -= 2
        template, behind = self._bracketed(at + 1, "<")
        if self._text(behind) == ")" and self._is_launch(behind + 1):
            behind += 1
        configuration, behind = self._configuration(behind)
        arguments, _ = self._bracketed(behind, "(")
        file, offset, _ = self._stream.place(self._tokens[at].at)
        return Site(
            file.name.removeprefix(VIRTUAL_ROOT),
            file.line(offset),
            offset,
            "".join(self._texts[begin : at + 1]),
            None if template is None else tuple(map(spell, template)),
            None if configuration is None else tuple(map(spell, configuration)),
            tuple(map(spell, arguments or ())),
            tuple(map(self._resolve, template or ())),
            tuple(map(self._type_of, arguments or ())),
            (*(self._around[one] for one in reversed(self._open) if one in self._around), *owners),
        )

    def _bracketed(self, at: int, opening: str) -> tuple[tuple[Spelling, ...] | None, int]:
        """Return what commas separate in brackets that open at a token, and where the code goes on; None without."""
        end = find_closing(self._texts, at) if self._text(at) == opening else None
        return (None, at) if end is None else (tuple(split_at_commas(self._texts[at + 1 : end])), end + 1)

    def _configuration(self, at: int) -> tuple[tuple[Spelling, ...] | None, int]:
        """Return what is between ``<<<`` and ``>>>`` at a token, and where the code goes on; None without."""
        end = at + 2
        while self._is_launch(at) and self._text(end) not in {"", ";", ")", "]", "}"}:
            if self._texts[end : end + 4] == [">", ">", ">", "("]:
                return tuple(split_at_commas(self._texts[at + 2 : end])), end + 3
            end = 1 + ((find_closing(self._texts, end) if self._text(end) in {"(", "[", "{"} else None) or end)
        return None, at

    def _note(self, at: int) -> None:
        """Note what a name is declared as, or what the call of a generic lambda or of a macro that dispatches tells."""
        name, before, behind = self._texts[at], self._text(at - 1), self._text(at + 1)
        if behind in _BEHIND_NAME and (before in {",", "{", ">", *_POINTERS} or is_identifier(before)):
            local = self._declaration(at)
            if local is not None:
                self._scopes[-1][name] = local if name not in local.meaning else local._replace(meaning=())
                return
        called = self._local(name).called
        if behind == "(" and called is not None:
            kinds = map(self._type_of, self._bracketed(at + 1, "(")[0] or ())
            pairs = zip(called.parameters, kinds, strict=False)
            called.bindings.append({name: (*kind, "{", "}") for name, kind in pairs if name and kind})
        elif behind == "(":
            before_code = takewhile(lambda text: text not in {"{", "[", ""}, map(self._text, count(at + 2)))
            found = dispatched(name, before_code)
            if found is not None:
                self._around[at + 1] = Alternatives((found[0],), [{found[0]: tuple(lex(one))} for one in found[1]])

    def _local(self, name: str) -> _Local:
        known = (scope[name] for scope in reversed(self._scopes) if name in scope)
        return next(known, None) or _Local(self._outer.get(name, ()))

    def _is_enum(self, opening: int) -> bool:
        return "enum" in self._texts[max(opening - 5, 0) : opening]

    def _declaration(self, at: int) -> _Local | None:
        """Return what a name is declared as at a token; None where it is not, as far as the tokens before tell."""
        if self._text(at - 1) == "using" or (self._open and self._is_enum(self._open[-1])):
            return _Local(meaning=self._value(at + 2)) if self._text(at + 1) == "=" else None
        first = at
        for _ in range(_LONGEST):
            if not first or self._text(first - 1) in {";", "{", "}", ":", "(", "["}:
                break
            first = self._opening.get(first - 1, first - 1)
        else:
            return None
        is_parameter = self._text(first - 1) == "(" and self._text(first - 2) != "for"
        parts = split_at_commas([*self._texts[first:at], ""])
        if is_parameter:
            parts = [() if self._local(self._texts[at]).type else parts[-1]]  # it may be an operand
        *earlier, kind = (tuple(filter(None, part)) for part in parts)
        if earlier:
            base = earlier[0][: earlier[0].index("=")] if "=" in earlier[0] else earlier[0]
            while base[-1:] != () and (len(base) == len(earlier[0]) or base[-1] in _POINTERS):
                base = base[:-1]
            kind = (*base, *kind)
        return _Local(meaning=kind[1:]) if kind[:1] == ("typedef",) else self._variable(at, kind)

    def _variable(self, at: int, specified: Spelling) -> _Local | None:
        kind = value_type(specified)
        if not _is_type(kind):
            return None
        behind, inner = self._text(at + 1), self._bracketed(at + 1, "{")[0]
        value = self._value(at + 2) if behind == "=" else ()
        meaning: Spelling = ()
        is_constexpr = "constexpr" in specified
        if specified[-1] not in _POINTERS and (is_constexpr or "const" in specified):
            if value and value[0] != "{":
                is_plain = all(is_identifier(text) or text[0].isalnum() or text in _PLAIN for text in value)
                meaning = value if is_plain else ("(", *value, ")")
            elif is_constexpr and inner and len(inner) == 1:
                meaning = inner[0]
            elif is_constexpr and (behind == ";" or inner == ()):
                meaning = (*(text for text in kind if text != "const"), "{", "}")
        if "auto" in kind:
            return _Local(self._type_of(value), meaning, self._lambda(at + 2) if value[:1] == ("[",) else None)
        return _Local((*kind, *["*"] * (behind == "[")), meaning)

    def _lambda(self, at: int) -> Alternatives | None:
        """Return the generic parameters of a lambda whose captures begin at a token."""
        parameters, body = self._bracketed(self._bracketed(at, "[")[1], "(")
        names = tuple(part[-1] if "auto" in part and len(part) > 1 else "" for part in parameters or ())
        while self._text(body) not in {"{", ";", "}", ""}:
            body += 1
        return self._around.setdefault(body, Alternatives(names, [])) if any(names) else None

    def _value(self, at: int) -> Spelling:
        first = at
        while self._text(at) not in {";", ",", ")", "]", "}", ""}:
            at = 1 + ((find_closing(self._texts, at) if self._text(at) in {"(", "[", "{", "<"} else None) or at)
        return tuple(self._texts[first:at])

    def _resolve(self, tokens: Spelling) -> Spelling:
        for _ in range(_DEEPEST):
            known = {name: self._local(name).meaning for name in words(tokens)}
            found = substitute(tokens, {name: meaning for name, meaning in known.items() if meaning})
            if found == tokens or len(found) > _LONGEST:
                break
            tokens = found
        return tokens

    def _type_of(self, tokens: Spelling) -> Spelling:
        """Return the type of an expression: of a variable, a cast, an object that is made; empty where unknown."""
        if len(tokens) == 1:
            return self._resolve(self._local(tokens[0]).type)
        if tokens[:1] == ("(",):
            inner = tokens[1 : find_closing(tokens, 0)]
            return self._resolve(inner) if inner[-1:] == ("*",) and _is_type(inner) else ()
        last = len(tokens) - 1
        groups = (at for at, text in enumerate(tokens) if text in {"(", "{"} and find_closing(tokens, at) == last)
        opening = next(groups, 0)
        made = tokens[:opening]
        if not made:
            return ()
        angle = next((at for at, text in enumerate(made) if text == "<" and find_closing(made, at) == opening - 1), 0)
        name = made[angle - 1]
        if angle and name in _CASTS:
            return self._resolve(made[angle + 1 : -1])
        if angle > 1 and name in words_in("torch", "dispatch", "data"):
            return (*self._resolve(made[angle + 1 : -1]), "*")
        is_made = (angle and name not in self._functions) or tokens[opening] == "{" or made[0] in _BUILTIN
        return self._resolve(made) if is_made and _is_type(made) else ()
