"""Headers that sources use without an include: nvcc includes some by itself, and headers of the host's bring others.

NVRTC includes nothing. So a name of a library's that a source uses where NVRTC reads it, and that the project does not
declare, brings its header, which is included before the source. What has which name is in the tables of libraries.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import chain, compress
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar

from hatch_cuda_kernels import libraries
from hatch_cuda_kernels.cpp.lexer import SourceFile, UnbalancedError, is_identifier
from hatch_cuda_kernels.cpp.macros import MacroTable, parse_define
from hatch_cuda_kernels.cpp.unit import Branches, Inclusion, InclusionError, Run, Unit
from hatch_cuda_kernels.names import VIRTUAL_ROOT
from hatch_cuda_kernels.source.plain_names import PlainNames

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from hatch_cuda_kernels.cpp.declarations import Declaration
    from hatch_cuda_kernels.cpp.lexer import Directive
    from hatch_cuda_kernels.cpp.macros import Macro
    from hatch_cuda_kernels.cpp.unit import Item
    from hatch_cuda_kernels.includes.closure import Closure
    from hatch_cuda_kernels.includes.outer import OuterHeaders
    from hatch_cuda_kernels.includes.project import Readings
    from hatch_cuda_kernels.options import NvrtcOptions

__all__ = ["implied_headers", "surely_included", "with_headers"]

_T = TypeVar("_T")
AnyClosure = TypeVar("AnyClosure", bound="Closure")
#: A qualified name: ``("std", "max")``. The first is empty for one of the global namespace; the last is ``(`` behind
#: what is called.
Chain: TypeAlias = tuple[str, ...]

_REGISTER: Final = "hatch_cuda_kernels/register.h"
_LONG_LONG: Final = "hatch_cuda_kernels/long_long.h"
#: The folder of headers that no library has.
_OURS: Final = "hatch_cuda_kernels/"
_INCLUDES: Final = frozenset({"include", "include_next", "import"})
_CONDITIONS: Final = frozenset({"if", "ifdef", "ifndef", "elif", "elifdef", "elifndef"})
#: Words before a name that qualify nothing.
_NO_SCOPE: Final = frozenset({"and", "case", "co_return", "co_yield", "do", "else", "not", "or", "return", "throw"})
#: What the same types are called besides: to give one the name again that the library's has is no error.
_SAME: Final[Mapping[str, frozenset[str]]] = {
    "uint": frozenset({"unsigned", "unsigned int", "uint32_t", "std :: uint32_t"}),
    "uint32_t": frozenset({"unsigned", "unsigned int"}),
    "ulong": frozenset({"unsigned long"}),
    "ushort": frozenset({"unsigned short"}),
    "uchar": frozenset({"unsigned char"}),
    "u_char": frozenset({"unsigned char"}),
}
_WIDE: Final = frozenset({"int64_t", "uint64_t"})


def with_headers(closure: AnyClosure, names: tuple[str, ...], outer: OuterHeaders) -> AnyClosure:
    """Return a closure with some headers before its source."""
    if not names:
        return closure
    fresh = outer.without_asked(closure.asked)
    plain = PlainNames(fresh, lambda _: None, {name for name, _ in closure.headers} - outer.standard.names)
    plain.answer(names)
    in_memory = dict(closure.headers) | {name: outer.standard.text(name).text for name in plain.standard}
    return replace(
        closure,
        headers=tuple(sorted(in_memory.items())),
        pre_include=(*names, *closure.pre_include),
        outside=_union(closure.outside, plain.outside),
        standard=_union(closure.standard, plain.standard),
        named=_union(closure.named, names),
        asked=_union(closure.asked, plain.asked),
    )


def _union(some: Iterable[str], others: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted({*some, *others}))


def implied_headers(
    closure: Closure,
    declarations: Iterable[Declaration],
    removed: Collection[str],
    cut_headers: Collection[str],
    options: NvrtcOptions,
    outer: OuterHeaders,
    readings: Readings,
) -> tuple[str, ...]:
    """Return the headers that a closure's project files use without an include, in the order to include them.

    ``declarations`` are the project's, before anything of them was cut, and ``removed`` are the names of those that are
    gone: no header gives one of them another meaning. ``cut_headers`` are those of the host's that are not included.
    """
    uses = _Uses(closure, options, readings)
    if not uses.found and not uses.aliases:
        return ()
    declared = _Declared.of(declarations)
    uses.add_aliases(dict((*declared.aliases, *uses.aliases)))
    wanted = _Wanted(closure, uses, declared, frozenset(removed), frozenset(cut_headers))
    names = {*wanted.standard(), *wanted.toolkits(), *wanted.libraries()}
    if "register" in uses.found:
        names.add(_REGISTER)
    if declared.has_long_long:
        names.add(_LONG_LONG)
    names = {name for name in names if name in outer.standard or (outer.standard.names and not name.startswith(_OURS))}
    first = (_LONG_LONG, *(libraries.global_names()[name] for name in libraries.renamed_functions()))
    return tuple(sorted(names, key=lambda name: (name not in first, name)))


def surely_included(text: str) -> Iterator[str]:
    """Yield the headers that a text includes outside any condition but the one around all of it."""
    depth = guard = 0
    for directive in SourceFile("", text).directives:
        if directive.word in _INCLUDES:
            if depth <= guard and (name := _spelled(directive)):
                yield name
        elif directive.word == "endif":
            depth -= 1
        elif directive.word in {"if", "ifdef", "ifndef"}:
            guard = guard or int(not depth and directive.word == "ifndef")
            depth += 1


def _spelled(directive: Directive) -> str:
    """Return the name that an include spells; empty where a macro does."""
    operand = directive.operand.strip()
    return operand[1:].partition('"' if operand[0] == '"' else ">")[0] if operand[:1] in {'"', "<"} else ""


@dataclass(slots=True)
class _Declared:
    """What a project declares that has to do with names of libraries."""

    names: set[str] = field(default_factory=set)
    """Types, constants, variables and enumerators, in any scope."""
    functions: set[str] = field(default_factory=set)
    kernels: set[str] = field(default_factory=set)
    members: set[Chain] = field(default_factory=set)
    """What is declared in a library's namespace: its root, and the name."""
    opened: set[Chain] = field(default_factory=set)
    """The namespaces that ``using namespace`` opens."""
    entered: set[Chain] = field(default_factory=set)
    """Those of libraries in which something is declared."""
    aliases: set[tuple[str, Chain]] = field(default_factory=set)
    """Other names of namespaces."""
    has_long_long: bool = False
    """Whether a type of 64 bits is ``long long``, as in texts that know NVRTC."""

    @classmethod
    def of(cls, declarations: Iterable[Declaration]) -> _Declared:
        found = cls()
        for one in declarations:
            found._add(one)
        return found

    def _add(self, one: Declaration) -> None:
        names = {one.name, *(each.name for each in one.declarators), *one.enumerators} - {""}
        if one.kind == "using":
            self._add_using([token.text for token in one.tokens])
            return
        if one.kind == "function" and "__global__" in one.words:
            self.kernels |= names
        if one.kind == "alias":
            names = {name for name in names if not self._is_same(one, name)}
        if one.kind == "function" and not _is_for_other_numbers(one):
            self.functions |= names
        elif one.kind in {"class", "enum", "alias"} or (one.kind == "variable" and not one.is_member):
            self.names |= names
        scope = tuple(filter(None, (*one.scope, *(one.qualifier if one.kind == "namespace" else ()))))
        if scope and scope[0] in _roots() and one.kind not in {"forward", "namespace"}:
            self.members |= {(scope[0], name) for name in names}
            self.entered |= {scope[:count] for count in range(1, len(scope) + 1)}

    def _add_using(self, tokens: Sequence[str]) -> None:
        if tokens[:2] == ["using", "namespace"]:
            first = 2 + (tokens[2] == "::")
            self.opened.add(_chain(tokens, first))
        elif tokens[0] == "namespace" and tokens[2:3] == ["="]:
            self.aliases.add((tokens[1], _chain(tokens, 3 + (tokens[3] == "::"))))

    def _is_same(self, one: Declaration, name: str) -> bool:
        """Return whether an alias means what the library's type of its name is."""
        texts = [token.text for token in one.tokens if token.text not in {"typedef", "using", "=", ";", name}]
        if name in _WIDE and texts.count("long") == len(_WIDE):
            self.has_long_long |= any("RTC" in directive.operand for directive in one.stream.file.directives)
        return " ".join(texts) in _SAME.get(name, ())


