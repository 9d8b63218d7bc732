"""Which headers the macros of includes and probes spell: ``#include STR(DIR/table.h)``, ``#if HAS(<x.h>)``.

``#if`` is not evaluated: macros are expanded with every definition that the project and the options have, one at a time
for each name, so that the outcome is each name that any compile could see. A macro of the toolkit's or the compiler's
may stand for nothing, or for one word. An include that could lead out of the project is an error, as nobody hashes what
is there; where the outcome is too much to be followed, that is one, too.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from hatch_cuda_kernels import cpp, libraries
from hatch_cuda_kernels.cpp import HEADER_PROBES, Macro, MacroToken
from hatch_cuda_kernels.includes.project import wandering

if TYPE_CHECKING:
    from hatch_cuda_kernels.cpp import Directive
    from hatch_cuda_kernels.includes.texts import SourceText

#: Stands for a word that nobody knows before the compile; a part of a longer word that is made with it.
_WORD: Final = "hatch_cuda_kernels_unknown"
#: A letter of a name that may be a macro's, spelled by its number.
_ESCAPED: Final = re.compile(r"\\[uUN][0-9a-fA-F{]")
_SPELLED: Final = re.compile(r'"([^"\s]++)"|<([^<>\s]++)>|([\w./+-]++)', re.ASCII)
#: More names than one include can become in code that people write.
_MOST: Final = 1024
#: Tokens that are made while one include is expanded in all ways.
_BUDGET: Final = 1_000_000

_TOO_LONG: Final = (
    "{place}: macros make more than {budget:,} tokens of this include on the way to a header's name; name the header "
    "in the include itself"
)
_LEADS_OUT: Final = "{place}: {what} could lead an include out of the project; name the header in the include itself"


class MadeNames(NamedTuple):
    """What macros name in includes and probes."""

    names: frozenset[str] = frozenset()
    """Headers without delimiters, as far as they are known."""
    is_whole: bool = True
    """Whether no other header may be named."""
    spelled: frozenset[str] = frozenset()
    """What looks like a header's name in the macros that have a part in it, where others may be named."""
    problems: tuple[str, ...] = ()


class _Undecided(Exception):  # noqa: N818 - a question
    """A macro's name, and the definitions of which several may hold."""


def named_by_macros(texts: Sequence[SourceText], define: Iterable[Macro]) -> MadeNames:
    """Return what the includes and probes of some texts name by their macros, and by those of the options."""
    defined: dict[str, dict[tuple[object, ...], Macro]] = {}
    for macro in (*define, *(macro for text in texts for macro in text.definitions)):
        defined.setdefault(macro.name, {}).setdefault((macro.parameters, macro.is_variadic, macro.body), macro)
    definitions = {name: (*found.values(),) for name, found in defined.items()}
    by_name = {text.file.name: text for text in texts}
    searches: dict[tuple[object, ...], _Search] = {}
    probing = cpp.leading_to(HEADER_PROBES, (macro for found in definitions.values() for macro in found))
    for text in texts:
        for directive in text.file.directives:
            for operand in _operands(directive, probing):
                search = _Search(operand, text.at(directive.start), directive.is_include, definitions, by_name)
                searches.setdefault((*(token.text for token in operand), directive.is_include), search)
    found = [search.named() for search in searches.values()]
    return MadeNames(
        frozenset().union(*(one.names for one in found)),
        all(one.is_whole for one in found),
        frozenset().union(*(one.spelled for one in found)),
        tuple(dict.fromkeys(problem for one in found for problem in one.problems)),
    )


def _operands(directive: Directive, probing: frozenset[str]) -> Iterator[tuple[MacroToken, ...]]:
    """Yield what of a directive names a header by macros."""
    if directive.is_include and directive.texts and directive.texts[0][0] not in '"<':
        yield _tokens(directive)
    elif directive.word in {"if", "elif"} and not probing.isdisjoint(directive.texts):
        for part in _calls(_tokens(directive)):
            # A probe may spell its header itself, which no macro changes there.
            inside = [token.text for token in part[2:-1]] if part[0].text in HEADER_PROBES else []
            is_quoted = len(inside) == 1 and inside[0].startswith('"')
            is_spelled = is_quoted or (inside[:1], inside[-1:]) == (["<"], [">"])
            if any(token.text in probing for token in part) and not is_spelled:
                yield part


def _tokens(directive: Directive) -> tuple[MacroToken, ...]:
    return tuple(MacroToken(token.text, token.is_spaced) for token in directive.tokens())


def _calls(tokens: Sequence[MacroToken]) -> Iterator[tuple[MacroToken, ...]]:
    """Yield the words of a condition outside the arguments of others, each with its own arguments."""
    at = 0
    while at < len(tokens):
        end = at + 1
        if tokens[at].text == "defined":
            end = at + (4 if tokens[at + 1 : at + 2] and tokens[at + 1].text == "(" else 2)
        elif cpp.is_identifier(tokens[at].text):
            if end < len(tokens) and tokens[end].text == "(":
                end += cpp.length_of_call(tokens[one].text for one in range(end, len(tokens))) or len(tokens)
            yield (*tokens[at:end],)
        at = end


