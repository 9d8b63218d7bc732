"""What stands between the parentheses of a macro's use."""

from __future__ import annotations

import re
from typing import Final

from hatch_cuda_kernels.source.lexer import NUMBER, without_comments

__all__ = ["COMMENT", "LITERAL", "arguments_at", "is_one", "quoted"]

COMMENT: Final = r"//[^\n]*|/\*.*?\*/"
LITERAL: Final = r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\''
_OPENING: Final = re.compile(r"\s*\(")
_DELIMITER: Final = re.compile(rf"{LITERAL}|{COMMENT}|{NUMBER}|[A-Za-z_]\w*|[(),]", re.DOTALL | re.ASCII)
_LITERAL_OR_COMMENT: Final = re.compile(rf"({LITERAL})|{COMMENT}", re.DOTALL)
_LITERAL_OR_SPACE: Final = re.compile(rf"({LITERAL})|\s+")


def is_one(text: str) -> bool:
    """Return whether a text has all its brackets, and no comma outside them."""
    depth = 0
    for mark in re.findall(r"[(){}\[\],]", _LITERAL_OR_COMMENT.sub(" ", text)):
        depth += (mark in "({[") - (mark in ")}]")
        if depth < 0 or (mark == "," and not depth):
            return False
    return not depth


def quoted(argument: str) -> str:
    """Return an argument as the string that ``#`` makes of it."""

    def part(found: re.Match[str]) -> str:
        return re.sub(r'["\\]', r"\\\g<0>", found[1]) if found[1] else " "

    return f'"{_LITERAL_OR_SPACE.sub(part, argument)}"'


def arguments_at(text: str, start: int, end: int) -> tuple[list[str], int] | None:
    """Return what commas separate between the parentheses behind a position, and where these end; None without."""
    opening = _OPENING.match(text, start, end)
    if opening is None:
        return None
    parts, depth, begin = [], 1, opening.end()
    for found in _DELIMITER.finditer(text, begin, end):
        depth += (found[0] == "(") - (found[0] == ")")
        if (found[0] == "," and depth == 1) or not depth:
            parts.append(without_comments(text[begin : found.start()]))
            begin = found.end()
        if not depth:
            return parts, found.end()
    return None
