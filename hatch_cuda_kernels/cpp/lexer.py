"""One text taken apart once: directives, and the tokens of the runs between them, by offsets in the original.

Comments, literals and lines joined by a backslash are told apart here and nowhere else. What C++ leaves to the compiler
was tried with NVRTC: only ASCII letters make identifiers, and a literal without an end stops where its line does.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Hashable, Iterator, Sequence
from functools import cache, cached_property, lru_cache
from itertools import accumulate, chain, islice, pairwise, zip_longest
from sys import intern
from typing import Any, Final, NamedTuple

# Every repetition is possessive, so that reading takes a time linear in the text, whatever the text. Before Python
# 3.11.5, such a repetition stands where its last alternative gave up; hence one that gives up at once.
_END: Final = "(?!)"
_BLANKS: Final = r"[ \t\v\f\r]++"
_BLOCK_COMMENT: Final = rf"/\*(?:[^*]++|\*(?!/)|{_END})*+(?:\*/)?+"
_COMMENT: Final = rf"//[^\n]*+|{_BLOCK_COMMENT}"
_STRING: Final = rf'"(?:[^"\\\n]++|\\.|{_END})*+"?+'
_CHARACTER: Final = rf"'(?:[^'\\\n]++|\\.|{_END})*+'?+"
_NUMBER: Final = rf"\.?+[0-9](?:[eEpP][+-]|'\w|[\w.]|{_END})*+"
_ENCODING: Final = "(?:u8|[uUL])"
#: One without an end goes on to the end of the text.
_RAW: Final = rf'{_ENCODING}?+R"(?P<{{0}}>[^()\\\n"]{{{{0,16}}}}+)\((?:(?s:.*?)\)(?P={{0}})"|(?P<open_{{0}}>(?s:.*)))'
_IDENTIFIER: Final = rf"(?!{_ENCODING}?+R\"|{_ENCODING}[\"'])[A-Za-z_$][\w$]*+"
_OPERATOR: Final = (
    r"::|->\*?+|\.\.\.|\.\*|<=>|<<=?+|>=|[=!<+\-*/%&|^]=|\+\+|--|&&|\|\||\#\#|%:%:|%:|<%|%>|<:(?!:(?![:>]))|:>"
)
_HASH: Final = r"(?:\#|%:|\?\?=)"
#: Between a newline and the ``#`` of a directive: a comment that begins a line may end on another one.
_LEAD: Final = rf"(?:{_BLANKS}|{_BLOCK_COMMENT}|{_END})*+"
_LINE: Final = (
    rf"(?:[^\n\w/\"'.$]++|{_RAW.format('in_line')}|{_IDENTIFIER}|{{number}}|{_ENCODING}|R|\.|{_COMMENT}|/|{{string}}"
    rf"|{_CHARACTER}|{_END})*+"
)
_GAP: Final = rf"(?:[ \t\v\f\r\n]++|{_COMMENT}|{_END})*+"

_TOKEN: Final = (
    f"[;,(){{}}]|{_IDENTIFIER}|{_NUMBER}|{_ENCODING}?+{_STRING}|{_ENCODING}?+{_CHARACTER}|{_OPERATOR}|(?s:.)"
)
# What matches at the end, too, is not looked for at each place after a failure.
_TOKENS: Final = re.compile(rf"{_GAP}(?:({_TOKEN})|\Z)", re.ASCII)
#: The same, comments as empty tokens, which is faster.
_TOKENS_ALONE: Final = re.compile(rf"[ \t\v\f\r\n]*+(?:{_COMMENT}|({_TOKEN})|\Z)", re.ASCII)
_TOKENS_AND_RAW: Final = re.compile(rf"{_GAP}(?:({_RAW.format('d')}|{_TOKEN})|\Z)", re.ASCII)
_BETWEEN: Final = (
    rf"(?:[^\w$\n\"'/.]++|{_RAW.format('d')}|{_IDENTIFIER}|{{number}}|{_ENCODING}|R|{{string}}|{_CHARACTER}|{_COMMENT}"
    rf"|[/.]|\n(?!{_LEAD}{_HASH})|{_END})*+"
)
#: A line with a directive and all before it; and how others read texts that have what is looked for first: where a
#: group is off, a quote in a number is none, a number goes on with the code of a letter, and R may end a literal.
_OTHERWISE: Final = {
    r"'(?<=\w')": {"number": r"\.?+[0-9](?:[eEpP][+-]|[\w.]|(?!))*+"},
    r"\\[uU]\w*+'": {"number": _NUMBER.replace(r"[\w.]", r"\\[uU]|[\w.]")},
    rf"[\"']{_ENCODING}?+R\"": {"string": rf"(?:{_STRING}|{_CHARACTER})(?:[A-Za-z_]\w*+)?+"},
}
#: Before a quote that may be a number's; most are in comments, in words such as don't.
_NUMBER_BEFORE: Final = re.compile(r"[0-9.+-]\w*+\Z", re.ASCII)
#: The name of a raw string that a backslash splits.
_SPLIT_RAW: Final = re.compile(r'R"[^()"\n\\]*+\\\r*+\n')
#: What may begin a literal that goes over lines.
_MAY_BE_RAW: Final = re.compile(rf'(?<!\w){_ENCODING}?+R"', re.ASCII)
#: Where these stand before it on its line, ``/*`` may begin no comment.
_MAY_HIDE: Final = re.compile(r"[\"']|//")
#: From where no comment or literal is open, as far as the line or the next block comment.
_TO_COMMENT: Final = re.compile(
    rf"(?:[^\n\w/\"'.$]++|{_IDENTIFIER}|{_NUMBER}|{_ENCODING}|R|\.|//[^\n]*+|/(?!\*)|{_STRING}|{_CHARACTER}|{_END})*+",
    re.ASCII,
)
#: A directive in a text whose comments are blank.
_PLAIN_DIRECTIVE: Final = re.compile(
    rf"\n(?:{_BLANKS})?+(?P<hash>\#)(?:{_BLANKS})?+(?P<word>(?:[A-Za-z_]\w*+)?+)[^\n]*+", re.ASCII
)


def _without_comments(text: str) -> str:
    """Return a text without raw strings in which blanks stand for its block comments, newlines in them included."""
    parts: list[str] = []
    done = at = 0
    while (start := text.find("/*", at)) >= 0:
        line = max(at, text.rfind("\n", at, start) + 1)
        if _MAY_HIDE.search(text, line, start + 1) is not None:
            found = _TO_COMMENT.match(text, line)
            start = found.end() if found is not None else start
            if not text.startswith("/*", start):
                at = start + 1
                continue
        end = text.find("*/", start + 2)
        at = len(text) if end < 0 else end + 2
        parts += text[done:start], " " * (at - start)
        done = at
    return "".join((*parts, text[done:]))


@cache
def _directives(number: str = _NUMBER, string: str = _STRING) -> re.Pattern[str]:
    between, line = (part.replace("{number}", number).replace("{string}", string) for part in (_BETWEEN, _LINE))
    directive = rf"\n{_LEAD}(?P<hash>{_HASH}{_LEAD})(?P<word>(?:[A-Za-z_]\w*+)?+)(?P<operand>{line})"
    return re.compile(rf"{between}(?:{directive}|\Z)", re.ASCII)


_SPLICE: Final = re.compile(r"\\\r*+\n")
#: A raw string, or what else a quote may stand in, in a text whose lines are not joined.
_JOINT: Final = r"\\\r*+\n"
_ESCAPE: Final = rf"\\(?:{_JOINT}|{_END})*+."
_RAW_OR_NOT: Final = re.compile(
    rf"(?P<raw>{_RAW.format('d')})|[A-Za-z_$](?:[\w$]|{_JOINT}|{_END})*+|\.?+[0-9](?:'\w|[\w.]|{_JOINT}|{_END})*+"
    rf"|//(?:[^\n\\]++|{_JOINT}|\\|{_END})*+|{_BLOCK_COMMENT}"
    rf"|\"(?:[^\"\\\n]++|{_JOINT}|{_ESCAPE}|{_END})*+\"?+|'(?:[^'\\\n]++|{_JOINT}|{_ESCAPE}|{_END})*+'?+|(?s:.)",
    re.ASCII,
)
_DIGRAPHS: Final = {"<%": "{", "%>": "}", "<:": "[", ":>": "]", "%:": "#", "%:%:": "##"}
#: What closes each bracket.
CLOSING: Final = {"(": ")", "[": "]", "{": "}"}
CLOSED: Final = frozenset(CLOSING.values())
_PAIRS: Final = {**CLOSING, "<": ">"}
_OPERATORS: Final = frozenset(["+", "-", "*", "/", "%", "&", "|", "^", "&&", "||", "==", "!=", "<=", ">=", "?", ":"])
_GROUP_BEGINS: Final = frozenset({"if", "ifdef", "ifndef"})
_GROUP_GOES_ON: Final = frozenset({"elif", "elifdef", "elifndef", "else", "endif"})


@lru_cache(maxsize=1 << 16)
def is_identifier(token: str) -> bool:
    """Return whether a token, perhaps an empty one, is an identifier or a keyword."""
    return bool(token) and (token[0].isalpha() or token[0] in "_$") and token[-1] not in "\"'" and token.isascii()


def is_number(token: str) -> bool:
    """Return whether a token is a number, as the preprocessor knows numbers."""
    return token[0].isdigit() or (token[0] == "." and token[1:2].isdigit())


def is_literal(token: str) -> bool:
    """Return whether a token is a string or a character, perhaps one without an end."""
    return token[0] in "\"'" or (token[0] in "uULR" and ('"' in token or "'" in token))


class Token(NamedTuple):
    """A token with its place in the text it was read from."""

    text: str
    start: int
    is_spaced: bool
    """Whether a blank or a comment stands before it."""


def _splices(text: str) -> list[tuple[int, int]]:
    """Return where lines are joined; those of a raw string stay as they are."""
    cuts = [cut.span() for cut in _SPLICE.finditer(text)]
    if not cuts or 'R"' not in text:
        return cuts
    raw = [found.span() for found in _RAW_OR_NOT.finditer(text) if found["raw"] is not None]
    starts = [start for start, _ in raw]
    return [cut for cut in cuts if not (at := bisect_right(starts, cut[0])) or cut[0] >= raw[at - 1][1]]


def lex(text: str) -> list[str]:
    """Return the tokens of a text without directives, whose lines are joined."""
    return [*chain.from_iterable(map(_line, [text] if "/*" in text or 'R"' in text else text.split("\n")))]


def _lexed(text: str) -> tuple[str, ...]:
    if 'R"' in text:
        found = [match[1] for match in _TOKENS_AND_RAW.finditer(text) if match[1]]
    else:
        found = [*map(intern, filter(None, _TOKENS_ALONE.findall(text)))]  # most of a text is a few words
    return tuple(found if _DIGRAPHS.keys().isdisjoint(found) else [_DIGRAPHS.get(token, token) for token in found])


#: Most lines are as others near them; directives are asked again for each source.
_line: Final = lru_cache(maxsize=1 << 11)(_lexed)
_operand: Final = lru_cache(maxsize=1 << 15)(_lexed)


def lex_with_places(text: str) -> list[Token]:
    """Return the same with the places of the tokens."""
    pattern = _TOKENS_AND_RAW if 'R"' in text else _TOKENS
    return [
        Token(_DIGRAPHS.get(found[1], found[1]), found.start(1), found.start() < found.start(1))
        for found in pattern.finditer(text)
        if found[1]
    ]


class Directive(NamedTuple):
    """A directive. Offsets are in the original text."""

    word: str
    """Empty where the ``#`` stands alone, or before what is no word."""
    operand: str
    """What follows the word on its line, in the joined text, with comments."""
    start: int
    """Where the ``#`` stands."""
    end: int
    """Where its line ends."""
    joined_start: int
    """Where the ``#`` stands in the joined text."""
    joined_end: int
    """Where its line ends there."""

    @property
    def is_conditional(self) -> bool:
        """Whether it begins, goes on with or ends a conditional group."""
        return self.word in _GROUP_BEGINS or self.word in _GROUP_GOES_ON

    @property
    def is_include(self) -> bool:
        """Whether it includes a file."""
        return self.word in {"include", "include_next", "import"}

    @property
    def header(self) -> str:
        """The name that an include spells; empty where a macro does."""
        operand = self.operand.strip()
        return operand[1:].partition('"' if operand[0] == '"' else ">")[0] if operand[:1] in {'"', "<"} else ""

    @property
    def tested(self) -> tuple[str, bool] | None:
        """The name that a condition asks for alone, and whether it holds where there is such a macro."""
        texts = self.texts
        if self.word.endswith("def"):
            return (texts[0], not self.word.endswith("ndef")) if texts else None
        is_defined = texts[:1] != ("!",)
        first, *operand = texts[not is_defined :] or ("",)
        name = operand[1:2] if operand[:1] == ["("] and operand[2:] == [")"] else operand
        return (name[0], is_defined) if first == "defined" and len(name) == 1 else None

    @property
    def texts(self) -> tuple[str, ...]:
        """The tokens of the operand."""
        return _operand(self.operand)

    def tokens(self) -> list[Token]:
        """Return the tokens of the operand, with their places in the joined text."""
        base = self.joined_end - len(self.operand)
        return [Token(text, base + start, is_spaced) for text, start, is_spaced in lex_with_places(self.operand)]


