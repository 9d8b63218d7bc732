"""The braces that an outline's parser is in, with the declaration that it is reading: how they open, close and end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from hatch_cuda_kernels.host_code.declaration_reader import read_declaration
from hatch_cuda_kernels.host_code.items import OutlineItem, items_of
from hatch_cuda_kernels.host_code.nodes import BRACES, CLOSED
from hatch_cuda_kernels.host_code.position import Begun, Frame, Position, initialises
from hatch_cuda_kernels.host_code.tokens import Token

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hatch_cuda_kernels.host_code.declaration import Declaration
    from hatch_cuda_kernels.host_code.roles import MacroRole

__all__ = ["DEEPEST", "Braces", "UnevenError"]

_NAMESPACE_WORDS: Final = frozenset({"namespace", "inline", "extern"})
#: Of brackets, and of braces outside functions.
DEEPEST: Final = 200


class UnevenError(Exception):
    """Brackets do not come out even."""


class Braces:
    """Where the parser is, and the declarations so far. Methods raise UnevenError where brackets do not fit."""

    def __init__(self, macros: Mapping[str, MacroRole]) -> None:
        self.macros: Final = macros
        self.items: list[OutlineItem] = []
        self.go_on(Position())

    def go_on(self, position: Position) -> None:
        """Go on from a position."""
        self.frame, self.item, self.groups, self.doubtful = position
        self.fresh: list[Token] = []  # tokens of the declaration that are not in the item yet
        last = self.item.token.text if self.item and self.item.length > 1 else ")"
        self.is_plain = bool(self.groups) or last not in CLOSED | {BRACES}  # what is no mark is only added then

    def begun(self) -> Begun | None:
        """Return the declaration so far."""
        if self.fresh:
            if self.item is not None:
                self.item = self.item.add(*self.fresh)
            else:
                self.item = Begun(tuple(self.fresh), None, self.fresh[0], self.doubtful, length=len(self.fresh))
                self.doubtful = False
            self.fresh = []
        return self.item

    def is_inside(self) -> bool:
        """Return whether a declaration is open; words before a directive may be a macro that stands by itself."""
        if self.groups or (self.frame is not None and self.frame.kind != "namespace"):
            return True
        item = self.begun()
        return item is not None and item.token.text == "="

    def open(self, token: Token) -> None:
        """Enter braces: of a namespace, a class, a function or something else."""
        item = self.begun()
        if item is not None and item.braces:
            is_body = item.braces == "members" and item.token.text in CLOSED | {BRACES}
            self.enter("function" if is_body else "value", token)
            return
        tokens = item.tokens() if item else []
        words = {found.text for found in tokens}
        if "namespace" in words or words <= {"extern"}:
            self._enter_namespace("".join(found.text for found in tokens if found.text not in _NAMESPACE_WORDS))
            return
        plain = [found for found in tokens if found.text != "typedef"]
        start = tokens[-1].end if tokens else token.start
        declared = read_declaration([*plain, Token(BRACES, start, token.end)], self.macros)
        known = declared if plain and len(plain) == len(tokens) else None
        if declared.kind == "type" and "enum" not in declared.words:
            self.enter("class", token, "value", declared.name, known)
        elif declared.kind not in {"function", "call"}:
            self.enter("value" if len(tokens) > 1 else "function", token, "value", declared=known)
        elif "try" in words:
            self.enter("value", token, "try", declared=known)
        elif initialises(tokens):
            self.enter("value", token, "members", declared=known)
        else:
            self.enter("function", token, declared=known)

    def _enter_namespace(self, name: str) -> None:
        outer = self.frame
        path = "::".join(filter(None, (outer.namespace if outer else "", name)))
        self.go_on(Position(Frame("namespace", namespace=path, outer=outer, level=self._level())))

    def enter(
        self,
        kind: Literal["class", "function", "value"],
        token: Token,
        braces: Literal["", "value", "members", "try"] = "",
        name: str = "",
        declared: Declaration | None = None,
    ) -> None:
        """Enter braces that belong to the declaration so far."""
        item = self.begun() or Begun((token,), None, token, self.doubtful)
        item = item._replace(braces=braces or item.braces)
        path = self.frame.namespace if self.frame else ""
        frame = Frame(kind, name, path, item, self.groups, self.frame, declared, level=self._level())
        self.go_on(Position(frame))

    def _level(self) -> int:
        """Return the level of a new frame."""
        level = self.frame.level + 1 if self.frame else 1
        if level > DEEPEST:
            raise UnevenError
        return level

    def leave(self, frame: Frame | None, token: Token) -> None:
        """Close braces."""
        if frame is None:
            raise UnevenError
        if frame.item is None:
            self.go_on(Position(frame.outer))
            return
        whole = frame.item.add(Token(BRACES, frame.item.token.end, token.end), declared=frame.declared)
        self.go_on(Position(frame.outer, whole, frame.groups))
        if frame.kind == "function":
            self.end(token.end)

    def end(self, end: int | None) -> None:
        """End a declaration: at a semicolon or its body's end, or before the brace that closes what it is in."""
        item = self.begun()
        self.go_on(Position(self.frame))
        if item is not None:
            declared = item.declared or read_declaration(item.tokens(), self.macros)
            is_sure = end is not None and not item.doubtful
            self.items += items_of(declared, item, end or item.token.end, self.frame, is_sure=is_sure)