@dataclass
class _Search:
    """Expands one operand in all the ways in which the macros that it comes upon may be defined."""

    _operand: tuple[MacroToken, ...]
    _place: str
    _is_include: bool
    _definitions: Mapping[str, Sequence[Macro]]
    _texts: Mapping[str, SourceText]
    _left: int = field(default_factory=lambda: _BUDGET)

    def named(self) -> MadeNames:
        """Return what the operand may name."""
        names: set[str] = set()
        is_whole = True
        problems: list[str] = []
        waiting: list[dict[str, Macro | None]] = [{}]
        count = 0
        while waiting:
            chosen = waiting.pop()
            count += 1
            try:
                made = self._made(chosen)
            except _Undecided as choice:
                name, options = choice.args
                waiting += ({**chosen, name: option} for option in options)
                continue
            except (cpp.ExpansionError, RecursionError):
                made = None
            if made is None or count > _MOST:
                problem = _TOO_LONG.format(place=self._place, budget=_BUDGET)
                return MadeNames(frozenset(names), is_whole=False, spelled=self._spelled(), problems=(problem,))
            for header in self._headers(made):
                if header is not None and _leads_out(header):
                    problems.append(self._blame(chosen))
                elif header is None or _WORD in header or " " in header:
                    is_whole = False
                else:
                    names.add(header)
        return MadeNames(frozenset(names), is_whole, frozenset() if is_whole else self._spelled(), tuple(problems))

    def _made(self, chosen: Mapping[str, Macro | None]) -> list[MacroToken]:
        """Return what the operand becomes. Raises _Undecided, or ExpansionError."""

        def look_up(name: str) -> Macro | None:
            if name in chosen:
                return chosen[name]
            if name in {"defined", *HEADER_PROBES, _WORD}:
                return None
            options = self._options(name)
            if len(options) > 1:
                raise _Undecided(name, options)
            return options[0]

        self._left -= len(self._operand)
        found = cpp.Expander(look_up, kept={"defined"}, budget=max(self._left, 0)).expand(self._operand)
        self._left -= len(found)
        return found

    def _options(self, name: str) -> Sequence[Macro | None]:
        known = self._definitions.get(name)
        if known:
            return known
        if _WORD in name:  # ## makes a word of one that is not known
            pattern = re.compile(re.escape(name).replace(_WORD, r"\w*"))
            fitting = (found for other, found in self._definitions.items() if pattern.fullmatch(other))
            return [None, *(one for found in fitting for one in found)]
        if libraries.is_toolkit_macro(name):
            return [Macro(name, None, is_variadic=False, body=body) for body in ((), (MacroToken(_WORD),))]
        return [None]

    def _headers(self, made: Sequence[MacroToken]) -> Iterator[str | None]:
        """Yield the names that an operand becomes; None for what is none."""
        if self._is_include:
            yield _header(made)
            return
        at = 0
        while at < len(made):
            first, at = at, at + 1
            if made[first].text in HEADER_PROBES:
                at += cpp.length_of_call(made[one].text for one in range(at, len(made))) or len(made)
                yield _header(made[first + 2 : at - 1])

    def _blame(self, chosen: Mapping[str, Macro | None]) -> str:
        """Say which macro's text begins a path that leads out of the project, or leads up."""
        place, what = self._place, "what macros make of it"
        reached = () if _leads_up_or_on(_text(self._operand)) else self._reached()
        macros = (macro for macro in reached if chosen.get(macro.name, macro) == macro)
        for macro in (one for one in macros if _leads_up_or_on(_text(one.body))):
            text = _text(macro.body)
            if macro.file in self._texts:
                place, what = self._texts[macro.file].at(macro.offset), f"the macro text {text!r}"
            else:
                what = f"a macro names this header, and the option define {macro.name}={text}"
            break
        return _LEADS_OUT.format(place=place, what=what)

    def _reached(self) -> Iterator[Macro]:
        """Yield the macros that may have a part in it, the nearest first."""
        seen: set[str] = set()
        waiting = [token.text for token in self._operand]
        for name in waiting:
            if name not in seen:
                seen.add(name)
                for macro in self._definitions.get(name, ()):
                    yield macro
                    waiting += sorted(macro.words)

    def _spelled(self) -> frozenset[str]:
        found = (name for macro in self._reached() for name in _SPELLED.findall(_text(macro.body)))
        return frozenset(
            literal or angled or bare
            for literal, angled, bare in found
            if literal or angled or posixpath.splitext(bare)[1][:2] in {".h", ".c", ".i"}
        )


def _text(tokens: Iterable[MacroToken]) -> str:
    return "".join(f"{' ' * token.is_spaced}{token.text}" for token in tokens).strip()


def _header(tokens: Sequence[MacroToken]) -> str | None:
    text = _text(tokens)
    inner = text[1:-1]
    if len(tokens) == 1 and inner and text[0] == '"' == text[-1]:
        return inner.replace("\\\\", "\\").replace('\\"', '"')
    return inner if inner and text[0] == "<" and text[-1] == ">" else None


def _leads_out(name: str) -> bool:
    """Return whether a name could do so, whatever blanks it has."""
    is_up = any(part.strip() == ".." for part in name.replace("\\", "/").split("/"))
    return wandering(name.strip()) or is_up or _ESCAPED.search(name) is not None


def _leads_up_or_on(text: str) -> bool:
    return "/" in text or ".." in text or "\\" in text