class SourceFile:
    """A text under a name. Offsets are in the original text, unless they are said to be in the joined one."""

    def __init__(self, name: str, text: str) -> None:
        self.name: Final = name
        self.text: Final = text
        cuts = _splices(text) if "\\" in text else []
        pairs = pairwise([0, *(at for cut in cuts for at in cut), len(text)])
        self.joined: Final = "".join(text[start:end] for start, end in islice(pairs, 0, None, 2))
        """The text with the lines joined that end in a backslash."""
        self._removed: Final = [0, *accumulate(end - start for start, end in cuts)]
        self.memory: Final[dict[Hashable, Any]] = {}
        """What readers of the text remember of it, each under a key of its own."""
        self._tokens: Final[dict[int, list[str]]] = {}
        self._starts: Final = [start for start, _ in cuts]
        self._joints: Final = [start - gone for (start, _), gone in zip(cuts, self._removed, strict=False)]

    def place(self, position: int) -> int:
        """Return the offset of a character of the joined text."""
        return position + self._removed[bisect_right(self._joints, position)] if self._joints else position

    def place_behind(self, place: int, token: str) -> int:
        """Return the offset behind a token of the joined text that begins at an offset."""
        if not self._joints:
            return place + self._length(place, token)
        start = bisect_right(self._starts, place)
        position = place - self._removed[start]
        return self.place(position + self._length(position, token) - 1) + 1

    def _length(self, position: int, token: str) -> int:
        return len(token) if self.joined.startswith(token, position) else len(token) * 2  # it is a digraph

    @cached_property
    def _line_starts(self) -> list[int]:
        return [0, *(found.end() for found in re.finditer("\n", self.text))]

    def line(self, offset: int) -> int:
        """Return the line, from 1, of an offset."""
        return bisect_right(self._line_starts, offset)

    def column(self, offset: int) -> int:
        """Return the column, from 0, of an offset."""
        return offset - self._line_starts[self.line(offset) - 1]

    def at(self, offset: int) -> str:
        """Return ``name:line``."""
        return f"{self.name}:{self.line(offset)}"

    @cached_property
    def directives(self) -> tuple[Directive, ...]:
        """The directives in order, those in groups that are off among them."""
        text = f"\n{self.joined}"
        is_spelled = any(one[0] in text and one in text for one in ("%:", "??="))  # a character is found much faster
        if is_spelled or ('R"' in text and _MAY_BE_RAW.search(text) is not None):
            lines = self._lines_with_directives(_directives())
        else:  # most texts are as simple
            lines = _PLAIN_DIRECTIVE.finditer(_without_comments(text))
        found = []
        for line in lines:
            start, end = line.start("hash"), line.end()
            word, operand = line.span("word")
            span = (self.place(start - 1), self.place(end - 2) + 1) if self._joints else (start - 1, end - 1)
            fields = intern(text[word:operand]), text[operand:end], *span, start - 1, end - 1
            found.append(tuple.__new__(Directive, fields))  # there are many, and it takes a third of the time
        return tuple(found)

    def _lines_with_directives(self, pattern: re.Pattern[str]) -> Iterator[re.Match[str]]:
        for match in pattern.finditer(f"\n{self.joined}"):
            if match["hash"] is None:
                break
            yield match

    @cached_property
    def unclear(self) -> int | None:
        """The offset of a quote from which on compilers find other directives than others do; None without one."""
        if "'" in self.joined or 'R"' in self.joined:
            for asked, parts in _OTHERWISE.items():
                quotes = [found.end() - 1 for found in re.finditer(asked, self.joined, re.ASCII)]
                if "number" in parts:
                    quotes = [one for one in quotes if _NUMBER_BEFORE.search(self.joined, max(one - 64, 0), one)]
                end = self._differs(_directives(**parts)) if quotes else None
                if end is not None:
                    return self.place(max((quote for quote in quotes if quote < end), default=quotes[0]))
        if 'R"' in self.text:
            split = _SPLIT_RAW.search(self.text)
            raw = (one for one in _TOKENS_AND_RAW.finditer(self.joined) if one["open_d"] is not None)
            return split.start() if split else next((self.place(one.start(1)) for one in raw), None)
        return None

    def _differs(self, pattern: re.Pattern[str]) -> int | None:
        """Return where, in the joined text, the first directive ends that is none in another reading, or another."""
        others = [(one["word"], one.start("hash") - 1, one.end() - 1) for one in self._lines_with_directives(pattern)]
        ours = [(one.word, one.joined_start, one.joined_end) for one in self.directives]
        for one, other in zip_longest(ours, others):
            if one != other:
                return max(found[2] for found in (one, other) if found is not None)
        return None

    @cached_property
    def _runs(self) -> list[tuple[int, int]]:
        """Where, in the joined text, each run between directives begins and ends; there is one more than directives."""
        starts = [0, *(one.joined_end for one in self.directives)]
        return [*zip(starts, [*(one.joined_start for one in self.directives), len(self.joined)], strict=True)]

    def run_at(self, offset: int) -> int:
        """Return the run that an offset is in."""
        return bisect_right(self.directives, offset, key=lambda one: one.start)

    def directive_at(self, offset: int) -> Directive:
        """Return the directive that begins at an offset."""
        return self.directives[self.run_at(offset) - 1]

    def tokens(self, run: int) -> list[str]:
        """Return the tokens of a run, the one before the directive of that index."""
        if run not in self._tokens:
            start, end = self._runs[run]
            self._tokens[run] = lex(self.joined[start:end])
        return self._tokens[run]

    def starts(self, run: int) -> list[int]:
        """Return where each token of a run begins."""
        start, end = self._runs[run]
        return [self.place(start + token.start) for token in lex_with_places(self.joined[start:end])]

    @cached_property
    def groups(self) -> dict[int, int]:
        """The index of the next directive of each conditional's group, but for ``#endif``. Raises TextError."""
        following: dict[int, int] = {}
        waiting: list[int] = []
        for at, directive in enumerate(self.directives):
            if directive.word in _GROUP_GOES_ON:
                if not waiting:
                    raise TextError(f"#{directive.word} without #if", self, directive.start)
                following[waiting.pop()] = at
            if directive.is_conditional and directive.word != "endif":
                waiting.append(at)
        if waiting:
            directive = self.directives[waiting[-1]]
            raise TextError(f"#{directive.word} without #endif", self, directive.start)
        return following

    def group(self, at: int) -> list[int]:
        """Return a directive and those of its conditional group behind it, by their indices."""
        found = [at]
        while found[-1] in self.groups:
            found.append(self.groups[found[-1]])
        return found

    @cached_property
    def directive_words(self) -> frozenset[str]:
        """The tokens of all directives."""
        return frozenset().union(*(one.texts for one in self.directives))

    @cached_property
    def defined(self) -> frozenset[str]:
        """The names that the directives define, those in groups that are off among them."""
        return frozenset(one.texts[0] for one in self.directives if one.word == "define" and one.texts)

    @cached_property
    def guard(self) -> str:
        """The macro that tells whether the file was read before; empty without one. Raises TextError."""
        first = next((at for at, one in enumerate(self.directives) if one.word != "pragma"), 0)
        names = [(one.word, one.texts[:1]) for one in self.directives[first : first + 2]]
        if [word for word, _ in names] != ["ifndef", "define"] or names[0][1] != names[1][1]:
            return ""
        return "".join(names[0][1]) if self.group(first)[-1] == len(self.directives) - 1 else ""


