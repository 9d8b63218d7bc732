"""Declarations as a tree of scopes, each with the tokens that it is made of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from hatch_cuda_kernels.cpp.lexer import is_identifier, split_at_commas

if TYPE_CHECKING:
    from hatch_cuda_kernels.cpp.stream import Stream, StreamToken


@lru_cache(maxsize=1 << 12)
def _shared(words: frozenset[str]) -> frozenset[str]:
    """Return an equal set that there is already: most declarations have the words of others."""
    return words


Kind = Literal[
    "namespace", "linkage", "class", "enum", "function", "variable", "alias", "using", "forward", "assertion",
    "instantiation", "concept", "guide", "unknown",
]  # fmt: skip


class Declarator(NamedTuple):
    """One name of a declaration of variables or types. Indices are of the declaration's tokens."""

    name: str
    first: int
    """Its first token; the first one's is behind the specifiers."""
    value: tuple[int, int] | None
    """What initialises it: ``= x``, ``{x}`` or ``(x)``."""
    is_const: bool = False
    """Whether the object itself is, not what it points to."""
    is_open_array: bool = False
    """Whether it has brackets without a bound."""


@dataclass(eq=False, slots=True)
class Declaration:
    """One declaration. ``tokens`` are all of it but for what is in the braces of a body or a scope."""

    kind: Kind
    stream: Stream
    tokens: list[StreamToken]
    parent: Declaration | None
    """The class or namespace that it stands in; None at the top of a file."""
    name: str = ""
    """Without a qualifier: ``f``, ``~S``, ``operator+``; empty where it has none."""
    qualifier: tuple[str, ...] = ()
    """The classes or namespaces before its name."""
    top: list[int] = field(default_factory=list)
    """The indices of the tokens that are in no parentheses, brackets or angle brackets."""
    template: tuple[int, int] | None = None
    """The tokens of ``template <...>``, with those of all of them if there are several."""
    is_specialization: bool = False
    """Whether one of them is ``template <>``, or its name has arguments."""
    parameters: tuple[int, int] | None = None
    """The tokens from a function's parenthesis to the one that closes it."""
    body: tuple[int, int] | None = None
    """Of a function, the tokens from its initialisers, ``try`` or brace to the last brace; of a scope, its braces."""
    declarators: Sequence[Declarator] = ()
    members: Sequence[Declaration] = ()
    included: list[Declaration] = field(default_factory=list)
    """Members in files that are included there."""
    enumerators: tuple[str, ...] = ()
    _inner: tuple[str, ...] | None = None
    _words: frozenset[str] | None = None
    _first: int = -1
    """Of one that is not read before somebody asks for more than its name and its words: its first token's index."""
    _body: tuple[int, int] | None = None
    """Of such a function or class, the indices of its braces."""

    @classmethod
    def unread(
        cls,
        kind: Kind,
        stream: Stream,
        parent: Declaration | None,
        name: str,
        first: int,
        body: tuple[int, int] | None = None,
        words: frozenset[str] | None = None,
    ) -> Declaration:
        """Return a declaration whose tokens, from one on, are read when somebody asks for them."""
        found = cls.__new__(cls)
        found.kind, found.stream, found.parent, found.name = kind, stream, parent, name
        found.qualifier = found.declarators = found.members = found.enumerators = ()
        found._inner, found._body, found._first = None, body, first  # noqa: SLF001 - its own
        if words is not None:
            found._words = _shared(words)  # noqa: SLF001
        return found

    def __getattr__(self, name: str) -> Any:
        """Read it, because somebody asks for what is known only then. Raises TextError."""
        if name not in Declaration.__slots__:
            raise AttributeError(name)
        read = self.stream.read_at(self._first, self.parent)
        for one in ("tokens", "top", "template", "is_specialization", "parameters", "body", "included", "_words"):
            object.__setattr__(self, one, getattr(read, one))
        return getattr(self, name)

    @property
    def begin(self) -> int:
        """The index of its first token in the stream, or of the first of the use of a macro that this is part of."""
        return self._first if self._first >= 0 else self.tokens[0].at

    @property
    def has_body(self) -> bool:
        """Whether it is a function with its body, or a scope."""
        return self._body is not None or self.body is not None

    @property
    def is_closed(self) -> bool:
        """Whether it ends in a brace or a semicolon."""
        return self._first >= 0 or self.tokens[-1].text in {";", "}"}

    @property
    def has_tail(self) -> bool:
        """Whether more than a semicolon stands behind the braces of a scope."""
        return self._first < 0 and self.body is not None and self.body[1] + 2 < len(self.tokens)

    @property
    def bases(self) -> set[str]:
        """The names that stand behind the colon of a class."""
        texts = [self.tokens[at].text for at in self.head] if self._first < 0 else []
        return {*filter(str.isidentifier, texts[texts.index(":") :])} if ":" in texts else set()

    @property
    def scope(self) -> tuple[str, ...]:
        """The names of the scopes around it, from the outermost; empty names are of those without."""
        return () if self.parent is None else self.parent.inner_scope

    @property
    def inner_scope(self) -> tuple[str, ...]:
        """The names of the scopes around what stands in it; all members share them."""
        if self._inner is None:
            own = () if self.kind == "linkage" else (*self.qualifier, self.name)
            self._inner = (*self.scope, *own)
        return self._inner

    @property
    def owners(self) -> tuple[str, ...]:
        """The names of the scopes that it belongs to: those around it, and those before its name."""
        return (*self.scope, *self.qualifier)

    @property
    def names(self) -> set[str]:
        """All names that it gives to its scope."""
        return {self.name, *(one.name for one in self.declarators), *self.enumerators} - {""}

    def full_name(self, name: str = "") -> str:
        """Return its name, or another one that it declares, with its scopes' names, as far as these have some."""
        return "::".join(filter(None, (*self.owners, name or self.name)))

    def inside(self) -> list[StreamToken]:
        """Return the tokens in its body, each macro expanded; none without a body. Raises TextError."""
        return [] if self.body is None else self.stream.between(*(self.tokens[at] for at in self.body))

    @property
    def body_texts(self) -> list[str]:
        """The tokens of its body as they are written; none without a body."""
        if self._body is not None:
            return self.stream.texts[self._body[0] : self._body[1] + 1]
        first, last = (self.tokens[at] for at in self.body or (0, 0))
        end = last.at + 1 if last.use is None else last.use.last
        return [] if self.body is None else self.stream.texts[first.at : end]

    @property
    def parameter_texts(self) -> list[tuple[str, ...]]:
        """The tokens of each of a function's parameters; none of what is no function."""
        first, last = self.parameters or (0, 0)
        parts = split_at_commas([token.text for token in self.tokens[first + 1 : last]])
        return [part for part in parts if part != ("void",)]

    @property
    def has_c_linkage(self) -> bool:
        """Whether it is declared ``extern "C"`` or stands in braces behind that; it may be by one of several macros."""
        for at in self.head if self.kind in {"function", "variable", "linkage"} else ():
            use = self.tokens[at].use
            is_written = [token.text for token in self.tokens[at : at + 2]] == ["extern", '"C"']
            if is_written or (use is not None and "extern" in use.others):
                return True
        return self.parent is not None and self.parent.kind in {"linkage", "namespace"} and self.parent.has_c_linkage

    @property
    def is_member(self) -> bool:
        """Whether it stands in a class."""
        return self.parent is not None and self.parent.kind == "class"

    @property
    def is_constructor(self) -> bool:
        """Whether it is a constructor or a destructor, in its class or behind it."""
        owner = self.qualifier[-1] if self.qualifier else self.parent.name if self.is_member and self.parent else ""
        return bool(owner) and self.name.lstrip("~") == owner

    @property
    def words(self) -> frozenset[str]:
        """The words outside brackets before a first value or a body, by all definitions of a macro that may hold."""
        if self._words is None:
            tokens = [self.tokens[at] for at in self.head]
            others = (word for token in tokens if token.use is not None for word in token.use.others)
            words = frozenset((*(token.text for token in tokens if is_identifier(token.text)), *others))
            self._words = _shared(words)
        return self._words

    @property
    def head(self) -> Iterator[int]:
        """The tokens outside brackets that come before a function's body, a scope's braces or a first value."""
        ends = [span[0] for span in (self.body, *(one.value for one in self.declarators)) if span is not None]
        end = min(ends, default=len(self.tokens))
        return (at for at in self.top if at < end)

    @property
    def specifiers_end(self) -> int:
        """Where the first declarator begins behind the specifiers that all of them share."""
        tokens, first = self.tokens, self.declarators[0]
        end = first.value[0] if first.value else len(tokens)
        name = max(at for at in range(first.first, end) if tokens[at].text == first.name)
        while name > first.first and tokens[name - 1].text in {"*", "&", "&&", "("}:
            name -= 1
        while name > first.first and tokens[name - 1].text == "const" and tokens[name - 2].text == "*":
            name -= 2
        return name

    def __iter__(self) -> Iterator[Declaration]:
        """Yield the declaration and all that stand in it, in order."""
        yield self
        for member in self.members:
            yield from member
