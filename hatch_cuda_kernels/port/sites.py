"""Where code names templates and launches kernels, with what the names around stand for there.

A function's body is read once, its macros expanded: so a project's own macros that launch or dispatch need no rule.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from hatch_cuda_kernels.cpp import INCLUSION, MacroToken, TextError, is_identifier
from hatch_cuda_kernels.libraries import dispatched, returns_data
from hatch_cuda_kernels.port.spelling import closing, replaced, spelled, split, tight, words

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from hatch_cuda_kernels.cpp import Declaration, Stream
    from hatch_cuda_kernels.port.spelling import Spelling

__all__ = ["Alternatives", "Code", "Owner", "Site", "code_of_body", "code_of_head", "find_sites", "without_restrict"]

_DEEPEST: Final = 6
_LONGEST: Final = 100
_BUILTIN: Final = frozenset(
    ["auto", "bool", "char", "double", "float", "int", "long", "short", "signed", "unsigned", "void", "wchar_t"]
)
_SPECIFIERS: Final = frozenset(
    ["const", "constexpr", "extern", "inline", "register", "static", "thread_local", "volatile", "__shared__"]
)
_POINTERS: Final = frozenset(["*", "&", "&&", "const", "volatile", "__restrict__", "__restrict", "restrict"])
_RESTRICT: Final = frozenset({"__restrict__", "__restrict", "restrict"})
#: What is no type that a declaration begins with.
_KEYWORDS: Final = frozenset(
    """
    break case catch continue default delete do else for goto if new operator private protected public return sizeof
    struct switch template throw try using while
    """.split()  # noqa: SIM905 - a list would take a line a word
)
_BEFORE_STATEMENT: Final = frozenset([";", "{", "}", "(", ",", ":", ")"])
_BEHIND_NAME: Final = frozenset(["=", ";", "(", "{", "[", ",", ")", ":"])
_CASTS: Final = frozenset({"static_cast", "reinterpret_cast", "const_cast"})
#: What a constant's value may consist of beside words and need no parentheses.
_PLAIN: Final = frozenset(["::", "<", ">", ",", ".", "*", "&"])


_BRACES: Final = (MacroToken("{"), MacroToken("}"))


class Owner(NamedTuple):
    """A template around a place: what it is used by, and its parameters."""

    name: str
    parameters: tuple[str, ...]
    is_class: bool = False


class Alternatives:
    """Names that stand for several things in a piece of code: a lambda's ``auto`` parameters, or a dispatched type."""

    def __init__(self, parameters: tuple[str, ...], bindings: Iterable[dict[str, Spelling]] = ()) -> None:
        self.parameters: Final = parameters
        self.bindings: Final = [*bindings]
        """A parameter stands for a value of its type: ``float{}``."""


class Site(NamedTuple):
    """A place that names a template or launches a kernel."""

    file: str
    line: int
    offset: int
    kernel: str
    """As it is spelled, with its qualifiers."""
    template: tuple[Spelling, ...] | None
    """The template arguments as they are spelled; None where none are."""
    settled: tuple[Spelling, ...]
    """The same with what constants and aliases of the function stand for."""
    configuration: tuple[Spelling, ...] | None
    """Between ``<<<`` and ``>>>``; None where nothing is launched."""
    arguments: tuple[Spelling, ...] | None
    types: tuple[Spelling, ...]
    """Of each argument; empty where it is unknown."""
    around: tuple[Alternatives, ...]
    """The dispatch macros and lambdas around the place, the innermost first."""
    owners: tuple[Owner, ...]

    @property
    def name(self) -> str:
        """The name without qualifiers."""
        return self.kernel.rpartition("::")[2]


class Code(NamedTuple):
    """Tokens of code, expanded, with the index in the stream of the one that each comes from."""

    stream: Stream
    tokens: list[MacroToken]
    places: list[int]


def code_of_head(declaration: Declaration) -> Code:
    """Return what of a declaration is outside bodies."""
    tokens = tight(MacroToken(token.text) for token in declaration.tokens)
    return Code(declaration.stream, [*tokens], [token.at for token in declaration.tokens])