class TextError(Exception):
    """A text that cannot be read as C++, and where."""

    def __init__(self, message: str, file: SourceFile, offset: int) -> None:
        super().__init__(f"{file.at(offset)}: {message}")


def find_closing(tokens: Sequence[str], opening: int) -> int | None:
    """Return where the bracket is that closes the one at ``opening``; None where none does.

    An angle bracket is one where it is the first, or directly inside others; no statement ends inside these.
    """
    waiting: list[str] = []
    for at in range(opening, len(tokens)):
        text = tokens[at]
        if waiting and text == waiting[-1]:
            waiting.pop()
            if not waiting:
                return at
        elif text in _PAIRS and (text != "<" or not waiting or waiting[-1] == ">"):
            waiting.append(_PAIRS[text])
        elif text in CLOSED or (text == ";" and waiting[-1] == ">"):
            break
    return None


def split_at_commas(tokens: Sequence[str]) -> list[tuple[str, ...]]:
    """Return what commas separate outside brackets of all kinds; nothing of no tokens."""
    found: list[tuple[str, ...]] = []
    first = at = 0
    while at < len(tokens):
        if tokens[at] in _PAIRS:
            at = find_closing(tokens, at) or at
        elif tokens[at] == ",":
            found.append(tuple(tokens[first:at]))
            first = at + 1
        at += 1
    return [*found, tuple(tokens[first:])] if tokens else []