def _is_for_other_numbers(one: Declaration) -> bool:
    """Return whether a function is for double or Thrust's numbers only: many a project adds these to Torch's."""
    if one.parameters is None or not any(one.name in other.names for other in libraries.left_out_names() if other.by):
        return False
    first = [token.text for token in one.tokens[one.parameters[0] + 1 : one.parameters[0] + 3]]
    return first[:1] == ["double"] or first == ["thrust", "::"]


class _Wanted:
    """Which headers the uses of a source ask for."""

    def __init__(
        self, closure: Closure, uses: _Uses, declared: _Declared, removed: frozenset[str], cut_headers: frozenset[str]
    ) -> None:
        self._closure: Final = closure
        self._uses: Final = uses
        self._declared: Final = declared
        self._removed: Final = removed
        self._left_out: Final = cut_headers

    def _of(self, names: Iterable[str]) -> Iterator[str]:
        """Yield those of some names that are used and that the project does not declare."""
        declared = self._declared
        own = declared.functions & libraries.own_functions()
        return (
            name
            for name in names
            if name in self._uses.found and name not in declared.names | self._removed and name not in own
        )

    def standard(self) -> Iterator[str]:
        """Yield the standard headers."""
        uses, declared = self._uses, self._declared
        known, members = libraries.global_names(), libraries.std_names()
        asked = uses.asked if not self._left_out else frozenset()  # one of these perhaps has them
        renamed = libraries.renamed_functions()
        is_own = not renamed.isdisjoint((*declared.kernels, *self._removed))
        for name in self._of(known):
            is_asked = name in asked and known[name] in libraries.unasked_headers()
            if not is_asked and not (is_own and name in renamed):
                yield known[name]
        for one in uses.chains({"std"}):
            if one[1] in members and one[:2] not in declared.members:
                yield members[one[1]]
        if ("std",) in declared.opened:
            used = (name for name in self._of(libraries.std_templates()) if ("std", name) not in declared.members)
            yield from (members[name] for name in used)

    def toolkits(self) -> Iterator[str]:
        """Yield the headers of the toolkit's of names that nvcc, or what is left out, brings."""
        members = libraries.std_names()
        asked = {one[2] for one in self._uses.chains({"cuda"}) if one[1] == "std" and len(one) > 2}
        standard = {members[name] for name in asked & members.keys()} & libraries.libcudacxx_headers()
        names = {f"cuda/std/{name}" for name in standard}
        tables = [libraries.implicit_names(), *([libraries.device_names()] if self._left_out else [])]
        if any(name.startswith(("cub/", "thrust/")) for name in self._left_out):
            tables.append(libraries.version_headers())
        names |= {table[name] for table in tables for name in self._of(table)}
        paths = [path for path, _ in self._closure.headers]
        return (name for name in names if not any(path.endswith(f"/{name}") for path in paths))

    def libraries(self) -> Iterator[str]:
        """Yield this package's headers for what is left out of libraries."""
        if not self._left_out:
            return
        paths = {path.rpartition("/")[2] for path, _ in self._closure.headers if path.startswith(VIRTUAL_ROOT)}
        there = {*self._closure.outside, *self.toolkits(), *(libraries.library_copies() & paths)}
        there |= {name.rpartition("/")[2] for name in there}
        for one in libraries.left_out_names():
            used = {*self._of(one.names)}
            if one.are_macros:
                used -= self._uses.defined
            if one.by:
                used -= {name for name in self._declared.functions if ("", name) not in self._uses.found}
            is_brought = not one.by or not self._left_out.isdisjoint(one.by)
            if used and is_brought and not (one.unless and any(name.startswith(one.unless) for name in there)):
                yield one.header
        folders = {name.partition("boost/")[2].partition("/")[0].partition(".")[0] for name in self._left_out}
        for names in self._members({"boost"}):
            brought = libraries.boost_headers().get(names[1], {})
            yield from (header for folder, header in brought.items() if folder in folders)
        yield from self._torch()

    def _members(self, roots: Collection[str]) -> Iterator[Chain]:
        """Yield the names of some namespaces that are used, and that the project does not declare in them."""
        own = {name for root, name in self._declared.members if root in roots}
        return (one for one in self._uses.chains(roots) if own.isdisjoint(one))

    def _torch(self) -> Iterator[str]:
        torch, declared, uses = libraries.torch(), self._declared, self._uses
        paths = {path for one in self._members(torch.roots) for path in _torch_paths(one)}
        opened = {one[1:] for one in declared.opened if one[0] in torch.roots}
        spaces = {*torch.opened} & {*opened, *(one[1:] for one in declared.entered if one[0] in torch.roots)}
        inner = (path for path in torch.names if path[:-1] in spaces and path[-1] in uses.found)
        own = declared.functions | declared.names
        paths |= {
            path for path in inner if path[-1] not in own and torch.only_with.get(path, "") in {"", *self._left_out}
        }
        yield from (torch.names[path] for path in paths)
        words = {word for one in uses.found for word in ((one,) if isinstance(one, str) else one[1:])}
        if torch.complex in {torch.names[path] for path in paths} and not torch.complex_words.isdisjoint(words):
            yield torch.complex_math
        if not opened.isdisjoint(torch.opened):
            yield torch.inner_namespaces
        if any(len(meant) == 1 and meant[0] in torch.roots for _, meant in declared.aliases):
            yield torch.namespaces


