"""Reads what a declaration declares, as far as its tokens tell: no type is looked up, only the project's macros."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.host_code.declaration import Declaration
from hatch_cuda_kernels.host_code.forms import form_of, is_attribute
from hatch_cuda_kernels.host_code.nodes import BRACES, nodes_of, split
from hatch_cuda_kernels.host_code.tokens import Token
from hatch_cuda_kernels.host_code.words import (
    BUILTIN,
    OTHERS,
    SPECIFIERS,
    TRAILERS,
    TYPE_KEYS,
    WITH_ARGUMENTS,
    has_no_type,
    name_of,
    parameters_of,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hatch_cuda_kernels.host_code.roles import MacroRole

__all__ = ["read_declaration"]

#: With its symbol, or with what it converts to behind a space.
_OPERATOR: Final = re.compile(r"operator(?!\w)")
_ATTRIBUTES: Final = frozenset({"__attribute__", "__attribute", "__declspec"})
_HEAD_ENDS: Final = frozenset({"=", BRACES, ":", "try"})


def read_declaration(tokens: Sequence[Token], macros: Mapping[str, MacroRole]) -> Declaration:
    """Return what tokens declare; ``macros`` are the project's, of which none is taken for a type beside another."""
    if tokens[0].text in OTHERS:
        return Declaration("other")
    nodes = nodes_of(tokens)
    while len(nodes) > 1 and nodes[1].text == "template" and nodes[0].text in macros:
        nodes = nodes[1:]  # MACRO template <...>
    at, form = form_of(nodes)
    if at == len(nodes) or any(node.text in OTHERS for node in nodes[at : at + 2]):
        return Declaration("other", form=form)
    found = _NodeReader(nodes, macros).read(at)
    at += 2 * (nodes[at].text == "requires" and nodes[at + 1 : at + 2] != () and nodes[at + 1].text == "()")
    word, *behind = nodes[min(at, len(nodes) - 1) : at + 3]
    # A mark may stand behind MACRO(...), and must where that is for template <...>.
    is_macro = word.text in macros and word.text != found.name and len(behind) > 1 and behind[0].text == "()"
    return found._replace(form=form, first=(behind[1] if is_macro and behind[1].is_word else word).start)


