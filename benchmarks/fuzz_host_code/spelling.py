"""Other spellings of the same C++ tokens: comments, joined lines and digraphs in odd places."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random

__all__ = ["respelled"]

_TOKEN = re.compile(
    r"(?P<directive>(?<![^\n])[ \t]*#(?:\\\n|[^\n])*\n?)"
    r'|(?P<literal>R"(?P<end>\w*)\((?s:.*?)\)(?P=end)"|"(?:\\.|[^"\\\n])*"|\d(?:\'?\w)*|\'(?:\\.|[^\'\\\n])+\')'
    r"|(?P<comment>//(?:\\\n|[^\n])*|/\*(?s:.*?)\*/)"
    r"|(?P<word>[A-Za-z_]\w*)|(?P<blank>\s+)|(?P<other>(?s:.))"
)
_DIGRAPHS = {"{": "<%", "}": "%>", "[": "<:", "]": ":>"}
_BLANKS = (
    "/**/",
    "\n",
    " \\\n ",
    "/* ' */",
    '/* " */',
    " // it's }\n",
    "/* { */",
    "\t",
    "\n\n",
    "/* __device__ */",
    "/*//*/",
)


def respelled(text: str, among: random.Random) -> str:
    """Return a text with the same meaning to C++."""
    found: list[str] = []
    for match in _TOKEN.finditer(text):
        kind, piece = match.lastgroup, match[0]
        kind = "literal" if match["literal"] else kind
        if kind == "directive":
            piece = _directive(piece, among)
        elif kind == "blank" and among.random() < 0.08 and "\n" not in piece:
            piece = among.choice(_BLANKS)
        elif kind == "word" and among.random() < 0.01 and len(piece) > 1:
            piece = f"{piece[:1]}\\\n{piece[1:]}"
        elif (
            kind == "other"
            and piece in _DIGRAPHS
            and among.random() < 0.01
            and found
            and found[-1] not in {"<", ":", "%"}
        ):
            piece = _DIGRAPHS[piece]
        found.append(piece)
    return "".join(found)


def _directive(line: str, among: random.Random) -> str:
    roll = among.random()
    if roll < 0.03:
        return line.replace("#", "%:", 1)
    if roll < 0.06:
        return line.replace("#", "# /* ' */ ", 1)
    if roll < 0.09:
        return line.replace("#", "/* } */ #", 1)
    if roll < 0.12 and line.count("\n") == 1 and "include" not in line:
        return line.replace(" ", " \\\n", 1)
    return line