def spell(tokens: Sequence[str]) -> str:
    """Return tokens with the blanks that people write: behind commas, between words and around operators."""
    found = ""
    for at, text in enumerate(tokens):
        last, before = tokens[at - 1] if at else "", tokens[at - 2] if at > 1 else ""
        is_type = last == ">" or _is_wordy(last) or (last in {"*", "&"} and (_is_wordy(before) or before in {"*", ">"}))
        is_spaced = (
            last == "," or (is_type and _is_wordy(text)) or any(_is_between(tokens, one) for one in (at - 1, at))
        )
        found += f" {text}" if is_spaced else text
    return found


def _is_wordy(text: str) -> bool:
    return text[:1].isalnum() or text[:1] in {"_", "$"}


def _is_between(tokens: Sequence[str], at: int) -> bool:
    """Return whether a token is an operator with two operands; the ``*`` or ``&`` of a type is none."""
    if not 0 < at < len(tokens) - 1 or tokens[at] not in _OPERATORS or tokens[at + 1] in {">", ",", ")"}:
        return False
    before, behind = tokens[at - 1], tokens[at + 1]
    if tokens[at] in {"*", "&"}:
        return before in {")", "}", "]"} or before[0].isdigit() or behind[0].isdigit() or behind == "("
    return _is_wordy(before) or before in {")", "}", "]", ">"}