class _NodeReader:
    """Reads the nodes of one declaration from left to right."""

    def __init__(self, nodes: Sequence[Token], macros: Mapping[str, MacroRole]) -> None:
        self.nodes = nodes
        self.macros = macros
        self.before: list[Token] = []  # what stands before the parameters or the value, the name last
        self.sure = True
        self.may_be_const = False  # by what a type's macro is given

    def read(self, at: int) -> Declaration:
        """Return what is declared from a node on."""
        while at < len(self.nodes):
            node, after = self.nodes[at], self.nodes[at + 1] if at + 1 < len(self.nodes) else None
            if node.text[:8] == "operator" and _OPERATOR.match(node.text):
                return self._operator(at)
            if after is not None and after.text == "()" and (node.text in WITH_ARGUMENTS or self._names_type(at)):
                self.before += [] if node.text in _ATTRIBUTES else [node]
                at += 1
            elif node.text == "()" and not self._is_attribute_behind_name(at):
                if after is not None and after.text == "()" and len(node.inner) == 1 and node.inner[0].is_word:
                    self.before.append(node.inner[0])  # int (max)(int a, int b): no macro of that name
                elif not self._is_macro(at):
                    return self._function(at)
                elif self._stands_for_type(self.before[-1]):
                    self.may_be_const = any(inner.text in {"const", "constexpr"} for inner in node.inner)
                else:
                    self.before.pop()
            elif node.text in {"=", ",", ":", BRACES} or (node.text == "[]" and self.before and not is_attribute(node)):
                break
            elif node.text not in {"[]", "()"}:
                self.before.append(node)
            at += 1
        found = self._other(self.nodes[at].text if at < len(self.nodes) else "")
        value = next((node.start for node in self.nodes[at:] if node.text in {"=", ",", BRACES}), 0)
        return found._replace(value=value) if found.kind == "variable" else found

    def _operator(self, at: int) -> Declaration:
        """Return the declaration of an operator, whose name is more than a word."""
        end = at + 1
        is_call = [node.text for node in self.nodes[end : end + 2]] == ["()", "()"]
        end = next(
            (place for place in range(end + is_call, len(self.nodes)) if self.nodes[place].text == "()"),
            len(self.nodes),
        )
        name = "".join("".join(node.text.split()) for node in self.nodes[at:end])
        if end > at + 1 and self.nodes[at + 1].is_word and self.nodes[at + 1].text not in {"new", "delete"}:
            # a conversion, or a literal's: behind quotes
            is_literal = self.nodes[at + 1].start > self.nodes[at].end + 1
            name = name.replace("operator", 'operator""' if is_literal else "operator ", 1)
        self.before.append(Token(name, self.nodes[at].start, self.nodes[at].end))
        return self._function(end) if end < len(self.nodes) else Declaration("other", is_sure=False)

    def _is_macro(self, at: int) -> bool:
        """Return whether the word before parentheses is a macro that stands before the declaration proper."""
        _, name, rest = name_of(self.before)
        at = self._behind_attributes(at + 1)
        after, behind = (self.nodes[place] if place < len(self.nodes) else None for place in (at, at + 1))
        if after is not None and after.text in self.macros and (behind is None or behind.text in {":", "=", BRACES}):
            return False  # that word is one, behind the parameters
        if name not in self.macros and self._are_behind_constructor(at):
            return False
        if not name or self._types(rest) or after is None or after.text in TRAILERS or not after.is_word:
            return False
        self.sure = self.sure and name in self.macros
        return True

    def _names_type(self, at: int) -> bool:
        """Return whether a word before parentheses is a macro for a class's name: ``struct JOIN(A, B) : Base``."""
        behind = self.nodes[at + 2].text if at + 2 < len(self.nodes) else ""
        return behind in {"", ":", "<>", BRACES} and any(node.text in TYPE_KEYS for node in self.before[-1:])

    def _are_behind_constructor(self, at: int) -> bool:
        """Return whether nodes are macros to the end of a head: ``Lock(Mutex& m) ACQUIRE(m) : lock(m) {}``."""
        while at < len(self.nodes) and self.nodes[at].text in self.macros:
            at += 1 + (self.nodes[at + 1 : at + 2] != () and self.nodes[at + 1].text == "()")
        return at == len(self.nodes) or self.nodes[at].text in {*TRAILERS, *_HEAD_ENDS}

    def _behind_attributes(self, at: int) -> int:
        while at + 1 < len(self.nodes) and self.nodes[at].text in _ATTRIBUTES and self.nodes[at + 1].text == "()":
            at += 2
        return at

    def _stands_for_type(self, node: Token) -> bool:
        return node.text in self.macros and self.macros[node.text].is_type

    def _function(self, at: int) -> Declaration:
        """Return the declaration whose parameters may be the node at a position."""
        inner = self.nodes[at].inner
        pointed = next((place for place, node in enumerate(inner) if node.text in {"*", "&"}), None)
        if pointed is not None and (pointed == 0 or inner[pointed - 1].text == "::"):  # int (*name)(...)
            if len(inner) < 3 or inner[-1].text != "()" or not inner[-2].is_word:
                named = [node for node in inner if node.is_word][-1:]
                return self._variable([*self.before, *inner[: pointed + 1], *named])
            self.before, inner = [*self.before, *inner[:-1]], inner[-1].inner  # char (&name(int))[2]
        parameters = parameters_of(inner)
        if parameters is None:  # int a(1); ALIGNED(16, int a[4]) = {1};
            is_macro = bool(self.before) and self.before[-1].text in self.macros
            return self._in_macro(at) if is_macro else self._variable(self.before)._replace(value=self.nodes[at].start)
        scope, name, rest = name_of(self.before)
        if not name or name in BUILTIN | SPECIFIERS:
            return Declaration("other", is_sure=False)
        trailing, ending, last = self._trailing(at + 1)
        types = self._types(rest)
        is_plain = name[0] != "~" and not _OPERATOR.match(name) and not scope
        unknown = any(node.text in self.macros for node in rest)
        return Declaration(
            "call" if is_plain and not types and not unknown else "function",
            name,
            scope,
            words=self._words(rest) & SPECIFIERS | self._words(trailing),
            types=types,
            parameters=parameters,
            ending=ending,
            last=last,
            is_sure=self.sure and len(types) <= (0 if has_no_type(scope, name) else 1),
        )

    def _in_macro(self, at: int) -> Declaration:
        """Return the declaration of a variable whose type and name are a macro's last argument."""
        named = [node for node in split(self.nodes[at].inner)[-1] if node.is_word]
        value = next((node.start for node in self.nodes[at + 1 :] if node.text in {"=", BRACES}), 0)
        return self._variable([*self.before[:-1], *named])._replace(value=value)

    def _trailing(self, at: int) -> tuple[Sequence[Token], str, int]:
        """Return what is after the parameters, what ends the function, and where that begins."""
        end = next((place for place in range(at, len(self.nodes)) if self.nodes[place].text in _HEAD_ENDS), None)
        if end is None:
            return self.nodes[at:], "", self.nodes[-1].end
        after = self.nodes[end + 1].text if end + 1 < len(self.nodes) else ""
        ending = after if self.nodes[end].text == "=" else BRACES
        return self.nodes[at:end], ending, self.nodes[end - 1].end

    def _other(self, stop: str) -> Declaration:
        """Return a declaration without parameters."""
        words = self._words(self.before) & SPECIFIERS
        if words & TYPE_KEYS:
            words_before = (node.text for node in self.before if node.is_word and node.text not in self.macros)
            names = [word for word in words_before if word not in SPECIFIERS and word != "final"]  # class EXPORT Name;
            if stop in {BRACES, ":"} or (not stop and len(names) == 1):
                return Declaration("type", names[-1] if names else "", words=words)
        return self._variable(self._without_attributes(self.before))

    def _without_attributes(self, before: Sequence[Token]) -> Sequence[Token]:
        """Return the nodes of a variable without macros behind its name that stand for attributes, or nothing."""
        end = len(before)
        while end > 0 and self._is_attribute(before[end - 1].text):
            end -= 1
        _, name, rest = name_of(before[:end])
        return before[:end] if name and self._types(rest) else before

    def _is_attribute_behind_name(self, at: int) -> bool:
        """Return whether parentheses end a variable's declaration, as those of a macro for attributes."""
        if at + 1 < len(self.nodes) or len(self.before) < 3 or not self._is_attribute(self.before[-1].text):
            return False
        _, name, rest = name_of(self.before[:-1])
        return name not in {"", *BUILTIN, *SPECIFIERS, *self.macros} and len(self._types(rest)) == 1

    def _is_attribute(self, word: str) -> bool:
        return (role := self.macros.get(word)) is not None and not (role.is_whole or role.is_type or role.words)

    def _variable(self, before: Sequence[Token]) -> Declaration:
        scope, name, rest = name_of(before)
        types = self._types(rest)
        if not name or (not types and not any(node.text in self.macros for node in rest)):
            return Declaration("other", name, is_sure=False)
        texts = [node.text for node in rest]
        words = self._words(rest) & SPECIFIERS
        indirect = max((at for at, text in enumerate(texts) if text in {"*", "&"}), default=-1)
        return Declaration(
            "variable",
            name,
            scope,
            words=words,
            types=types,
            is_const="constexpr" in words or "const" in self._words(rest[indirect + 1 :]),
            is_sure=self.sure and len(types) <= 1 and not self.may_be_const,
        )

    def _words(self, nodes: Sequence[Token]) -> frozenset[str]:
        """Return the texts of nodes, and the specifiers that macros among them hide."""
        found = frozenset(node.text for node in nodes)
        return found.union(*(self.macros[word].words for word in found if word in self.macros))

    def _types(self, nodes: Sequence[Token]) -> tuple[str, ...]:
        """Return the types among nodes: a qualified name by its first part, several built-in words by the first."""
        found: list[str] = []
        previous = ""
        for node in nodes:
            if node.text == "<>" or (node.text == "template" and previous == "::"):
                continue
            if node.is_word and node.text not in SPECIFIERS and node.text not in self.macros:
                is_part = bool(found) and (previous == "::" or (node.text in BUILTIN and found[-1] in BUILTIN))
                found += [] if is_part else [node.text]
            previous = node.text
        return tuple(found)