def _torch_paths(one: Chain) -> Iterator[Chain]:
    """Yield the paths of names of Torch's that a qualified name is, or begins with; ``at::complex(...)`` is none."""
    torch = libraries.torch()
    plain = one[:-1] if one[-1] == "(" and one[-2] != "complex" else one
    for skipped in range(1, len(plain)):
        rest = plain[skipped:]
        yield from (rest[:count] for count in range(2, len(rest) + 1) if rest[:count] in torch.names)
        if rest in torch.names:
            yield rest
        if plain[skipped] not in torch.passed:
            return


class _Uses:
    """The names that a source uses where their headers are not included yet, in what NVRTC reads of the project."""

    def __init__(self, closure: Closure, options: NvrtcOptions, readings: Readings) -> None:
        texts = {**dict(closure.headers), closure.program_name: closure.source}
        self.files: Final = {name: readings.of(SourceFile, name, text) for name, text in texts.items()}
        self.runs: Final[dict[str, set[int]]] = defaultdict(set)
        """The runs of each project file that count."""
        self.found: Final[set[str | Chain]] = set()
        self.asked: Final[set[str]] = set()
        """The macros of which conditions ask whether they are defined."""
        self.defined: Final[set[str]] = set()
        """The macros that the project defines."""
        self.aliases: Final[set[tuple[str, Chain]]] = set()
        """Macros that stand for namespaces."""
        self._readings: Final = readings
        start = (*(name for name in closure.pre_include if name in texts), closure.program_name)
        try:
            unit = Unit.read(self.files, start, self._resolve, _macros_of_nvrtc(options))
        except (UnbalancedError, InclusionError):  # which NVRTC will refuse
            for file in self.files.values():
                for number in range(len(file.directives) + 1):
                    self._run(file, number, frozenset())
        else:
            self._walk(unit)

    def _resolve(self, _file: SourceFile, directive: Directive, _macros: MacroTable) -> Sequence[str]:
        name = _spelled(directive)
        return [name] if name in self.files else []

    def _walk(self, unit: Unit) -> None:
        """Go through what is read, in order; what is included in a branch that may be off is not, behind that."""
        self.asked.update(*(_asked(one.directive) for one in unit.conditions if one.file.name.startswith(VIRTUAL_ROOT)))
        for macro in unit.macros.definitions():
            if macro.file.startswith(VIRTUAL_ROOT):
                self.defined.add(macro.name)
                meant = [token.text for token in macro.body if token.text != "::"]
                if len(meant) > 1 and meant[0] in {"cuda", *_roots()} and all(map(is_identifier, meant)):
                    self.aliases.add((macro.name, tuple(meant)))
        known: set[str] = set()
        waiting: list[tuple[SourceFile, Iterator[Item], set[str]]] = [
            (visit.file, iter(visit.items), known) for visit in reversed(unit.roots)
        ]
        while waiting:
            file, items, known = waiting[-1]
            item = next(items, None)
            if item is None:
                waiting.pop()
            elif isinstance(item, Run):
                self._run(file, item.number, known)
                known.update(
                    _spelled(one) for one in file.directives[item.number : item.number + 1] if one.word in _INCLUDES
                )
            elif isinstance(item, Inclusion):
                waiting.append((item.visit.file, iter(item.visit.items), known))
            elif isinstance(item, Branches):
                waiting += [(file, iter(branch), {*known}) for branch in reversed(item.branches)]

    def _run(self, file: SourceFile, number: int, known: Collection[str]) -> None:
        if file.name.startswith(VIRTUAL_ROOT):
            self.runs[file.name].add(number)
            for use in self._readings.of(_uses, file)[number]:
                if use not in self.found and not _is_included(use, known):
                    self.found.add(use)

    def chains(self, roots: Collection[str]) -> Iterator[Chain]:
        """Yield the qualified names that begin with some namespaces."""
        return (one for one in self.found if isinstance(one, tuple) and one[0] in roots and len(one) > 1)

    def add_aliases(self, aliases: Mapping[str, Chain]) -> None:
        """Add the uses of names by way of other names for their namespaces."""
        roots = frozenset(aliases)
        for name, numbers in self.runs.items() if roots else ():
            chains = self._readings.of(_chains_of_runs, self.files[name], roots)
            for one in chain.from_iterable(chains[number] for number in numbers):
                self.found.add(aliases[one[0]] + one[1:])


