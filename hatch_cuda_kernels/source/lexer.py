"""C++ text as NVRTC takes it apart before any macro: lines joined, comments and literals told from code.

What NVRTC does was tried out case by case, also in the groups that ``#if`` skips. A literal without an end stops where
its line does. Only ASCII characters make words. A raw string may have any delimiter of up to 16 characters.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "CHARACTER",
    "COMMENT",
    "NUMBER",
    "SPACE",
    "SPLICE",
    "STRING",
    "Found",
    "Joined",
    "Lexer",
    "UnclearTextError",
    "blank_literals",
    "end_of_line",
    "without_comments",
    "without_literals",
]

# Every repetition is possessive, so that each character is looked at a fixed number of times, whatever the text. Before
# Python 3.11.5, such a repetition stands where its last alternative gave up; hence one that gives up at once.
_LAST: Final = "(?!)"
COMMENT: Final = rf"/(?:/[^\n]*+|\*(?:[^*]++|\*(?!/)|{_LAST})*+(?:\*/)?)"
STRING: Final = rf'"(?:[^"\\\n]++|\\.|{_LAST})*+"?+'
CHARACTER: Final = rf"'(?:[^'\\\n]++|\\.|{_LAST})*+'?+"
NUMBER: Final = rf"\.?+[0-9](?:[eEpP][+-]|'\w|[\w.]|{_LAST})*+"
SPACE: Final = rf"(?:[ \t\v\f\r]++|/\*(?:[^*]++|\*(?!/)|{_LAST})*+\*/|{_LAST})*+"
_REST: Final = rf"(?:[^\n\w/\"'.]++|{{}}\w++|\.|{COMMENT}|/|{STRING}|{CHARACTER}|{_LAST})*+"
_REST_OF_LINE: Final = re.compile(_REST.format(f"{NUMBER}|"), re.ASCII)
#: The same where ``#if`` skips: there, a quote in a number starts a literal.
_REST_OF_SKIPPED_LINE: Final = re.compile(_REST.format(""), re.ASCII)
_NEXT: Final = re.compile(rf"(?:[^\"'/]++|/(?![/*])|{_LAST})*+(?:(?P<comment>{COMMENT})|(?P<quote>[\"'])|\Z)")
SPLICE: Final = re.compile(r"\\\r*\n")

_LITERAL: Final = re.compile(f"{STRING}|{CHARACTER}")
_NOISE: Final = re.compile(f"{STRING}|{CHARACTER}|{COMMENT}")
_PLAIN_OR_NOISE: Final = re.compile(
    rf'((?!(?:u8|[uUL])?R")[A-Za-z_]\w*+|{NUMBER})|(?:u8|[uUL])?R"([^(\n]{{0,16}})\(.*?\)\2"'
    rf"|{COMMENT}|{STRING}|{CHARACTER}",
    re.ASCII | re.DOTALL,
)
_NUMBER: Final = re.compile(NUMBER, re.ASCII)
_RAW: Final = re.compile(r'"([^(\n]{0,16})\(')
_RAW_PREFIXES: Final = frozenset({"R", "LR", "uR", "UR", "u8R"})
#: The characters that may belong to one word or number with the quote after them.
_RUN: Final = frozenset("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_.+-\\")
_UNIVERSAL_NAME: Final = re.compile(r"\\[uU]")
_TOKEN: Final = re.compile(r"\.?[0-9](?:[eEpP][+-]|[\w.])*|\w+|\W", re.ASCII)


class Joined:
    """A text with the lines joined that end in a backslash, and where its characters stand in the original."""

    def __init__(self, original: str) -> None:
        self.original: Final = original
        cuts = [cut.span() for cut in SPLICE.finditer(original)] if "\\" in original else []
        self.text: Final = SPLICE.sub("", original) if cuts else original
        self._starts: Final = [start for start, _ in cuts]
        self._removed: Final = [0, *accumulate(end - start for start, end in cuts)]
        self.settled = 0
        """The end of the last line in which it does not matter whether a quote in a number starts a literal."""
        self._joints: Final = [start - gone for start, gone in zip(self._starts, self._removed, strict=False)]

    def place(self, position: int) -> int:
        """Return where a character of the joined text stands in the original."""
        return position + self._removed[bisect_right(self._joints, position)]

    def position(self, place: int) -> int:
        """Return where a character of the original stands in the joined text."""
        return place - self._removed[bisect_left(self._starts, place)]


class Found(NamedTuple):
    """What a lexer found, by position in the joined text."""

    start: int
    end: int
    is_unclear: bool = False
    """Not what was looked for, but a quote that compilers may read in two ways."""


class UnclearTextError(Exception):
    """Compilers read a text in two ways from a quote on."""

    def __init__(self, quote: int) -> None:
        super().__init__(quote)
        self.quote: Final = quote
        """Where it stands in the joined text."""


class Lexer:
    """Finds in C++ text what one pattern matches outside comments and literals.

    ``starts`` are the characters a match can start with. The pattern has no groups; all of it is ASCII.
    """

    def __init__(self, pattern: str, starts: str) -> None:
        self._found: Final = pattern
        self._starts: Final = starts

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        """The whole pattern, which matches everywhere; not every process that imports it scans a source."""
        pattern, starts = self._found, self._starts
        plain = rf"[^\"'/{starts}]"
        skipped = "|".join(
            (
                f"{plain}++",
                COMMENT,
                "/",
                rf"(?<!R){STRING}",
                rf"(?<![\w.])(?<![eEpP][+-]){CHARACTER}",
                rf"(?!{pattern})[{starts}]",
                _LAST,
            )
        )
        rest = rf"(?:{skipped})*+(?:({pattern})|(?P<quote>[\"'])|\Z)"
        return re.compile(rf"{plain}*+(?:({pattern})|{rest})", re.ASCII)  # most matches are near

    def spans(self, source: Joined, position: int = 0) -> Iterator[tuple[int, int]]:
        """Yield where matches begin and end from a position on, which must not be inside a comment, literal or word.

        Raises UnclearTextError at a quote that compilers may read in two ways.
        """
        while True:
            for match in self._pattern.finditer(source.text, position):
                group = match.lastindex
                if group is None:
                    return
                if match.lastgroup is not None:
                    break
                yield match.span(group)
            position = match.start()
            quote = match.start("quote")
            end = _end_of_literal(source, quote, position)
            if end is None:
                raise UnclearTextError(quote)
            position = end

    def find(self, source: Joined, position: int = 0) -> Found | None:
        """Return the first match from such a position on, or the first quote that is not clear."""
        try:
            span = next(self.spans(source, position), None)
        except UnclearTextError as error:
            return Found(error.quote, error.quote + 1, is_unclear=True)
        return None if span is None else Found(*span)


def _end_of_literal(source: Joined, quote: int, floor: int) -> int | None:
    """Return where a literal ends, or the number that its quote is part of; None where compilers disagree."""
    text, start = source.text, quote
    while start > floor and text[start - 1] in _RUN:
        start -= 1
    if _UNIVERSAL_NAME.search(text, start, quote):
        return None
    before = [token.span() for token in _TOKEN.finditer(text, start, quote)]
    if before and text[quote] == "'" and (number := _NUMBER.match(text, before[-1][0])) and number.end() > quote:
        return number.end() if _is_settled(source, quote, number.end()) else None
    if before and text[quote] == '"' and text[slice(*before[-1])] in _RAW_PREFIXES:
        if before[-1][0] == start > 0 and text[start - 1] in "\"'":  # to some, the prefix is the suffix of that literal
            return None
        return _end_of_raw_string(source, quote)
    literal = _LITERAL.match(text, quote)
    return literal.end() if literal else None


def _is_settled(source: Joined, quote: int, number_end: int) -> bool:
    """Return whether a line goes on alike if the quotes in its numbers start literals, from the first of them on."""
    if quote >= source.settled:
        skipped = _REST_OF_SKIPPED_LINE.match(source.text, quote)
        end = end_of_line(source.text, number_end)
        rest = source.text[quote:end]
        paired = all(number.count("'") % 2 == 0 for number in _NUMBER.findall(f"0{rest}"))
        if skipped and skipped.end() == end and (paired or 'R"' not in rest):
            source.settled = end
    return quote < source.settled


def _end_of_raw_string(source: Joined, quote: int) -> int | None:
    """Return where a raw string ends, in which a backslash joins no lines; None where its delimiter has two."""
    opening = _RAW.match(source.original, source.place(quote))
    if opening is not None:
        end = source.original.find(f'){opening[1]}"', opening.end())
        return len(source.text) if end < 0 else source.position(end + len(opening[1]) + 2)
    literal = _LITERAL.match(source.text, quote)
    return None if literal is None or _RAW.match(source.text, quote) else literal.end()


def end_of_line(text: str, start: int) -> int:
    """Return where the line of a directive ends whose last word ends at ``start``; a comment may join two lines."""
    line = _REST_OF_LINE.match(text, start)
    return line.end() if line else start


def without_comments(text: str) -> str:
    """Return a text with a blank for each comment."""
    return _NOISE.sub(lambda found: " " if found[0].startswith("/") else found[0], text) if "/" in text else text


def without_literals(text: str, stand_in: str = " ") -> str:
    """Return a short text with its lines joined, with a stand-in for each comment and literal."""
    if not any(mark in text for mark in "\"'/"):
        return text
    return _PLAIN_OR_NOISE.sub(lambda found: found[1] or stand_in, text)


def blank_literals(text: str) -> str:
    """Return a text with a blank for each comment and 0 for each literal, for a parser that needs neither."""
    source = Joined(text)
    pieces: list[str] = []
    position = 0
    while (match := _NEXT.match(source.text, position)) and match.lastgroup:
        start, end = match.span(match.lastgroup)
        if match.lastgroup == "quote":
            end = _end_of_literal(source, start, position) or end
        pieces += source.text[position:start], "0" if match.lastgroup == "quote" else " "
        position = end
    return "".join((*pieces, source.text[position:]))
