"""A second reading of C++ text, to hold the scanner against: slow, character by character, after the standard's phases.

It shares nothing with the package. Where NVRTC differs from the standard, it does as NVRTC does: a literal without an
end stops with its line, and only ASCII makes words.
"""

from __future__ import annotations

from string import ascii_letters, digits

WORD = frozenset(ascii_letters + digits + "_")
BLANK = frozenset(" \t\v\f\r")
DIRECTIVES = frozenset({"include", "include_next", "import"})


def join_lines(text):
    """Return the characters with lines joined, and for each its place: phase 2."""
    characters, places = [], []
    at = 0
    while at < len(text):
        end = at + 1
        if text[at] == "\\":
            while text[end : end + 1] == "\r":
                end += 1
            if text[end : end + 1] == "\n":
                at = end + 1
                continue
        characters.append(text[at])
        places.append(at)
        at += 1
    return "".join(characters), places


class Tokens:
    """The preprocessing tokens of a text, as (kind, spelling, start): phase 3."""

    def __init__(self, text):
        self.original = text
        self.text, self.places = join_lines(text)
        self.at = 0

    def __iter__(self):
        while self.at < len(self.text):
            start, kind = self.at, self._step()
            yield kind, self.text[start : self.at], start

    def header(self):
        """Return the header's name that stands here, with its delimiters; None where there is none."""
        close = {'"': '"', "<": ">"}.get(self.text[self.at : self.at + 1])
        if close is None:
            return None
        line_end = self._find("\n", self.at)
        end = self.text.find(close, self.at + 1, line_end)
        if end < 0:
            return None
        name = self.text[self.at : end + 1]
        self.at = end + 1
        return name

    def _find(self, what, start):
        found = self.text.find(what, start)
        return len(self.text) if found < 0 else found

    def _step(self):
        """Go past one token and return its kind."""
        text, at = self.text, self.at
        if text[at] == "\n" or text[at] in BLANK:
            self.at += 1
            return "newline" if text[at] == "\n" else "blank"
        if text.startswith(("//", "/*"), at):
            self.at = self._find("\n", at) if text[at + 1] == "/" else min(self._find("*/", at + 2) + 2, len(text))
            return "comment"
        return self._token()

    def _token(self):
        text, at = self.text, self.at
        if text[at] in digits or (text[at] == "." and text[at + 1 : at + 2] in set(digits)):
            return self._number()
        if text[at] in "\"'":
            return self._literal(text[at])
        if text[at] not in WORD:
            self.at += 2 if text.startswith("%:", at) else 1
            return "mark"
        while self.at < len(text) and text[self.at] in WORD:
            self.at += 1
        is_raw = text[at : self.at] in {"R", "LR", "uR", "UR", "u8R"} and text[self.at : self.at + 1] == '"'
        return self._raw() if is_raw else "word"

    def _number(self):
        text = self.text
        self.at += 1
        while self.at < len(text):
            here, after = text[self.at], text[self.at + 1 : self.at + 2]
            signed = here in "eEpP" and after in {"+", "-"}
            if signed or (here == "'" and after in WORD):
                self.at += 2
            elif here in WORD or here == ".":
                self.at += 1
            else:
                break
        return "number"

    def _literal(self, quote):
        text = self.text
        self.at += 1
        while self.at < len(text) and text[self.at] != "\n":
            here = text[self.at]
            if here == "\\" and text[self.at + 1 : self.at + 2] not in {"", "\n"}:
                self.at += 2
            else:
                self.at += 1
                if here == quote:
                    break
        return "literal"

    def _raw(self):
        """Read from the original text, since nothing is joined in a raw string."""
        place = self.places[self.at]
        opening = self.original.find("(", place, place + 18)
        if opening < 0 or "\n" in self.original[place:opening]:
            return self._literal('"')
        closing = f'){self.original[place + 1 : opening]}"'
        end = self.original.find(closing, opening + 1)
        end = len(self.original) if end < 0 else end + len(closing)
        while self.at < len(self.text) and self.places[self.at] < end:
            self.at += 1
        return "literal"


def read_includes(text):
    """Return (line, name with its delimiters) of each include in a text; no name where a macro gives it."""
    tokens = Tokens(text)
    found = []
    fresh = True  # nothing but blanks on this line so far
    stream = iter(tokens)
    for kind, spelling, start in stream:
        if kind == "newline":
            fresh = True
        elif kind in {"blank", "comment"}:
            continue
        elif fresh and spelling in {"#", "%:"}:
            following, word, _ = _past_blanks(stream)
            fresh = following == "newline"
            if word in DIRECTIVES:
                _skip_blanks(tokens)
                if tokens.text[tokens.at : tokens.at + 1] not in {"", "\n"}:
                    line = text.count("\n", 0, tokens.places[start]) + 1
                    found.append((line, tokens.header() or ""))
        else:
            fresh = False
    return found


def _past_blanks(stream):
    for token in stream:
        if token[0] not in {"blank", "comment"}:
            return token
    return "end", "", 0


def _skip_blanks(tokens):
    while tokens.at < len(tokens.text):
        before = tokens.at
        if tokens.text[before] == "\n" or tokens._step() not in {"blank", "comment"}:
            tokens.at = before
            return