def _macros_of_nvrtc(options: NvrtcOptions) -> MacroTable:
    """Return the macros that NVRTC has before a source; nothing is known of those that a header may bring."""
    names = _words()
    given = {one.name: (one,) for name, value in options.define if (one := parse_define(name, value)) is not None}
    absent: dict[str, tuple[Macro | None, ...]] = dict.fromkeys(libraries.nvcc_macros().keys() - names, (None,))
    return MacroTable(
        {**absent, **libraries.shared_macros(options.std), **given},
        lambda name: name in names or libraries.may_be_defined(name) or libraries.is_toolkit_macro(name),
    )


@cache
def _words() -> frozenset[str]:
    """Return the words that matter by themselves."""
    return frozenset(
        (
            *libraries.global_names(),
            *libraries.implicit_names(),
            *libraries.device_names(),
            *libraries.version_headers(),
            *libraries.std_templates(),
            *(name for one in libraries.left_out_names() for name in one.names),
            *(path[-1] for path in libraries.torch().names if path[:-1] in libraries.torch().opened),
            *libraries.torch().complex_words,
            "register",
        )
    )


@cache
def _roots() -> frozenset[str]:
    """Return the namespaces that matter."""
    return frozenset({"std", "boost", *libraries.torch().roots})


def _is_included(use: str | Chain, known: Collection[str]) -> bool:
    header = _header_of(use)
    return header in known or (header[:1] == "c" and f"{header[1:]}.h" in known)


