"""Reads declarations: what a compiler's parser has to know of a text before it looks into bodies and values.

Nothing is looked up. Where C++ lets a name decide (``f < a``, ``T x(y)``), both readings are tried in the order that
code is written in, and neither changes where the declaration ends.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

from hatch_cuda_kernels.cpp.declarations import (
    CALLED,
    CLASS_KEYS,
    POINTERS,
    Declaration,
    Head,
    Kind,
    class_names,
    declarators_of,
    described,
    is_value,
)
from hatch_cuda_kernels.cpp.lexer import CLOSED, CLOSING, is_identifier, is_literal
from hatch_cuda_kernels.cpp.stream import INCLUSION, Cursor, Stream, StreamToken

if TYPE_CHECKING:
    from hatch_cuda_kernels.cpp.unit import Inclusion

#: Keywords that begin nothing in an initialiser.
_NOT_IN_VALUES: Final = frozenset({"operator", "requires"})
_PRAGMAS: Final = frozenset({"_Pragma", "__pragma"})
_ACCESS: Final = frozenset({"public", "private", "protected"})
#: What may follow a function's parameters besides punctuation.
_BEHIND_PARAMETERS: Final = frozenset(
    {"const", "volatile", "noexcept", "override", "final", "try", "requires", "throw"}
)
_BRACKETS: Final = CLOSED.union(CLOSING)
#: The tokens of a declaration, what macros among them become, and the name of the scope around it, if one has that.
_Spelling: TypeAlias = "tuple[tuple[str, ...], tuple[tuple[int, tuple[str, ...], frozenset[str]], ...], str]"
#: What tells something in angle brackets.
_IN_ANGLES: Final = frozenset("<>=;()[]{}")


class FragmentError(Exception):
    """The braces of the named files close in others."""


class DeclarationParser:
    """Reads a stream; notes the scope of each inclusion by identity, or that it is inside a declaration or a body."""

    def __init__(self, stream: Stream, scopes: dict[int, Declaration | None], inside: set[int], at: int = 0) -> None:
        self._stream: Final = stream
        self._alike: Final[dict[_Spelling, Declaration]] = {}
        stream.read_at = lambda first, parent: DeclarationParser(stream, {}, set(), first).declaration(parent)
        self._cursor: Final = Cursor(stream, at)
        self._scopes: Final = scopes
        self._inside: Final = inside
        self._steps: Final[dict[str, Callable[[Head], object]]] = {
            "(": self._parentheses,
            "[": self._brackets,
            "<": self._less,
            "=": self._equals,
            ",": self._comma,
            ":": self._colon,
            "template": self._template,
            "operator": self._operator,
            "requires": self._constraint,
        }
        """How a declaration goes on, by its next token."""
        self._telling: Final = frozenset({*self._steps, *CLASS_KEYS, "{", "}", ";"})

    def scope(self, parent: Declaration | None, *, is_open: bool) -> list[Declaration]:
        """Read declarations up to the brace that closes a scope, which is left to be read, or to the file's end."""
        found: list[Declaration] = []
        while True:
            if (spelling := self._spelling(at := self._cursor.place, parent)) in self._alike:
                found.append(self._again(self._alike[spelling], at, at + len(spelling[0]), parent))
                continue
            if (token := self._cursor.peek()) is None:
                break
            if token.text == "}":
                if is_open:
                    return found
                raise self._stream.error("a brace that closes nothing", token.at)
            if not self._passes(token, parent):
                found.append(one := self.declaration(parent))
                end = one.forget()
                if spelling[0] and one.begin == at and end == at + len(spelling[0]) - 1:
                    self._alike[spelling] = one
        if is_open and parent is not None:
            raise self._stream.error("a brace that nothing closes", parent.begin)
        return found

    def _spelling(self, at: int, parent: Declaration | None) -> _Spelling:
        """Return what tells how a declaration is read, if it ends at the next semicolon or has its body there."""
        behind, owner = self._stream.stop(at) + 1, "" if parent is None else parent.name  # which tells constructors
        texts = tuple(self._stream.texts[at:behind]) if at >= 0 else ()
        if texts[-1:] not in {(";",), ("{",)} or texts[0] in {"namespace", "struct"}:
            return (), (), ""
        uses = tuple((use.first - at, use.texts, use.others) for use in self._stream.uses(at, behind))
        return texts, uses, owner if owner in texts or any(owner in use for _, use, _ in uses) else ""

    def _again(self, known: Declaration, at: int, behind: int, parent: Declaration | None) -> Declaration:
        """Read what is as a declaration that was read, as most are in large headers."""
        self._cursor.waiting.clear()
        self._cursor.at = behind
        closing = None if known.body is None else self._skip(StreamToken("{", behind - 1))
        return known.again(self._stream, parent, at, behind if closing is None else closing.behind)

    def _passes(self, token: StreamToken, parent: Declaration | None) -> bool:
        """Take what is next, if it is no declaration: an inclusion, a semicolon, a label or a pragma."""
        if token.text.startswith(INCLUSION):
            self._scopes[id(self._inclusion(token.text))] = parent
        elif token.text in _PRAGMAS:
            self._take(pragma := Head())
            if self._next() == "(":
                self._group(pragma)
            return True
        elif token.text in _ACCESS:
            self._cursor.take()
            if self._next() != ":":
                self._cursor.put_back([token])
                return False
        elif token.text not in {";", ":"}:
            return False
        self._cursor.take()
        return True

    def _inclusion(self, text: str) -> Inclusion:
        return self._stream.inclusions[int(text.removeprefix(INCLUSION))]

    def _next(self) -> str:
        """Return the text of the next token; empty at the end."""
        cursor = self._cursor
        return cursor.waiting[-1].text if cursor.waiting or cursor.pull() else ""

    def _take_plain(self, head: Head) -> None:
        """Take all tokens that are next and say nothing of how a declaration goes on."""
        waiting, top, tokens = self._cursor.waiting, head.top, head.tokens
        while waiting and waiting[-1].text not in self._telling and waiting[-1].text[0] != "#":
            top.append(len(tokens))
            tokens.append(waiting.pop())

    def _take(self, head: Head, *, is_top: bool = True) -> StreamToken:
        """Take the next token into a head; an inclusion there is part of the declaration."""
        while True:
            token = self._cursor.take()
            if token is None:
                raise self._stream.error("a bracket that nothing closes", head.tokens[0].at if head.tokens else 0)
            if token.text[0] != "#" or not token.text.startswith(INCLUSION):
                if is_top:
                    head.top.append(len(head.tokens))
                head.tokens.append(token)
                return token
            self._inside.add(id(self._inclusion(token.text)))

    def _group(self, head: Head) -> tuple[int, int]:
        """Take a bracket that is next, and all up to the one that closes it; return their places in the head."""
        first, cursor, add = len(head.tokens), self._cursor, head.tokens.append
        waiting = [CLOSING[self._take(head, is_top=False).text]]
        while waiting:
            if (cursor.waiting or cursor.pull()) and cursor.waiting[-1].text[0] != "#":
                add(token := cursor.waiting.pop())  # most tokens of a text are read here
            else:
                token = self._take(head, is_top=False)
            text = token.text
            if text not in _BRACKETS:
                continue
            if text in CLOSING:
                waiting.append(CLOSING[text])
            elif waiting.pop() != text:
                raise self._stream.error(f"a {text} that closes nothing", head.tokens[-1].at)
        return first, len(head.tokens) - 1

    def _angle(self, head: Head, *, is_value: bool = False) -> bool:
        """Take ``<`` and what is up to the ``>`` that closes it, unless it is the operator; return whether it was."""
        inner = Head()
        depth, waiting = 0, self._cursor.waiting
        while True:
            while waiting and waiting[-1].text not in _IN_ANGLES and waiting[-1].text[0] != "#":
                inner.tokens.append(waiting.pop())
            token = self._cursor.peek()
            text = "" if token is None else token.text
            if (
                text in {"", ";", ")", "]", "}"}
                or (text == "{" and not is_identifier(inner.last))
                or (is_value and text == "=" and depth == 1)
            ):
                self._cursor.put_back(inner.tokens)
                return False
            if text in CLOSING:
                self._group(inner)
                continue
            self._take(inner, is_top=False)
            depth += (text == "<") - (text == ">")
            if not depth:
                break
        head.angles[len(head.tokens) + len(inner.tokens) - 1] = len(head.tokens)
        head.tokens += inner.tokens
        return True

    def declaration(self, parent: Declaration | None) -> Declaration:
        """Read the declaration that is next."""
        head = Head()
        while True:
            self._take_plain(head)
            text = self._next()
            if text == "}" or not text:
                break
            if text.startswith(INCLUSION) and head.parameters is not None and head.value < 0:
                raise FragmentError(self._inclusion(text).visit.file.name)  # it has the body
            if text == ";":
                head.end_value()
                self._take(head)
                break
            if text == "{":
                found = self._brace(head, parent)
                if found is not None:
                    return found
                if head.body is not None:
                    break
                continue
            self._step(head, text)
        head.end_value()
        return described(head, self._stream, parent)

    def _step(self, head: Head, text: str) -> None:
        """Take what is next of a declaration, a token or all between brackets."""
        step = self._steps.get(text)
        if step is not None and (head.value < 0 or text not in _NOT_IN_VALUES):
            step(head)
            return
        if text in CLASS_KEYS and head.parameters is None and head.value < 0 and head.colon < 0:
            head.key = head.key if head.last in CLASS_KEYS else len(head.tokens)
        self._take(head)

    def _less(self, head: Head) -> None:
        """Take ``<``, with all up to its ``>`` behind a template's name."""
        is_behind_name = is_identifier(head.last) and head.last != "operator"
        if not (is_behind_name and self._angle(head, is_value=head.value >= 0)):
            self._take(head)

    def _brackets(self, head: Head) -> None:
        """Take brackets: a bound, or an attribute."""
        first, close = self._group(head)
        if head.value < 0 and head.tokens[first + 1].text == "[" == head.tokens[first].text:
            head.attributes[close] = first

    def _comma(self, head: Head) -> None:
        if head.colon < 0 or head.value >= 0:
            head.end_value()
            head.commas.append(len(head.tokens))
        self._take(head)

    def _template(self, head: Head) -> None:
        first = len(head.tokens)
        self._take(head)
        if self._next() != "<":
            return
        opening = len(head.tokens)
        if not self._angle(head):
            self._take(head)
            return
        head.is_specialization |= len(head.tokens) == opening + 2
        head.template = (head.template[0] if head.template else first), len(head.tokens)

    def _operator(self, head: Head) -> None:
        """Take ``operator`` and the rest of the name, up to the parenthesis of the parameters."""
        head.operator, head.parameters = len(head.tokens), None  # what has come in parentheses were no parameters
        self._take(head)
        if self._next() in {"(", "["}:
            self._group(head)
            return
        while (text := self._next()) not in {"(", ";", "{", "}", ""}:
            if text == "<" and is_identifier(head.last) and head.last != "operator":
                if self._angle(head):
                    continue
            elif text == "[":
                self._group(head)
                continue
            self._take(head)

    def _constraint(self, head: Head) -> None:
        """Take a requires clause: terms with ``&&`` and ``||`` between them."""
        begins = head.template is not None and head.template[1] == len(head.tokens)
        self._take(head, is_top=False)
        while True:
            while self._next() == "!":
                self._take(head, is_top=False)
            self._term(head)
            if self._next() not in {"&&", "||"}:
                break
            self._take(head, is_top=False)
        if begins and head.template is not None:
            head.template = head.template[0], len(head.tokens)

    def _term(self, head: Head) -> None:
        """Take one term of a requires clause: an expression of its own, what is in parentheses, or a name."""
        if (text := self._next()) in {"requires", "("}:
            if text == "requires":
                self._take(head, is_top=False)
            for bracket in ("(", "{") if text == "requires" else ("(",):
                if self._next() == bracket:
                    self._group(head)
            return
        while is_identifier(self._next()) or self._next() == "::":
            is_name = self._take(head, is_top=False).text != "::"
            if is_name and self._next() == "<":
                self._angle(head)
            if is_name and self._next() != "::":
                return

    def _equals(self, head: Head) -> None:
        """Take ``=``, which begins a value unless it makes a function default, deleted or pure."""
        at = len(head.tokens)
        self._take(head)
        is_function = head.parameters is not None and self._next() in {"default", "delete", "0"}
        if head.value < 0 and not is_function:
            head.value = at

    def _colon(self, head: Head) -> None:
        if head.value < 0 and head.colon < 0:
            head.colon = len(head.tokens)
        self._take(head)

    def _parentheses(self, head: Head) -> None:
        """Take parentheses, and tell whether they are a function's parameters."""
        before = head.last
        first, close = self._group(head)
        if head.value >= 0 or before in CALLED or head.parameters is not None or head.colon >= 0:
            return
        if head.commas and before not in {",", *POINTERS}:
            head.values.append((first, close + 1))
            return
        following = self._next()
        if following in {"(", "["} and head.operator < 0 and _is_declarator(head.tokens[first + 1 : close]):
            self._inner_declarator(head, first, close)
            return
        is_named = before == ">" or is_identifier(before) or head.operator >= 0
        if not is_named or self._is_attribute(head, first, following):
            return
        if is_value(head, first, close):
            head.values.append((first, close + 1))
        else:
            head.parameters = first, close

    def _inner_declarator(self, head: Head, first: int, close: int) -> None:
        """Note the name in parentheses, and take the parentheses or the bound behind it."""
        following, inner = self._next(), head.tokens[first + 1 : close]
        name = next((at for at, token in enumerate(inner) if _is_name(token.text)), None)
        if name is None:
            return
        while name + 2 < len(inner) and inner[name + 1].text == "::" and is_identifier(inner[name + 2].text):
            name += 2
        if name + 2 < len(inner) and inner[name + 1].text == "::" and inner[name + 2].text == "*":
            name = next((at for at in range(name + 3, len(inner)) if _is_name(inner[at].text)), name)
        head.inner_names.append(first + 1 + name)
        if name + 1 < len(inner) and inner[name + 1].text == "(":
            head.parameters = first + 2 + name, close  # of a function that returns a pointer to one
        elif len(inner) == 1 and following == "(":
            head.parameters = self._group(head)
        else:
            self._group(head)

    def _is_attribute(self, head: Head, first: int, following: str) -> bool:
        """Return whether parentheses are of an unknown macro before a declaration: ``API(x) void f();``."""
        begin = head.template[1] if head.template else 0
        names = [at for at in head.top if begin <= at < first]
        return (
            len(names) == 1 and head.operator < 0 and is_identifier(following) and following not in _BEHIND_PARAMETERS
        )

    def _brace(self, head: Head, parent: Declaration | None) -> Declaration | None:
        """Take a brace and what it holds. Return the declaration if it is a scope's, or ends with it."""
        words = [*head.words()]
        if head.value >= 0:
            self._group(head)
        elif "namespace" in words[:2] and head.parameters is None:
            at = next(at for at in head.top if head.tokens[at].text == "namespace")
            names = [word for word in head.words(at + 1) if word not in {"inline", *CALLED}]
            return self._scoped(head, "namespace", parent, names)
        elif words == ["extern"] and is_literal(head.last):
            return self._scoped(head, "linkage", parent, [])
        elif head.key >= 0 and head.parameters is None and self._is_class(head):
            return self._class(head, parent)
        elif head.parameters is not None and not (head.colon >= 0 and (is_identifier(head.last) or head.last == ">")):
            self._body(head)
        elif head.colon >= 0 and head.parameters is not None:
            self._group(head)
        elif is_identifier(head.last) or head.last in {">", "]", ")"}:
            head.value = len(head.tokens)
            self._group(head)
        else:
            self._body(head)
        return None

    def _is_class(self, head: Head) -> bool:
        """Return whether a brace behind a class key holds a class, and not a value of a variable: ``struct S s{1}``."""
        if head.colon >= 0:
            return True
        return not any(head.tokens[at].text in POINTERS for at in head.top if at > head.key)

    def _body(self, head: Head) -> None:
        first = head.colon if head.colon >= 0 and head.parameters is not None else len(head.tokens)
        is_try = first > 0 and head.tokens[first - 1].text == "try"
        self._close(head, self._take(head))
        while is_try and self._next() == "catch":
            self._take(head)
            self._group(head)
            self._close(head, self._take(head))
        head.body = first - is_try, len(head.tokens) - 1

    def _close(self, head: Head, opening: StreamToken) -> None:
        head.top.append(len(head.tokens))
        head.tokens.append(self._skip(opening))

    def _skip(self, opening: StreamToken) -> StreamToken:
        closing = self._cursor.skip_braces(opening)
        for number in self._stream.inclusions_between(opening.at, closing.at):
            self._inside.add(id(self._stream.inclusions[number]))
        return closing

    def _scoped(self, head: Head, kind: Kind, parent: Declaration | None, names: Sequence[str]) -> Declaration:
        first = len(head.tokens)
        self._take(head)
        found = head.declare(kind, self._stream, parent, names)
        found.members = self.scope(found, is_open=True)
        self._take(head)
        found.body = first, len(head.tokens) - 1
        return found

    def _class(self, head: Head, parent: Declaration | None) -> Declaration:
        words, specialized = class_names(head)
        if head.tokens[head.key].text == "enum":
            found = self._enumeration(head, parent, words)
        else:
            found = self._scoped(head, "class", parent, words)
        found.is_specialization |= specialized
        tail, is_const = Head(head.tokens, head.top, head.angles), "const" in head.words()
        first = len(head.tokens)
        while (text := self._next()) not in {";", "}", ""}:
            if text == "{":
                tail.value = len(tail.tokens) if tail.value < 0 else tail.value
                self._group(tail)
            else:
                self._step(tail, text)
        tail.end_value()
        if text == ";":
            self._take(tail)
        found.declarators = declarators_of(tail, first, is_const=is_const)
        return found

    def _enumeration(self, head: Head, parent: Declaration | None, names: Sequence[str]) -> Declaration:
        first, close = self._group(head)
        found = head.declare("enum", self._stream, parent, names)
        found.body = first, close
        inner, depth, is_next = [], 0, True
        for token in head.tokens[first + 1 : close]:
            depth += (token.text in CLOSING) - (token.text in CLOSED)
            if is_next and is_identifier(token.text):
                inner.append(token.text)
            is_next = token.text == "," and not depth
        found.enumerators = tuple(inner)
        return found


def _is_name(text: str) -> bool:
    return is_identifier(text) and text not in {"const", "volatile", "__restrict__", "__restrict", "restrict"}


def _is_declarator(inner: Sequence[StreamToken]) -> bool:
    """Return whether what is in parentheses is a name, perhaps of a pointer: ``(*f)``, ``(S::*f)``, ``(f)``."""
    texts = [token.text for token in inner]
    if len(texts) == 1:
        return _is_name(texts[0])
    if not texts or texts[0] in POINTERS:
        return bool(texts)
    if is_identifier(texts[0]) and texts[1] in POINTERS:  # behind a macro for a calling convention
        return True
    return any(texts[at] == "::" and texts[at + 1] in POINTERS for at in range(1, len(texts) - 1))
