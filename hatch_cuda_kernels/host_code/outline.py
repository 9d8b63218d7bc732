"""The outline of a C++ text: what it declares in namespaces and classes, without a look into functions.

``#if`` is followed into every branch that NVRTC may see. Where brackets do not come out even, the outline is None.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, Literal

from hatch_cuda_kernels.host_code.branches import CONDITIONS, Branches
from hatch_cuda_kernels.host_code.declaration import Declaration, read_declaration
from hatch_cuda_kernels.host_code.items import Outline, OutlineItem, items_of, scope_of
from hatch_cuda_kernels.host_code.nodes import BRACES
from hatch_cuda_kernels.host_code.position import Begun, Frame, Position, close_of, initialises, later
from hatch_cuda_kernels.host_code.tokens import DirectiveLine, Token, Tokens, UnclearTextError
from hatch_cuda_kernels.source.lexer import Joined

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["read_outline"]

_CLOSING: Final = {"(": ")", "[": "]", "<": ">"}
_ACCESS: Final = frozenset({"public", "private", "protected", "signals", "slots"})
#: What the names of macros say that open or close something, or speak to the compiler.
_STRUCTURAL: Final = re.compile("BEGIN|END|NAMESPACE|OPEN|CLOSE|PUSH|POP|DIAG|PRAGMA|WARNING|EXTERN")
_NAMESPACE_WORDS: Final = frozenset({"namespace", "inline", "extern"})
_SHORTEST_MACRO: Final = 2
_LONGEST_MACRO: Final = 100  # in tokens, with arguments
#: Of brackets, and of braces outside functions.
_DEEPEST: Final = 200


def read_outline(text: str, macros: Mapping[str, bool]) -> Outline | None:
    """Return a text's outline; None where it cannot be parsed.

    ``macros`` are the project's by name, and whether what one stands for is whole declarations, or opens or closes
    braces: such a one stands for itself.
    """
    parser = _Parser(Joined(text), macros)
    try:
        parser.run()
    except (UnclearTextError, _UnevenError):
        return None
    return Outline(parser.source, tuple(parser.items), tuple(parser.directives))


class _UnevenError(Exception):
    """Brackets do not come out even."""


class _Parser:
    """Follows the braces of a text and gathers its declarations."""

    def __init__(self, source: Joined, macros: Mapping[str, bool]) -> None:
        self.source: Final = source
        self.macros: Final = macros
        self.tokens: Final = Tokens(source)
        self.state = Position()
        self.items: list[OutlineItem] = []
        self.directives: list[DirectiveLine] = []
        self.branches: Branches[Position] = Branches(later)

    def run(self) -> None:
        """Read the whole text."""
        while (token := self.tokens.next(self._mode())) is not None:
            if isinstance(token, DirectiveLine):
                self._directive(token)
            elif self._mode() == "body":
                self._in_body(token)
            elif self.state.groups:
                self._in_group(token)
            else:
                self._at_level(token)
        if self.state.frame or self.state.groups or self.branches.depth:
            raise _UnevenError
        self._end(None)

    def _mode(self) -> Literal["head", "body", "skipped"]:
        frame = self.state.frame
        if self.branches.hidden:
            return "skipped"
        return "body" if frame is not None and frame.kind in {"function", "value"} else "head"

    def _directive(self, line: DirectiveLine) -> None:
        self.directives.append(line._replace(hidden=self.branches.hidden))
        if line.word in CONDITIONS:
            self.state = self.branches.enter(line, self.state)

    def _in_body(self, token: Token) -> None:
        frame = self.state.frame
        assert frame is not None  # noqa: S101 - a body is in one
        if token.text == "}" and not frame.depth:
            self._leave(frame, token)
        else:
            depth = frame.depth + (1 if token.text == "{" else -1)
            self.state = Position(frame._replace(depth=depth))

    def _in_group(self, token: Token) -> None:
        """Take a token between brackets of a declaration."""
        groups = self.state.groups
        if token.text == "{":
            self._enter("value", token)
            return
        self._add(token)
        if token.text in {"(", "["} or (token.text == "<" and groups[-1] == "<"):
            if len(groups) == _DEEPEST:
                raise _UnevenError
            self.state = self.state._replace(groups=(*groups, token.text))
        elif token.text == _CLOSING[groups[-1]]:
            self.state = self.state._replace(groups=groups[:-1])
        elif token.text in {"}", ")", "]", ";"}:
            raise _UnevenError

    def _at_level(self, token: Token) -> None:
        """Take a token of a declaration that is outside its brackets."""
        item = self.state.item
        if item is not None and item.token.text == BRACES and token.text != "catch" and item.braces == "try":
            self._end(item.token.end)
            item = None
        if token.text == ";":
            self._end(token.end)
        elif token.text == "{":
            self._open(token)
        elif token.text == "}":
            self._end(None)
            self._leave(self.state.frame, token)
        elif token.text == ":" and item is not None and item.token.text in _ACCESS:
            self.state = self.state._replace(item=None)
        elif item is None and self.macros.get(token.text):
            self._whole_macro(token)
        else:
            self._continue(item, token)

    def _continue(self, item: Begun | None, token: Token) -> None:
        """Add a token to a declaration, or begin another with it."""
        if token.text in {")", "]"}:
            raise _UnevenError
        if item is not None and self._is_line_of_its_own(item, token):
            self._end(None)
            doubtful = _STRUCTURAL.search(item.first.text) is None
            self.state = self.state._replace(doubtful=doubtful)
            self._at_level(token)
            return
        self._add(token)
        if token.text in {"(", "["} or (token.text == "<" and item is not None and item.token.text == "template"):
            self.state = self.state._replace(groups=(token.text,))

    def _is_line_of_its_own(self, item: Begun, token: Token) -> bool:
        """Return whether a declaration so far is a macro of others that stands before the line of a token."""
        if not (item.token.text == ")" or item.before is None) or not token.text[0].isalpha():
            return False
        first = item.first.text
        if not first.isupper() or len(first) <= _SHORTEST_MACRO or first in self.macros or item.length > _LONGEST_MACRO:
            return False
        texts = [found.text for found in item.tokens()]
        alone = len(texts) == 1 or (texts[1] == "(" and close_of(texts) == len(texts) - 1)
        return alone and "\n" in self.source.text[item.token.end : token.start]

    def _whole_macro(self, token: Token) -> None:
        """Take a macro that stands for whole declarations, with its arguments."""
        end, depth = token.end, 0
        if self.source.text[end : end + 1_000].lstrip().startswith("("):
            while (found := self.tokens.next("head")) is not None:
                depth += (found[0] == "(") - (found[0] == ")")
                end = found.end
                if isinstance(found, DirectiveLine):
                    raise _UnevenError
                if not depth:
                    break
        declaration = Declaration("call", token.text, first=token.start)
        self.items.append(OutlineItem(declaration, token.start, end, *scope_of(self.state.frame)))

    def _add(self, token: Token) -> None:
        item = self.state.item
        item = item.add(token) if item else Begun(token, None, token, self.state.doubtful)
        self.state = self.state._replace(item=item, doubtful=False)

    def _open(self, token: Token) -> None:
        """Enter braces: of a namespace, a class, a function or something else."""
        item = self.state.item
        if item is not None and item.braces:
            is_body = item.braces == "members" and item.token.text in {")", BRACES}
            self._enter("function" if is_body else "value", token)
            return
        tokens = item.tokens() if item else []
        words = {found.text for found in tokens}
        if "namespace" in words or words <= {"extern"}:
            self._enter_namespace("".join(found.text for found in tokens if found.text not in _NAMESPACE_WORDS))
            return
        plain = [found for found in tokens if found.text != "typedef"]
        declared = read_declaration([*plain, Token(BRACES, token.start, token.end)], self.macros)
        if declared.kind == "type" and "enum" not in declared.words:
            self._enter("class", token, "value", declared.name)
        elif declared.kind not in {"function", "call"}:
            self._enter("value" if len(tokens) > 1 else "function", token, "value")
        elif "try" in words:
            self._enter("value", token, "try")
        elif initialises(tokens):
            self._enter("value", token, "members")
        else:
            self._enter("function", token)

    def _enter_namespace(self, name: str) -> None:
        outer = self.state.frame
        path = "::".join(filter(None, (outer.namespace if outer else "", name)))
        self.state = Position(Frame("namespace", namespace=path, outer=outer, level=self._level()))

    def _enter(
        self,
        kind: Literal["class", "function", "value"],
        token: Token,
        braces: Literal["", "value", "members", "try"] = "",
        name: str = "",
    ) -> None:
        frame, item, groups, doubtful = self.state
        item = item or Begun(token, None, token, doubtful)
        item = item._replace(braces=braces or item.braces)
        path = frame.namespace if frame else ""
        self.state = Position(Frame(kind, name, path, item, groups, frame, level=self._level()))

    def _level(self) -> int:
        """Return the level of a new frame."""
        level = self.state.frame.level + 1 if self.state.frame else 1
        if level > _DEEPEST:
            raise _UnevenError
        return level

    def _leave(self, frame: Frame | None, token: Token) -> None:
        """Close braces."""
        if frame is None:
            raise _UnevenError
        self.state = Position(frame.outer)
        if frame.item is None:
            return
        whole = frame.item.add(Token(BRACES, frame.item.token.end, token.end))
        self.state = Position(frame.outer, whole, frame.groups)
        if frame.kind == "function":
            self._end(token.end)

    def _end(self, end: int | None) -> None:
        """End a declaration: at a semicolon or its body's end, or before the brace that closes what it is in."""
        item = self.state.item
        self.state = Position(self.state.frame)
        if item is None:
            return
        is_sure = end is not None and not item.doubtful
        tokens, end = item.tokens(), end or item.token.end
        self.items += items_of(tokens, end, self.state.frame, self.macros, is_sure=is_sure)
