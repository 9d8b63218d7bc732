"""Declarations as a tree of scopes, each with the tokens that it is made of, and what these say.

A parser gathers tokens as a head; what is declared, how it is called and what initialises it is told by that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from hatch_cuda_kernels.cpp.lexer import CLOSING, find_closing, is_identifier, is_literal, is_number, split_at_commas

if TYPE_CHECKING:
    from hatch_cuda_kernels.cpp.stream import Stream, StreamToken


CLASS_KEYS: Final = frozenset({"class", "struct", "union", "enum"})
POINTERS: Final = frozenset({"*", "&", "&&"})
#: What only expressions begin with.
_BEGIN_VALUES: Final = frozenset({"-", "&", "*", "!", "{", "nullptr", "true", "false"})
#: What takes parentheses and is no declarator.
CALLED: Final = frozenset(
    """
    alignas decltype noexcept throw explicit requires typeof __typeof__ __typeof asm __asm__ __asm sizeof alignof
    static_assert _Static_assert _Pragma __pragma __attribute__ __attribute __declspec __align__ __builtin_align__
    __launch_bounds__ __cluster_dims__ __maxnreg__ __block_size__ __nv_pure__ __grid_constant__ __underlying_type
    """.split()  # noqa: SIM905 - a list would take a line a word
)
_TYPES: Final = frozenset({"decltype", "typeof", "__typeof__", "__typeof", "__underlying_type"})
#: What is no type.
NO_TYPES: Final = (CALLED - _TYPES) | frozenset(
    """
    inline static extern virtual constexpr consteval constinit friend explicit mutable thread_local typedef export
    __inline__ __inline __forceinline__ __noinline__ __host__ __device__ __global__ __managed__ __constant__ __shared__
    const volatile noexcept override final try
    """.split()  # noqa: SIM905 - a list would take a line a word
)


#: Returns an equal set that there is already: most declarations have the words of others.
_shared: Final = lru_cache(maxsize=1 << 12)(frozenset[str])


Kind = Literal[
    "namespace", "linkage", "class", "enum", "function", "variable", "alias", "using", "forward", "assertion",
    "instantiation", "concept", "guide", "unknown",
]  # fmt: skip


#: What hardly anybody asks more of than the name, the words and the body.
_SELDOM_ASKED: Final = frozenset({"function", "alias", "assertion"})


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
    begin: int = 0
    """The index of its first token in the stream, or of the first of the use of a macro that this is part of."""
    _body_span: tuple[int, int] | None = None
    """Where its body is in the stream, if that was asked for."""

    def forget(self) -> int:
        """Let go of tokens that hardly anybody asks for; return where those before a body end, or -1 where more may."""
        shares_use = self.tokens[0].nth or self.tokens[-1].use is not None  # with what is before or behind it
        if self.kind not in _SELDOM_ASKED or shares_use or not self.is_closed:
            return -1
        self._words, end = self.words, self.tokens[-1 if self.body is None else -2].at
        if self.body is not None:
            first, last = (self.tokens[at] for at in self.body)
            self._body_span, end = (first.at, last.behind), end if first.text != "try" else -1
        del self.tokens, self.top
        return end

    def again(self, stream: Stream, parent: Declaration | None, begin: int, behind: int) -> Declaration:
        """Return a declaration of the same tokens that stands elsewhere, and ends before a token."""
        found = Declaration(self.kind, stream, [], parent, self.name, self.qualifier, [], self.template)
        found.is_specialization, found.parameters, found.body = self.is_specialization, self.parameters, self.body
        found.declarators, found._words, found.begin = self.declarators, self._words, begin
        if self._body_span is not None:
            found._body_span = begin - self.begin + self._body_span[0], behind
        del found.tokens, found.top
        return found

    def __getattr__(self, name: str) -> Any:
        """Read the tokens again. Raises TextError."""
        if name not in {"tokens", "top"}:
            raise AttributeError(name)
        read = self.stream.read_at(self.begin, self.parent)
        self.tokens, self.top = read.tokens, read.top
        return getattr(self, name)

    @property
    def is_closed(self) -> bool:
        """Whether it ends in a brace or a semicolon."""
        return self.tokens[-1].text in {";", "}"}

    @property
    def has_tail(self) -> bool:
        """Whether more than a semicolon stands behind the braces of a scope."""
        return self.body is not None and self.body[1] + 2 < len(self.tokens)

    @property
    def bases(self) -> set[str]:
        """The names that stand behind the colon of a class."""
        texts = [self.tokens[at].text for at in self.head]
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
        if self.body is None:
            return []
        if self._body_span is None:
            first, last = (self.tokens[at] for at in self.body)
            self._body_span = first.at, last.behind
        return self.stream.texts[slice(*self._body_span)]

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


@dataclass(slots=True)
class Head:
    """The tokens of a declaration as they are read, and what was noticed of them."""

    tokens: list[StreamToken] = field(default_factory=list)
    top: list[int] = field(default_factory=list)
    angles: dict[int, int] = field(default_factory=dict)
    """Where angle brackets open, by where they close."""
    attributes: dict[int, int] = field(default_factory=dict)
    """Where ``[[`` opens, by where it closes."""
    template: tuple[int, int] | None = None
    is_specialization: bool = False
    key: int = -1
    """The last class key."""
    operator: int = -1
    """Where ``operator`` stands that begins a function's name."""
    parameters: tuple[int, int] | None = None
    inner_names: list[int] = field(default_factory=list)
    """The names in ``(*name)`` or ``(name)``."""
    colon: int = -1
    """Where members' initialisers, bases or a bit-field's width begin."""
    value: int = -1
    """Where the value that is being read begins."""
    values: list[tuple[int, int]] = field(default_factory=list)
    commas: list[int] = field(default_factory=list)
    body: tuple[int, int] | None = None

    @property
    def last(self) -> str:
        """The text of the last token that is in no attribute; empty without one."""
        at = self.before(len(self.tokens))
        return self.tokens[at].text if at >= 0 else ""

    def before(self, at: int) -> int:
        """Return the index of the token before one, those of attributes left aside; -1 without one."""
        at -= 1
        while at in self.attributes:
            at = self.attributes[at] - 1
        return at

    def end_value(self) -> None:
        """End the value that is being read, if one is."""
        if self.value >= 0:
            self.values.append((self.value, len(self.tokens)))
            self.value = -1

    def declare(self, kind: Kind, stream: Stream, parent: Declaration | None, names: Sequence[str] = ()) -> Declaration:
        """Return what is declared, with a name and those before it."""
        found = Declaration(kind, stream, self.tokens, parent, "".join(names[-1:]), tuple(names[:-1]), self.top)
        found.template, found.is_specialization = self.template, self.is_specialization
        found.begin = self.tokens[0].at
        return found

    def words(self, first: int = 0, last: int | None = None) -> Iterator[str]:
        """Yield the identifiers outside brackets between two tokens."""
        end = len(self.tokens) if last is None else last
        return filter(is_identifier, (self.tokens[at].text for at in self.top if first <= at < end))


def class_names(head: Head) -> tuple[list[str], bool]:
    """Return a class's name with its qualifiers, and whether it has template arguments."""
    names: list[str] = []
    end = head.colon if head.colon >= 0 else len(head.tokens)
    for at in (at for at in head.top if head.key < at < end):
        text = head.tokens[at].text
        if is_identifier(text) and text not in {*CLASS_KEYS, *CALLED, "final"}:
            names = [*names, text] if names and head.tokens[at - 1].text == "::" else [text]
    return names, any(head.key < close < end for close in head.angles)


def declarators_of(head: Head, first: int, *, is_const: bool = False) -> list[Declarator]:
    """Return the declarators from a token on; ``is_const`` says whether ``const`` stands before a class's braces."""
    ends = [*head.commas, len(head.tokens)]
    found: list[Declarator] = []
    lead = ["const"] * is_const
    specifiers: list[str] = []
    for begin, end in zip([first, *(comma + 1 for comma in head.commas)], ends, strict=True):
        value = next((one for one in head.values if begin <= one[0] < end), None)
        stop = value[0] if value else head.colon if begin <= head.colon < end else end
        top = [at for at in head.top if begin <= at < stop]
        inner = [at for at in head.inner_names if begin <= at < stop]
        names = (at for at in reversed(top) if is_identifier(head.tokens[at].text))
        name = inner[-1] if inner else next((at for at in names if head.tokens[at].text not in CALLED), -1)
        if name < 0:
            continue
        if not found:
            words = (head.tokens[at].text for at in top if at < name)
            specifiers = [*lead, *takewhile(lambda text: text != "*", words)]
        brackets = [at for at in range(name, stop) if head.tokens[at].text == "["]
        is_const = _is_const(head, begin, name, specifiers if found else lead)
        is_open_array = any(head.tokens[at + 1].text == "]" for at in brackets)
        found.append(Declarator(head.tokens[name].text, begin, value, is_const, is_open_array))
    return found


def _bindings(head: Head, first: int) -> list[Declarator]:
    """Return the names of a structured binding: ``auto [x, y] = z;``."""
    texts = [token.text for token in head.tokens]
    opening = texts.index("[") if "[" in texts else 0
    if opening <= first or not {"auto"} <= {*texts[first:opening]} <= {"auto", "const", "static", *POINTERS}:
        return []
    names = texts[opening + 1 : texts.index("]", opening)]
    value = head.values[0] if head.values else None
    return [Declarator(name, first, value) for name in names if is_identifier(name)]


def _is_const(head: Head, begin: int, name: int, specifiers: Sequence[str]) -> bool:
    """Return whether an object itself is const: of a pointer, what is behind the last ``*`` says it."""
    texts = [*specifiers, *(head.tokens[at].text for at in head.top if begin <= at < name)]
    if name in head.inner_names:
        opening = max(at for at in range(name) if head.tokens[at].text == "(")
        texts += [token.text for token in head.tokens[opening:name]]
    return next((text == "const" for text in reversed(texts) if text in {"*", "const"}), False)


def described(head: Head, stream: Stream, parent: Declaration | None) -> Declaration:
    """Return the declaration that a head is."""
    found = head.declare("unknown", stream, parent)
    found.parameters, found.body = head.parameters, head.body
    first = head.template[1] if head.template else 0
    words = [*head.words(first)]
    kind = _kind_by_word(head, words)
    if kind is not None:
        found.kind = kind
        if kind == "instantiation" and head.parameters is not None:
            _name_function(found, head)
        else:
            found.name = _plain_name(head, kind, words)
        return found
    if head.parameters is not None:
        begin, (opening, close) = _name_function(found, head), head.parameters
        needs_type = not (found.name.startswith(("~", "operator ")) or found.is_constructor)
        is_only_name = len([at for at in head.top if first <= at < opening]) == 1
        if is_only_name and [token.text for token in head.tokens[close + 1 : close + 2]] == ["->"]:
            found.kind = "guide"  # S(int) -> S<int>;
        elif not (needs_type and NO_TYPES.issuperset(head.words(first, begin))):  # else it is an unknown macro
            found.kind = "function"
        return found
    found.declarators = _bindings(head, first) or declarators_of(head, first)
    if found.declarators and (len(words) > 1 or head.inner_names or len(found.declarators) > 1):
        found.kind = "variable"
        found.name = found.declarators[0].name
        qualified = (at for at in head.top if head.tokens[at].text == found.name and head.tokens[at - 1].text == "::")
        found.qualifier, _ = _qualifier_before(head, next(qualified, 0))
    return found


#: What a declaration is that begins with a keyword.
_BEGINNINGS: Final[dict[str, Kind]] = {
    "template": "instantiation",
    "namespace": "using",
    **dict.fromkeys(("static_assert", "_Static_assert", "asm", "__asm__", "__asm"), "assertion"),
}


def _kind_by_word(head: Head, words: Sequence[str]) -> Kind | None:
    """Return what a declaration is by its keywords alone; None for a function, a variable or what is not clear."""
    begins = words[0] if words else ""
    if words[:2] == ["extern", "template"]:
        return "instantiation"
    if begins == "using":
        return "alias" if any(head.tokens[at].text == "=" for at in head.top) else "using"
    if "typedef" in words:
        return "alias"
    if "concept" in words:
        return "concept"
    return _BEGINNINGS.get(begins) or ("forward" if _is_forward(head) else None)


def _is_forward(head: Head) -> bool:
    """Return whether a class or an enumeration is declared without what it holds."""
    if head.key < 0 or head.parameters is not None or head.values:
        return False
    words = ((at, head.tokens[at].text) for at in head.top if at > head.key)
    names = [at for at, text in words if is_identifier(text) and text not in CLASS_KEYS | CALLED]
    qualified = sum(head.tokens[at - 1].text == "::" for at in names)
    is_opaque = head.tokens[head.key].text == "enum" and head.colon >= 0
    has_one_name = is_opaque or len(names) - qualified <= 1
    return has_one_name and not any(head.tokens[at].text in POINTERS for at in head.top)


def _plain_name(head: Head, kind: Kind, words: Sequence[str]) -> str:
    if kind == "alias":
        if words[0] == "using":
            return words[1] if len(words) > 1 else ""
        if head.parameters is not None and not head.inner_names:
            return head.tokens[head.before(head.parameters[0])].text
        declared = declarators_of(head, 0)
        return declared[-1].name if declared else ""
    if kind == "concept":
        return "".join(words[list(words).index("concept") + 1 :][:1])
    if kind in {"forward", "instantiation"} and head.key >= 0:
        return "".join(class_names(head)[0][-1:])
    return words[-1] if kind in {"using", "instantiation"} and words else ""


def _name_function(found: Declaration, head: Head) -> int:
    """Set a function's name and qualifier; return where these begin."""
    assert head.parameters is not None  # noqa: S101 - it is a function
    at = head.before(head.parameters[0])
    if head.operator >= 0:
        at = head.operator
        texts = [token.text for token in head.tokens[at : head.parameters[0]]]
        pairs = zip(texts, [*texts[1:], ";"], strict=True)
        found.name = "".join(f"{one} " if is_identifier(one) and is_identifier(two) else one for one, two in pairs)
    elif head.inner_names:
        at = head.inner_names[-1]
        found.name = head.tokens[at].text
    else:
        if at in head.angles:
            at = head.angles[at] - 1
            found.is_specialization = True
        found.name = head.tokens[at].text
        if at and head.tokens[at - 1].text == "~":
            at -= 1
            found.name = f"~{found.name}"
    found.qualifier, begin = _qualifier_before(head, at)
    return begin


def _qualifier_before(head: Head, at: int) -> tuple[tuple[str, ...], int]:
    """Return the names of ``a::b<c>::`` before a name, and where they begin."""
    names: list[str] = []
    while at > 0 and head.tokens[at - 1].text == "::":
        at -= 2
        if at in head.angles:
            at = head.angles[at] - 1
        if at < 0 or not is_identifier(head.tokens[at].text):
            return tuple(names), at + 1
        names.insert(0, head.tokens[at].text)
    return tuple(names), at


def is_value(head: Head, first: int, close: int) -> bool:
    """Return whether what is in parentheses is no parameter: a literal, or what only expressions begin with."""
    texts = [token.text for token in head.tokens[first + 1 : close]] if head.operator < 0 else []
    is_first, at = True, 0
    while at < len(texts):
        text = texts[at]
        if is_first and (is_number(text) or is_literal(text) or text in _BEGIN_VALUES):
            return True
        if text == "=":
            return False
        is_first = text == ","
        opens = text in CLOSING or (text == "<" and at > 0 and is_identifier(texts[at - 1]))
        at = 1 + ((find_closing(texts, at) if opens else None) or at)
    return False
