"""The outline of a C++ text: what it declares in namespaces and classes, without a look into functions.

``#if`` is followed into every branch that NVRTC may see. Where brackets do not come out even, the outline is None.
"""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.host_code.braces import DEEPEST, Braces, UnevenError
from hatch_cuda_kernels.host_code.declaration import Declaration
from hatch_cuda_kernels.host_code.items import Outline, OutlineItem, scope_of
from hatch_cuda_kernels.host_code.nodes import BRACES, CLOSED, flat, group_nodes
from hatch_cuda_kernels.host_code.position import Position, close_of, later
from hatch_cuda_kernels.host_code.tokens import Token, Tokens
from hatch_cuda_kernels.host_code.uneven import merged, one_configuration
from hatch_cuda_kernels.source.branches import CONDITIONS, Branches, truth_of
from hatch_cuda_kernels.source.directive_lines import DirectiveLine
from hatch_cuda_kernels.source.lexer import Joined, Lexer, UnclearTextError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from hatch_cuda_kernels.host_code.position import Begun, Frame
    from hatch_cuda_kernels.host_code.roles import MacroRole

__all__ = ["read_outline"]

#: What may be more than a part of a declaration.
_MARKS: Final = frozenset("{}()[]<>;:")
_CLOSING: Final = {"(": ")", "[": "]", "<": ">"}
_ACCESS: Final = frozenset({"public", "private", "protected", "signals", "slots"})
#: What the names of macros say that open or close something, or speak to the compiler.
_STRUCTURAL: Final = re.compile("BEGIN|END|NAMESPACE|OPEN|CLOSE|PUSH|POP|DIAG|PRAGMA|WARNING|EXTERN")
_OTHER_MARKS: Final = ("<%", "%>", "<:", ":>", "%:", "??")
_OTHER_LEXER: Final = Lexer(r"(?:<%|%>|<:(?!:)|:>|%:|\?\?[<>()=])", "<%:?")
_SHORTEST_MACRO: Final = 2
_LONGEST_MACRO: Final = 100  # in tokens, with arguments
_ALIASES: Final = frozenset({"using", "typedef"})
#: Of a declaration, to its semicolon.
_PLAIN_REST: Final = re.compile(r"(?:[^;{}()\[\]#\"'/\\]|\[\w*\])*+;")
#: A value among template arguments: std::enable_if_t<condition<T>{}, T>.
_EMPTY_VALUE: Final = re.compile(r"\{\s*\}(?=\s*[],>.|&=!+?)-])")
#: Parentheses without others, literals, comments or directives in them.
_GROUP: Final = re.compile(r"\(([^(){}\[\]#\"'/\\]*+)\)")


def read_outline(text: str, macros: Mapping[str, MacroRole]) -> Outline | None:
    """Return a text's outline; None where it cannot be parsed.

    ``macros`` are the project's by name; one that stands for whole declarations is an item by itself.
    """
    source = Joined(text)
    try:
        if _has_other_marks(source):
            return None
        with suppress(UnevenError):
            return _outline(source, macros, truth_of)
        return merged(*(_outline(source, macros, one_configuration(source, defined=one)) for one in (False, True)))
    except (UnclearTextError, UnevenError):
        return None


def _outline(source: Joined, macros: Mapping[str, MacroRole], truth: Callable[[DirectiveLine], bool | None]) -> Outline:
    parser = _Parser(source, macros, truth)
    parser.run()
    return Outline(source, tuple(parser.items), tuple(parser.directives))


def _has_other_marks(source: Joined) -> bool:
    """Return whether a text has other spellings of brackets or ``#``, or in C++14 may have."""
    if not any(mark in source.text for mark in _OTHER_MARKS):
        return False
    return next(_OTHER_LEXER.spans(source), None) is not None