def code_of_body(declaration: Declaration) -> Code:
    """Return a function's body. Macros that become more than anybody writes end it."""
    assert declaration.body is not None  # noqa: S101 - for the caller to see to
    first, last = (declaration.tokens[at] for at in declaration.body)
    code = Code(declaration.stream, [], [])
    if first.use is not None and first.use is last.use:
        _add(code, first.use.tokens[first.nth : last.nth + 1], first.at)
        return code
    if first.use is not None:
        _add(code, first.use.tokens[first.nth :], first.at)
    at = first.at if first.use is None else first.use.last
    try:
        _expand(code, at, last.at)
    except TextError:
        return code
    _add(code, last.use.tokens[: last.nth + 1] if last.use is not None else (MacroToken("}"),), last.at)
    return code


def _add(code: Code, tokens: Sequence[MacroToken], place: int) -> None:
    code.tokens.extend(tokens)
    code.places.extend([place] * len(tokens))


def _expand(code: Code, at: int, end: int) -> None:
    stream, behind = code.stream, -1
    while at < end:
        text = stream.texts[at]
        if text.startswith(INCLUSION):
            at += 1
            continue
        macro = stream.macro(at) if text in stream.known else None
        use = None if macro is None else stream.use(at, macro)
        if use is not None:
            _add(code, stream.spelled(use), at)
            at = use.last
            continue
        _, start, stop = stream.place(at)
        code.tokens.append(MacroToken(text, start != behind))
        code.places.append(at)
        at, behind = at + 1, stop


def without_restrict(tokens: Spelling) -> Spelling:
    """Return a type without what tells only the optimizer something."""
    return tuple(token for token in tokens if token.text not in _RESTRICT)


def find_sites(
    code: Code,
    names: Collection[str],
    owners: tuple[Owner, ...],
    outer: Mapping[str, Spelling],
    functions: Collection[str],
) -> Iterator[Site]:
    """Yield the launches in code, and the places that name one of some templates.

    ``outer`` are the types of names that are declared around it. What ``functions`` return is not known.
    """
    return _Walk(code, names, owners, outer, functions).sites()


class _SiteScope:
    """What a pair of braces declares."""

    def __init__(self) -> None:
        self.meanings: Final[dict[str, Spelling]] = {}
        self.types: Final[dict[str, Spelling]] = {}