@cache
def _header_of(use: str | Chain) -> str:
    """Return the header that a use asks for, as far as the name alone tells."""
    if isinstance(use, tuple):
        return libraries.std_names().get(use[1], "") if use[0] == "std" else _header_of(use[1]) if not use[0] else ""
    tables = (libraries.global_names(), libraries.implicit_names(), libraries.device_names())
    return next((found for table in tables if (found := table.get(use))), "")


def _asked(directive: Directive) -> Iterator[str]:
    """Yield the macros of which a condition asks whether they are defined."""
    tokens = [token.text for token in directive.tokens()]
    if directive.word in {"ifdef", "ifndef"}:
        yield from tokens[:1]
    for at, token in enumerate(tokens):
        if token == "defined":  # noqa: S105 - no password
            yield from (one for one in tokens[at + 1 : at + 3] if is_identifier(one))


def _uses(file: SourceFile) -> list[frozenset[str | Chain]]:
    """Return the uses of names that matter by run, with what the directive behind each defines or asks."""
    return _by_run(file, _uses_in)


def _chains_of_runs(file: SourceFile, roots: frozenset[str]) -> list[frozenset[Chain]]:
    """Return the names by run that begin with one of some roots."""
    return _by_run(file, lambda tokens: (one for one in _chains(tokens, roots) if len(one) > 1))


