"""Template arguments and types as sequences of tokens: taken apart, matched and put in each other's place."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final, TypeAlias

from hatch_cuda_kernels.cpp import MacroToken, is_identifier, lex_with_places

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

__all__ = ["Spelling", "closing", "deduce", "launches", "replaced", "spelled", "split", "tight", "words", "written"]

#: Some tokens, each with whether a blank stands before it.
Spelling: TypeAlias = tuple[MacroToken, ...]

_PAIRS: Final = {"(": ")", "[": "]", "{": "}"}
#: What the type of a value has no part in.
_ORNAMENTS: Final = frozenset(
    {"const", "volatile", "&", "__restrict__", "__restrict", "restrict", "struct", "typename"}
)
#: Steps of one match; more are none that people write.
_MOST_STEPS: Final = 2000


def spelled(text: str) -> Spelling:
    """Return the tokens of a text."""
    return tuple(MacroToken(one.text, one.is_spaced) for one in lex_with_places(text))


def written(tokens: Iterable[MacroToken]) -> str:
    """Return tokens as text, with a blank where one stands between them."""
    pieces: list[str] = []
    for token in tokens:
        needs_blank = bool(pieces) and _is_wordy(pieces[-1][-1]) and _is_wordy(token.text[0])
        pieces.append(f" {token.text}" if pieces and (token.is_spaced or needs_blank) else token.text)
    return "".join(pieces)


def tight(tokens: Iterable[MacroToken]) -> Spelling:
    """Return a type's tokens with blanks only between words and behind commas, as people write it."""
    found: list[MacroToken] = []
    for token in tokens:
        last = found[-1].text if found else ""
        needs = last == "," or (_is_wordy(token.text[0]) and (last in {"*", "&", ">"} or _is_wordy(last[-1:])))
        found.append(token._replace(is_spaced=needs))
    return tuple(found)


def _is_wordy(character: str) -> bool:
    return character.isalnum() or character in "_$" if character else False


def words(tokens: Iterable[MacroToken]) -> set[str]:
    """Return the identifiers among tokens."""
    return {token.text for token in tokens if is_identifier(token.text)}


def launches(texts: Sequence[str]) -> bool:
    """Return whether a kernel's launch is among tokens: ``<<<`` is lexed as two."""
    return "<<" in texts and ("<<", "<") in pairwise(texts)


def replaced(tokens: Spelling, meanings: Mapping[str, Spelling]) -> Spelling:
    """Return tokens with what identifiers among them stand for; members of something are no such identifiers."""
    if not any(token.text in meanings for token in tokens):
        return tokens
    found: list[MacroToken] = []
    for token in tokens:
        meaning = meanings.get(token.text)
        if meaning is None or (found and found[-1].text in {".", "->", "::"}):
            found.append(token)
        elif meaning:
            found += [meaning[0]._replace(is_spaced=token.is_spaced), *meaning[1:]]
    return tuple(found)


def closing(tokens: Sequence[MacroToken], opening: int, *, is_angle: bool = False) -> int | None:
    """Return where the bracket is that closes the one at ``opening``; None where none does.

    Angle brackets count with ``is_angle``; no statement ends inside them.
    """
    waiting = [">" if is_angle else _PAIRS[tokens[opening].text]]
    for at in range(opening + 1, len(tokens)):
        text = tokens[at].text
        if text in _PAIRS:
            waiting.append(_PAIRS[text])
        elif text in {")", "]", "}"}:
            if waiting.pop() != text:
                return None
        elif is_angle and waiting[-1] == ">":
            if text == "<":
                waiting.append(">")
            elif text == ">":
                waiting.pop()
            elif text == ";":
                return None
        if not waiting:
            return at
    return None


def split(tokens: Sequence[MacroToken]) -> list[Spelling]:
    """Return what commas separate outside brackets of all kinds; nothing of no tokens."""
    if not tokens:
        return []
    found: list[list[MacroToken]] = [[]]
    depth = angles = 0
    for at, token in enumerate(tokens):
        text = token.text
        depth += (text in _PAIRS) - (text in {")", "]", "}"})
        if not depth:
            if text == "<" and closing(tokens, at, is_angle=True) is not None:
                angles += 1
            elif text == ">" and angles:
                angles -= 1
        if text == "," and not depth and not angles:
            found.append([])
        else:
            found[-1].append(token if found[-1] else token._replace(is_spaced=False))
    return [tuple(part) for part in found]


def deduce(pattern: Spelling, given: Spelling, parameters: Collection[str]) -> dict[str, Spelling]:
    """Return what template parameters stand for where a type is given for a pattern; empty where that is unclear.

    Types may be in whichever namespaces their names are.
    """
    if words(pattern).isdisjoint(parameters):
        return {}
    wanted = [token.text for token in _bare(pattern, is_const=False)]
    wanted = [text for at, text in enumerate(wanted) if text != "::" and wanted[at + 1 : at + 2] != ["::"]]
    found = _bare(given, is_const=all(token.text != "const" for token in pattern))
    matcher = _Matcher(wanted, found, frozenset(parameters))
    bound = matcher.match(0, 0, {})
    return {} if bound is None else {name: tight(tokens) for name, tokens in bound.items()}


def _bare(tokens: Spelling, *, is_const: bool) -> list[MacroToken]:
    """Return a type without what its value has no part in. With ``is_const``, what a pointer points to stays const."""
    kept: list[MacroToken] = []
    outer: list[str] = []
    depth = 0
    for token in tokens:
        depth += token.text == "<"
        if not depth:
            outer.append(token.text)
        if depth or token.text not in _ORNAMENTS:
            kept.append(token)
        depth -= token.text == ">"
    points_to_const = "*" in outer and "const" in outer[: outer.index("*")]
    return [MacroToken("const"), *kept] if is_const and points_to_const else kept


class _Matcher:
    """Matches a pattern of tokens with a type's; a parameter stands for what is balanced."""

    def __init__(self, wanted: list[str], given: list[MacroToken], parameters: frozenset[str]) -> None:
        self._wanted: Final = wanted
        self._given: Final = given
        self._parameters: Final = parameters
        self._left = _MOST_STEPS

    def match(self, first: int, at: int, bound: dict[str, Spelling]) -> dict[str, Spelling] | None:
        self._left -= 1
        if first == len(self._wanted):
            return bound if at == len(self._given) else None
        if self._left < 0 or at >= len(self._given):
            return None
        name = self._wanted[first]
        if name not in self._parameters:
            while self._given[at].text != name:
                if not is_identifier(self._given[at].text) or self._text(at + 1) != "::" or at + 2 >= len(self._given):
                    return None
                at += 2
            return self.match(first + 1, at + 1, bound)
        for end in reversed([*self._ends(at)]):
            part = tuple(self._given[at:end])
            known = bound.get(name)
            if known is not None and [one.text for one in known] != [one.text for one in part]:
                continue
            found = self.match(first + 1, end, {**bound, name: part})
            if found is not None:
                return found
        return None

    def _text(self, at: int) -> str:
        return self._given[at].text if at < len(self._given) else ""

    def _ends(self, at: int) -> Iterator[int]:
        """Yield where a balanced part may end that begins at a token."""
        depth = 0
        for end in range(at, len(self._given)):
            text = self._given[end].text
            depth += (text in {"<", "("}) - (text in {">", ")"})
            if depth < 0 or (text == "," and not depth):
                return
            if not depth:
                yield end + 1