class _Parser(Braces):
    """Follows the braces of a text and gathers its declarations."""

    def __init__(
        self, source: Joined, macros: Mapping[str, MacroRole], truth: Callable[[DirectiveLine], bool | None]
    ) -> None:
        super().__init__(macros)
        self.source: Final = source
        self.tokens: Final = Tokens(source)
        self.directives: list[DirectiveLine] = []
        self.branches: Branches[Position] = Branches(later, truth)

    def run(self) -> None:
        """Read the whole text."""
        while self._take():
            pass
        if self.frame or self.groups or self.branches.depth:
            raise UnevenError
        self.end(None)

    def _take(self) -> bool:
        """Take tokens while it is tokens of one kind that count; return whether there may be others."""
        if self.branches.hidden:
            return self._take_head(self.tokens.each("skipped"))
        if self.frame is not None and self.frame.kind in {"function", "value"}:
            return self._take_body(self.frame, self.tokens.each("body"))
        return self._take_head(self.tokens.each("head"))

    def _take_body(self, frame: Frame, tokens: Iterator[Token | DirectiveLine]) -> bool:
        depth = frame.depth
        for token in tokens:
            if isinstance(token, DirectiveLine):
                self.go_on(Position(frame._replace(depth=depth)))
                self._directive(token)
                return True
            if token.text == "}" and not depth:
                self.leave(frame, token)
                return True
            depth += 1 if token.text == "{" else -1
        return False

    def _take_head(self, tokens: Iterator[Token | DirectiveLine]) -> bool:
        for token in tokens:
            if isinstance(token, DirectiveLine):
                self._directive(token)
                return True
            if self.is_plain and token.text not in _MARKS:
                self.fresh.append(token)
                continue
            if self.groups:
                self._in_group(token)
            elif self._at_level(token):
                self._whole_macro(token, tokens)
            if token.text in {"{", "}"} or self.tokens.position != token.end:
                return True
        return False

    def _directive(self, line: DirectiveLine) -> None:
        self.directives.append(line._replace(hidden=self.branches.hidden, is_inside=self.is_inside()))
        if line.word in CONDITIONS:
            position = Position(self.frame, self.begun(), self.groups, self.doubtful)
            self.go_on(self.branches.enter(line, position))

    def _in_group(self, token: Token) -> None:
        """Take a token between brackets of a declaration."""
        text, groups = token.text, self.groups
        if text == "{":
            self.enter("value", token)
            return
        self.fresh.append(token)
        if text in {"(", "["} or (text == "<" and groups[-1] == "<"):
            if len(groups) == DEEPEST:
                raise UnevenError
            self.groups = (*groups, text)
        elif text == _CLOSING[groups[-1]]:
            self.groups = groups[:-1]
            self.is_plain = len(groups) > 1 or text != ")"
        elif text in {"}", ")", "]", ";"}:
            raise UnevenError

    def _at_level(self, token: Token) -> bool:
        """Take a token outside a declaration's brackets; return whether it is a macro that stands for itself."""
        if self.item is not None and not self.fresh and _is_tried(self.item) and token.text != "catch":
            self.end(self.item.token.end)
        last = self.fresh[-1] if self.fresh else self.item and self.item.token
        if last is None and token.text in self.macros and self.macros[token.text].is_whole:
            return True
        if last is None and token.text in _ALIASES and (alias := _PLAIN_REST.match(self.source.text, token.end)):
            self.fresh.append(token)
            self.tokens.position = alias.end()
            self.end(alias.end())
        elif token.text == ";":
            self.end(token.end)
        elif token.text == "{":
            self._open(token)
        elif token.text == "}":
            self.end(None)
            self.leave(self.frame, token)
        elif token.text in {")", "]"}:
            raise UnevenError
        elif last is not None and token.text == ":" and last.text in _ACCESS:
            self.go_on(Position(self.frame))
        elif last is not None and not self.is_plain and self._is_line_of_its_own(last, token):
            return self._at_level(token)
        else:
            group = self._group(token) if token.text == "(" else None
            follows_template = token.text == "<" and last is not None and last.text == "template"
            opens = group is None and (token.text in {"(", "["} or follows_template)
            self.groups = (token.text,) if opens else ()
            self.fresh.append(group or token)
            self.is_plain = last is not None and group is None
        return False

    def _open(self, token: Token) -> None:
        """Enter braces, or go on behind those that are a value."""
        value = _EMPTY_VALUE.match(self.source.text, token.start)
        if value is None:
            self.open(token)
        else:
            self.tokens.position = value.end()

    def _group(self, token: Token) -> Token | None:
        """Return parentheses as one token, and go on behind them; None where there is more to them than tokens."""
        found = _GROUP.match(self.source.text, token.start)
        if found is None:
            return None
        self.tokens.position = found.end()
        return Token("()", token.start, found.end(), group_nodes(found[1]))

    def _is_line_of_its_own(self, last: Token, token: Token) -> bool:
        """End a declaration that is a macro of others and stands before a token's line; return whether it is one."""
        if not token.text[0].isalpha() or "\n" not in self.source.text[last.end : token.start]:
            return False
        item = self.begun()
        if item is None or (last.text not in CLOSED and item.length > 1) or item.length > _LONGEST_MACRO:
            return False
        first = item.first.text
        if not first.isupper() or len(first) <= _SHORTEST_MACRO or first in self.macros:
            return False
        texts = [*flat(item.tokens())]
        if len(texts) > _LONGEST_MACRO:
            return False
        if len(texts) > 1 and (texts[1] != "(" or close_of(texts) != len(texts) - 1):
            return False
        self.end(None)
        self.doubtful = _STRUCTURAL.search(first) is None
        return True

    def _whole_macro(self, token: Token, tokens: Iterator[Token | DirectiveLine]) -> None:
        """Take a macro that stands for whole declarations, with its arguments."""
        end, depth = token.end, 0
        if self.source.text[end : end + 1_000].lstrip().startswith("("):
            for found in tokens:
                if isinstance(found, DirectiveLine):
                    raise UnevenError
                depth += (found.text == "(") - (found.text == ")")
                end = found.end
                if not depth:
                    break
        declaration = Declaration("call", token.text, first=token.start)
        self.items.append(OutlineItem(declaration, token.start, end, *scope_of(self.frame)))


def _is_tried(item: Begun) -> bool:
    """Return whether the last of a declaration is the braces behind ``try``."""
    return item.braces == "try" and item.token.text == BRACES