def _by_run(file: SourceFile, read: Callable[[Sequence[str]], Iterable[_T]]) -> list[frozenset[_T]]:
    found = [{*read(file.tokens(number))} for number in range(len(file.directives) + 1)]
    first: dict[int, int] = {}
    for at, directive in enumerate(file.directives):
        begins = first.get(at, at)  # where a group begins, all of its conditions are asked
        if at in file.groups:
            first[file.groups[at]] = begins
        if directive.word == "define" or directive.word in _CONDITIONS:
            found[begins].update(read([token.text for token in directive.tokens()][directive.word == "define" :]))
    return [*map(frozenset, found)]


def _uses_in(tokens: Sequence[str]) -> Iterator[str | Chain]:
    words = _words()
    for one in _chains(tokens, words | _roots()):
        name = one[bool(not one[0])]
        if name in _roots() and len(one) > 1 + (not one[0]):
            found = one[not one[0] :]
            yield found
            if name == "std":  # a macro may stand for what has no namespace, too
                yield from words.intersection(found[1:2])
        elif name in words:
            yield name
            if not one[0]:
                yield one[:2]


def _chains(tokens: Sequence[str], firsts: Collection[str]) -> Iterator[Chain]:
    """Yield the names that begin with some words and are no members of something else."""
    for at in compress(range(len(tokens)), map(firsts.__contains__, tokens)):
        before = tokens[at - 1] if at else ""
        if before in {".", "->"}:
            continue
        is_global = before == "::"
        qualifier = tokens[at - 2] if is_global and at > 1 else ";"
        if qualifier == ">" or (is_identifier(qualifier) and qualifier not in _NO_SCOPE):
            continue
        names = _chain(tokens, at)
        yield ("", *names) if is_global else names


def _chain(tokens: Sequence[str], at: int) -> Chain:
    """Return the qualified name that begins at a token."""
    names = [tokens[at]]
    at += 1
    while at + 1 < len(tokens) and tokens[at] == "::" and is_identifier(tokens[at + 1]):
        names.append(tokens[at + 1])
        at += 2
    return (*names, *tokens[at : at + 1]) if tokens[at : at + 1] == ["("] else tuple(names)