class _Walk:
    def __init__(
        self,
        code: Code,
        names: Collection[str],
        owners: tuple[Owner, ...],
        outer: Mapping[str, Spelling],
        functions: Collection[str],
    ) -> None:
        self._code: Final = code
        self._tokens: Final = code.tokens
        self._names: Final = names
        self._owners: Final = owners
        self._outer: Final = outer
        self._functions: Final = functions
        self._scopes: Final = [_SiteScope()]
        self._depth = 0
        self._lambdas: Final[dict[str, Alternatives]] = {}
        self._bodies: Final[dict[int, Alternatives]] = {}
        """Generic lambdas by where their bodies begin."""
        self._open: Final[list[tuple[int, Alternatives]]] = []
        """With how many brackets are around what is inside each."""

    def _text(self, at: int) -> str:
        return self._tokens[at].text if 0 <= at < len(self._tokens) else ""

    def _part(self, first: int, last: int) -> Spelling:
        return tuple(self._tokens[first:last])

    def sites(self) -> Iterator[Site]:
        for at, token in enumerate(self._tokens):
            text = token.text
            if text in {"{", "}", "(", ")"}:
                self._bracket(at, text)
            elif text == "<<" and self._begins_launch(at):
                kernel = self._kernel_before(at)
                if kernel is not None and self._text(kernel) not in self._names:
                    yield self._site(kernel)
            elif is_identifier(text):
                if self._text(at - 1) in _BEFORE_STATEMENT or not at:
                    self._declare(at)
                self._notice_calls(at)
                if text in self._names and self._text(at - 1) not in {".", "->"}:
                    yield self._site(at)

    def _bracket(self, at: int, text: str) -> None:
        """Open or close a scope, a generic lambda's body, or the arguments of a macro that dispatches."""
        if text == "{":
            self._scopes.append(_SiteScope())
        elif text == "}" and len(self._scopes) > 1:
            self._scopes.pop()
        self._depth += 1 if text in {"{", "("} else -1
        while self._open and self._open[-1][0] > self._depth:
            self._open.pop()
        if at in self._bodies:
            self._open.append((self._depth, self._bodies[at]))

    def _notice_calls(self, at: int) -> None:
        """Note the call of a generic lambda, or the types that a macro dispatches over."""
        text = self._text(at)
        if self._text(at + 1) != "(" or not (text in self._lambdas or "DISPATCH_" in text):
            return
        if text in self._lambdas:
            called = self._lambdas[text]
            kinds = map(self._type_of, self._bracketed(at + 1, "(")[0] or ())
            pairs = zip(called.parameters, kinds, strict=False)
            called.bindings.append({name: (*kind, *_BRACES) for name, kind in pairs if name and kind})
            return
        head = at + 2
        while head < len(self._tokens) and self._text(head) not in {"{", "["}:
            head += 1
        found = dispatched(text, frozenset(words(self._tokens[at + 2 : head])))
        if found is not None:
            name, types = found
            self._open.append((self._depth + 1, Alternatives((name,), ({name: spelled(one)} for one in types))))

    def _bracketed(self, at: int, opening: str) -> tuple[tuple[Spelling, ...] | None, int]:
        """Return what commas separate in brackets that open at a token, and where the code goes on; None without."""
        end = closing(self._tokens, at, is_angle=opening == "<") if self._text(at) == opening else None
        return (None, at) if end is None else (tuple(split(self._tokens[at + 1 : end])), end + 1)

    def _begins_launch(self, at: int) -> bool:
        return self._text(at) == "<<" and self._text(at + 1) == "<"

    def _kernel_before(self, at: int) -> int | None:
        """Return where the name of the kernel is that is launched behind a token."""
        last = at - 1
        if self._text(last) == ")":
            last -= 1
        depth = 0
        while self._text(last) in {">", *_PLAIN} or is_identifier(self._text(last) or " ") or depth:
            text = self._text(last)
            depth += (text == ">") - (text == "<")
            if not depth and is_identifier(text or " "):
                return last
            last -= 1
            if last < 0 or depth < 0 or text in {";", "{", "}"}:
                break
        return None

    def _site(self, at: int) -> Site:
        begin = at
        while self._text(begin - 1) == "::" and is_identifier(self._text(begin - 2) or " "):
            begin -= 2
        template, behind = self._bracketed(at + 1, "<")
        if self._text(behind) == ")" and self._begins_launch(behind + 1):
            behind += 1
        configuration: tuple[Spelling, ...] | None = None
        end = self._end_of_configuration(behind + 2) if self._begins_launch(behind) else None
        if end is not None:
            configuration, behind = tuple(split(self._tokens[behind + 2 : end])), end + 3
        arguments, _ = self._bracketed(behind, "(")
        file, offset, _ = self._code.stream.place(self._code.places[at])
        return Site(
            file.name,
            file.line(offset),
            offset,
            "".join(token.text for token in self._tokens[begin : at + 1]),
            template,
            tuple(map(self._settled, template or ())),
            configuration,
            arguments,
            tuple(map(self._type_of, arguments or ())),
            tuple(one for _, one in reversed(self._open)),
            self._owners,
        )

    def _end_of_configuration(self, at: int) -> int | None:
        depth = 0
        while at + 2 < len(self._tokens):
            text = self._text(at)
            depth += (text in {"(", "{", "["}) - (text in {")", "}", "]"})
            if depth < 0 or text == ";":
                return None
            if not depth and [self._text(at + n) for n in range(3)] == [">", ">", ">"]:
                return at if self._text(at + 3) == "(" else None
            at += 1
        return None

    # What names stand for.

    def _settled(self, tokens: Spelling) -> Spelling:
        meanings: dict[str, Spelling] = {}
        for scope in self._scopes:
            meanings |= scope.meanings
        for _ in range(_DEEPEST):
            found = replaced(tokens, meanings)
            if found == tokens or len(found) > _LONGEST:
                break
            tokens = found
        return tokens

    def _declare(self, at: int) -> None:
        """Note what a statement declares that begins at a token, if it declares anything."""
        if self._text(at) == "using" and self._text(at + 2) == "=":
            self._mean(self._text(at + 1), self._part(at + 3, self._end_of_value(at + 3, {";"})))
            return
        if self._text(at) == "typedef":
            end = self._end_of_value(at, {";"})
            if is_identifier(self._text(end - 1) or " "):
                self._mean(self._text(end - 1), self._part(at + 1, end - 1))
            return
        if self._text(at) == "enum":
            self._enumerate(at)
            return
        is_parameter = self._text(at - 1) in {"(", ","}
        specifiers: set[str] = set()
        while self._text(at) in _SPECIFIERS:
            specifiers.add(self._text(at))
            at += 1
        end = self._end_of_type(at)
        base = self._part(at, end)
        behind = self._declarator(base, end, specifiers, is_parameter=is_parameter) if base else at
        while behind > end and self._text(behind) == "," and not is_parameter:
            at = behind + 1
            behind, end = self._declarator(base, at, specifiers, is_parameter=False), at

    def _declarator(self, base: Spelling, begin: int, specifiers: set[str], *, is_parameter: bool) -> int:
        """Note a name that is declared with a type; return where what initialises it ends."""
        at = begin
        while self._text(at) in _POINTERS:
            at += 1
        name, behind = self._text(at), self._text(at + 1)
        if not is_identifier(name or " ") or name in {*_KEYWORDS, *_BUILTIN} or behind not in _BEHIND_NAME:
            return begin
        kind = (*base, *(token for token in self._tokens[begin:at] if token.text not in _RESTRICT))
        is_const = not specifiers.isdisjoint({"const", "constexpr"})
        is_auto = any(token.text == "auto" for token in base)
        if is_const and base and not is_auto:
            kind = (MacroToken("const"), kind[0]._replace(is_spaced=True), *kind[1:])
        end = self._end_of_value(at + 1, {";", ","})
        value = self._part(at + 2, end) if behind == "=" else ()
        if is_auto and value and value[0].text == "[":
            self._lambda(name, at + 2)
            return end
        if is_auto:
            kind = self._type_of(value)
        if not is_parameter or not self._known_type(name):
            pointer = (MacroToken("*"),) if behind == "[" and kind else ()
            self._scopes[-1].types[name] = (*self._settled(kind), *pointer)
        if is_const and begin == at:
            self._constant(name, base, at + 1, value, is_constexpr="constexpr" in specifiers)
        return end

    def _enumerate(self, at: int) -> None:
        """Note the values that an enumeration gives its names."""
        while self._text(at) not in {"{", ";", "}", ")", ""}:
            at += 1
        for part in self._bracketed(at, "{")[0] or ():
            if len(part) > 2 and part[1].text == "=":
                self._mean(part[0].text, part[2:])

    def _constant(self, name: str, kind: Spelling, behind: int, value: Spelling, *, is_constexpr: bool) -> None:
        if value and value[0].text != "{":
            is_plain = all(
                is_identifier(token.text) or token.text[0].isalnum() or token.text in _PLAIN for token in value
            )
            self._mean(name, value if is_plain else (MacroToken("("), *value, MacroToken(")")))
        elif is_constexpr and not value and self._text(behind) in {";", "{"}:
            inner = (
                self._part(behind + 1, closing(self._tokens, behind) or behind + 1) if self._text(behind) == "{" else ()
            )
            if inner:
                self._mean(name, inner)
            elif kind and kind[0].text not in _BUILTIN:
                self._mean(name, (*kind, *_BRACES))

    def _mean(self, name: str, tokens: Spelling) -> None:
        if tokens and name not in words(tokens):
            self._scopes[-1].meanings[name] = (tokens[0]._replace(is_spaced=False), *tokens[1:])

    def _lambda(self, name: str, at: int) -> None:
        """Note a lambda with a name and generic parameters, whose captures begin at a token."""
        parameters, body = self._bracketed(self._bracketed(at, "[")[1], "(")
        names = tuple(part[-1].text if "auto" in words(part) and len(part) > 1 else "" for part in parameters or ())
        while self._text(body) not in {"{", ";", "}", ""}:
            body += 1
        if any(names) and self._text(body) == "{":
            self._lambdas[name] = self._bodies[body] = Alternatives(names)

    def _end_of_type(self, at: int) -> int:
        """Return where the type ends that begins at a token; the token itself where none does."""
        first = at
        if self._text(at) in _BUILTIN:
            while self._text(at) in {*_BUILTIN, "const"}:
                at += 1
            return at
        if self._text(at) == "typename":
            at += 1
        while True:
            at += self._text(at) == "::"
            if not is_identifier(self._text(at) or " ") or self._text(at) in {*_KEYWORDS, *_BUILTIN}:
                return first
            at += 1
            if self._text(at) == "<":
                end = closing(self._tokens, at, is_angle=True)
                if end is None:
                    return first
                at = end + 1
            if self._text(at) != "::":
                return at + (self._text(at) == "const")

    def _end_of_value(self, at: int, ends: Collection[str]) -> int:
        depth = angles = 0
        while at < len(self._tokens):
            text = self._text(at)
            if not depth and text in ends and not (text == "," and angles):
                return at
            if text == "<" and not depth and closing(self._tokens[at : at + _LONGEST], 0, is_angle=True) is not None:
                angles += 1
            elif text == ">" and angles and not depth:
                angles -= 1
            depth += (text in {"(", "{", "["}) - (text in {")", "}", "]"})
            if depth < 0:
                return at
            at += 1
        return at

    # Types of expressions.

    def _known_type(self, name: str) -> Spelling:
        for scope in reversed(self._scopes):
            if name in scope.types:
                return scope.types[name]
        return self._outer.get(name, ())

    def _type_of(self, tokens: Spelling) -> Spelling:
        """Return the type of an expression: of a variable, a cast, an object that is made; empty where unknown."""
        texts = [token.text for token in tokens]
        if len(texts) == 1:
            return self._known_type(texts[0]) if is_identifier(texts[0]) else ()
        if not texts:
            return ()
        is_made = texts[-2:] == ["{", "}"] or (texts[0] in _BUILTIN and texts[-2:] == ["(", ")"])
        if is_made and (texts[0] == "::" or is_identifier(texts[0])):
            return self._settled(tokens[:-2])
        if texts[0] in _CASTS and texts[1] == "<":
            end = closing(tokens, 1, is_angle=True)
            return () if end is None else self._settled(tokens[2:end])
        if texts[0] == "(":
            close = closing(tokens, 0)
            inner = tokens[1:close] if close is not None and close + 1 < len(tokens) else ()
            is_type = (
                bool(inner)
                and inner[-1].text == "*"
                and all(is_identifier(one.text) or one.text in {"::", "<", ">", "*", ","} for one in inner)
            )
            return self._settled(inner) if is_type else ()
        return self._made(tokens, texts)

    def _made(self, tokens: Spelling, texts: Sequence[str]) -> Spelling:
        """Return the type of ``Name<...>(...)``, or what ``data<T>()`` of an object points to; empty for others."""
        at = 0
        while at < len(texts) and (is_identifier(texts[at]) or texts[at] in {"::", ".", "->"}):
            at += 1
        name = texts[at - 1] if at else ""
        if at < len(texts) and texts[at] == "(" and not returns_data(name):
            close = closing(tokens, at)
            rest = tokens[close + 1 :] if close is not None else ()
            return self._made(rest, texts[len(texts) - len(rest) :]) if rest and rest[0].text in {".", "->"} else ()
        if not at or at >= len(texts) or texts[at] != "<":
            return ()
        end = closing(tokens, at, is_angle=True)
        if end is None or end + 1 >= len(texts) or texts[end + 1] not in {"(", "{"}:
            return ()
        if closing(tokens, end + 1) != len(tokens) - 1:
            return ()
        if returns_data(name) and at > 1:
            return (*self._settled(tokens[at + 1 : end]), MacroToken("*"))
        is_type = not {".", "->"} & {*texts[:at]} and name not in self._functions
        return self._settled(tokens[: end + 1]) if is_type else ()
