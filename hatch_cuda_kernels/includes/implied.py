"""Headers that sources use without an include: nvcc includes some by itself, and headers of the host's bring others.

NVRTC includes nothing. So a name of a library's that a source uses where NVRTC reads it, and that the project does not
declare, brings its header, which is included before the source. What has which name is in the tables of libraries.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import compress, takewhile
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from hatch_cuda_kernels import cpp, libraries
from hatch_cuda_kernels.cpp import Branches, Inclusion, Reading, Run, TranslationUnit, is_identifier
from hatch_cuda_kernels.libraries import header_of_use, headers_in, namespaces, words_in
from hatch_cuda_kernels.names import is_projects

if TYPE_CHECKING:
    from hatch_cuda_kernels.cpp import Declaration, Item, SourceFile, Visit
    from hatch_cuda_kernels.includes.closure import Closure, OuterHeaders
    from hatch_cuda_kernels.options import NvrtcOptions

#: A name with its namespaces: ``("std", "max")``. The first is empty where ``::`` begins it; the last is ``(`` behind a
#: qualified name that is called.
Chain: TypeAlias = tuple[str, ...]

_REGISTER: Final = "hatch_cuda_kernels/register.h"
_LONG_LONG: Final = "hatch_cuda_kernels/long_long.h"
#: The folder of headers that no library has.
_OURS: Final = "hatch_cuda_kernels/"
#: Words before a name that qualify nothing.
_NO_SCOPE: Final = frozenset({"and", "case", "co_return", "co_yield", "do", "else", "not", "or", "return", "throw"})
_WIDE: Final = frozenset({"int64_t", "uint64_t"})
#: What macros make of words does not matter: what they are spelled as counts.
_NO_FILES: Final = frozenset[str]().__contains__


def implied_headers(
    closure: Closure,
    readings: Iterable[Reading],
    removed: Collection[str],
    cut_headers: Collection[str],
    options: NvrtcOptions,
    outer: OuterHeaders,
) -> tuple[str, ...]:
    """Return the headers that a closure's project files use without an include, in the order to include them.

    ``readings`` are of its files, before anything was cut, and ``removed`` are the names of declarations that are
    gone: no header gives one of them another meaning. ``cut_headers`` are those of the host's that are not included.
    """
    if not outer.standard.names:
        return ()
    declared = Reading.together(readings, _OwnNames)
    unit = _read_as_nvrtc(closure, options)
    uses = _uses_of(unit, declared.aliases)
    wanted = _WantedHeaders(closure, unit, uses, declared, frozenset(removed), frozenset(cut_headers))
    names = {*wanted.standard(), *wanted.toolkits(), *wanted.libraries()}
    if ("register",) in uses:
        names.add(_REGISTER)
    if declared.long_long:
        names.add(_LONG_LONG)
    first = (_LONG_LONG, *(headers_in("standard", "global")[name] for name in libraries.renamed_functions()))
    there = (name for name in names if name in outer.standard or not name.startswith(_OURS))
    return tuple(sorted(there, key=lambda name: (name not in first, name)))


class _OwnNames:
    """What a project declares that has to do with names of libraries."""

    def __init__(self, reading: Iterable[Declaration]) -> None:
        self.names: Final[set[str]] = set()
        """Types, constants, variables and enumerators, in any scope."""
        self.same: Final[set[str]] = set()
        """Types that are what a library's of the same name are."""
        self.long_long: Final[set[str]] = set()
        """Types of 64 bits that are ``long long``, as in texts that know NVRTC."""
        self.functions: Final[set[str]] = set()
        self.kernels: Final[set[str]] = set()
        self.members: Final[set[Chain]] = set()
        """What is declared in a library's namespace: its root, and the name."""
        self.opened: Final[set[Chain]] = set()
        """The namespaces that ``using namespace`` opens."""
        self.entered: Final[set[Chain]] = set()
        """Those of libraries in which something is declared."""
        self.aliases: Final[dict[str, Chain]] = {}
        """Other names of namespaces."""
        for one in reading:
            tokens = [token.text for token in one.tokens if token.text != ";"] if one.kind == "using" else []
            if tokens[:2] == ["using", "namespace"] and tokens[-1] not in {"namespace", "::"}:
                self.opened.add(_chain(tokens, 2 + (tokens[2] == "::")))
            elif tokens[:1] == ["namespace"] and tokens[2:3] == ["="] and tokens[-1] not in {"=", "::"}:
                self.aliases[tokens[1]] = _chain(tokens, 3 + (tokens[3] == "::"))
            elif one.kind not in {"using", "forward"}:
                self._add(one)

    def _add(self, one: Declaration) -> None:
        names = one.names
        if one.kind == "function" and "__global__" in one.words:
            self.kernels.update(names)
        if one.kind == "alias":
            same = {name for name in names & headers_in("standard", "global").keys() if self._is_same(one, name)}
            self.same.update(same)
            names -= same
        if one.kind == "function" and not _is_for_other_numbers(one):
            self.functions.update(names)
        elif one.kind in {"class", "enum", "alias"} or (one.kind == "variable" and not one.is_member):
            self.names.update(names)
        if (scope := one.scope) and scope[0] in namespaces() and one.kind != "namespace":
            self.members.update((scope[0], name) for name in names)
            self.entered.update(scope[:count] for count in range(1, len(scope) + 1))

    def _is_same(self, one: Declaration, name: str) -> bool:
        """Return whether an alias means what the library's type of its name is."""
        texts = [token.text for token in one.tokens if token.text not in {"typedef", "using", "=", ";", name}]
        if name in _WIDE and texts.count("long") == len(_WIDE):
            knows_nvrtc = any("RTC" in directive.operand for directive in one.stream.file.directives)
            self.long_long.update([name] if knows_nvrtc else ())
        return " ".join((name, *texts)) in words_in("standard", "sets", "same")


def _is_for_other_numbers(one: Declaration) -> bool:
    """Return whether a function is for double or Thrust's numbers only: many a project adds these to Torch's."""
    if not any(one.name in other.names for other in libraries.stand_in_headers() if other.by) or not one.parameters:
        return False
    first = [token.text for token in one.tokens[one.parameters[0] + 1 : one.parameters[0] + 2]]
    return not words_in("torch", "torch", "other_numbers").isdisjoint(first)


@dataclass
class _WantedHeaders:
    """Which headers the uses of a source ask for."""

    _closure: Closure
    _unit: TranslationUnit
    _uses: Collection[Chain]
    _declared: _OwnNames
    _removed: frozenset[str]
    _cut_headers: frozenset[str]

    @cached_property
    def _words(self) -> set[str]:
        """The words that are used and mean nothing of the project's."""
        own = self._declared.names | self._removed | (self._declared.functions & libraries.own_functions())
        return {one[0] for one in self._uses if len(one) == 1} - own

    def _chains(self, root: str) -> Iterator[Chain]:
        """Yield the qualified names that begin with a namespace, and that the project does not declare in it."""
        own = {name for one, name in self._declared.members if one == root}
        return (one for one in self._uses if one[0] == root and len(one) > 1 and own.isdisjoint(one))

    def standard(self) -> Iterator[str]:
        """Yield the standard headers."""
        known, members = headers_in("standard", "global"), headers_in("standard", "std")
        # One of the headers that are cut may have them.
        perhaps = () if self._cut_headers else words_in("standard", "sets", "not_included")
        renamed = libraries.renamed_functions()
        is_own = not renamed.isdisjoint(self._declared.kernels | self._removed)
        others = {known[name] for name in self._declared.names & known.keys()}  # in which a name means another type
        own = {name for name in self._declared.same & known.keys() if known[name] in others}
        # Where a condition names a macro that there is not, it is 0, or not defined.
        conditions = [one for one in self._unit.conditions if is_projects(one.file.name)]
        asked = {word for one in conditions for word in one.directive.texts}
        for name in (self._words & known.keys()) - own:
            is_asked = (known[name] in perhaps or name in renamed) and name in asked
            if not is_asked and not (is_own and name in renamed):
                yield known[name]
        yield from (members[one[1]] for one in self._chains("std") if one[1] in members)
        if ("std",) in self._declared.opened:
            used = (name for name in self._words & libraries.std_templates())
            yield from (members[name] for name in used if ("std", name) not in self._declared.members)

    def toolkits(self) -> Iterator[str]:
        """Yield the headers of the toolkit's of names that nvcc, or an include that is cut, brings."""
        members = headers_in("standard", "std")
        asked = {one[2] for one in self._chains("cuda") if one[1] == "std" and one[2:]}  # by way of other names
        standard = {members[name] for name in asked & members.keys()} & words_in("standard", "sets", "libcudacxx")
        names = {f"cuda/std/{name}" for name in standard}
        tables = [headers_in("cuda", "implicit"), *([headers_in("cuda", "device")] if self._cut_headers else [])]
        for kind in ("versions", "driver"):
            bringing = tuple(words_in("cuda", "bring", kind))
            if any(name.startswith(bringing) for name in self._cut_headers):
                tables.append(headers_in("cuda", kind))
        names |= {table[name] for table in tables for name in self._words & table.keys()}
        paths = [path for path, _ in self._closure.headers]
        return (name for name in names if not any(path.endswith(f"/{name}") for path in paths))

    def libraries(self) -> Iterator[str]:
        """Yield this package's headers for what the cut includes of libraries' bring."""
        if not self._cut_headers:
            return
        declared, roots, known = self._declared, words_in("torch", "torch", "roots"), libraries.entry("torch", "torch")
        paths = {path.rpartition("/")[2] for path, _ in self._closure.headers if is_projects(path)}
        there = {
            *{directive.header for _, directive in self._unit.unresolved}.intersection(self._closure.outside),
            *self.toolkits(),
            *(words_in("cuda", "copies", "headers") & paths),
        }
        there |= {name.rpartition("/")[2] for name in there}
        own = {name for name in declared.functions if ("", name) not in self._uses}
        defined = {one.name for one in self._unit.macros.definitions if is_projects(one.file)}
        for one in libraries.stand_in_headers():
            used = (one.names & self._words) - (defined if one.are_macros else own if one.by else set())
            if used and one.is_brought(self._cut_headers, there):
                yield one.header
        yield from filter(None, (libraries.boost_header(one[1], self._cut_headers) for one in self._chains("boost")))
        used_names = [one for root in roots for one in self._chains(root)]
        words = (self._words | {word for one in used_names for word in one}) - declared.functions
        spaces = {one for one in declared.opened | declared.entered if one[0] in roots}
        words |= {word for one in self._uses for word in one} & words_in("torch", "torch", "complex_words")
        yield from libraries.torch_headers(used_names, words, spaces, self._cut_headers)
        if any(one[1:] in libraries.opened_namespaces() for one in declared.opened if one[0] in roots):
            yield from known["inner_namespaces"]
        if any(len(meant) == 1 and meant[0] in roots for meant in declared.aliases.values()):
            yield from known["namespaces"]


def _read_as_nvrtc(closure: Closure, options: NvrtcOptions) -> TranslationUnit:
    """Return what NVRTC reads of a closure; nothing of one that it will refuse."""
    origin = closure.origin
    assert origin is not None  # noqa: S101 - of all that was just read
    macros = libraries.macros_of_nvrtc(options.std, options.define)
    try:
        return origin.read((*closure.pre_include, closure.program_name), macros, _NO_FILES)
    except (cpp.TextError, cpp.InclusionError):
        return TranslationUnit(cpp.MacroTable())


def _uses_of(unit: TranslationUnit, aliases: Mapping[str, Chain]) -> set[Chain]:
    """Return the names that the project's files use where their headers are not included yet."""
    others, roots = dict(aliases), {"cuda", *namespaces()}
    for macro in (one for one in unit.macros.definitions if is_projects(one.file)):
        meant = tuple(token.text for token in macro.body if token.text != "::")
        if len(meant) > 1 and meant[0] in roots and all(map(is_identifier, meant)):
            others[macro.name] = meant
    key = frozenset(others.items())
    found: set[Chain] = set()
    known: set[str] = set()
    for root in unit.roots:
        for visit in root.whole:
            if key not in visit.memory:
                visit.memory[key] = _VisitUses.of(visit, key, others)
        found.update(root.memory[key].without(known))
        known |= root.memory[key].included
    return found


class _VisitUses(NamedTuple):
    """What one reading of a file, and of all that it includes, uses before it includes it."""

    uses: dict[Chain, str]
    """With the header of each."""
    included: set[str]
    """The headers that are included, but in branches that may be off."""

    @classmethod
    def of(cls, visit: Visit, key: object, aliases: Mapping[str, Chain]) -> _VisitUses:
        """Return it for a reading; what it includes has its own in its memory."""
        found, firsts, is_ours = cls({}, set()), frozenset(aliases), is_projects(visit.file.name)
        waiting = [(iter(visit.items), found.included)]
        while waiting:
            items, known = waiting[-1]
            item: Item | None = next(items, None)
            if isinstance(item, Run):
                for use in _uses_of_run(visit.file, item.number, firsts) if is_ours else ():
                    meant = (*aliases[use[0]], *use[1:]) if use[1:] and use[0] in aliases else use
                    header = header_of_use(meant)
                    if not _is_included(header, known):
                        found.uses[meant] = header
                behind = visit.file.directives[item.number : item.number + 1]
                known.update(directive.header for directive in behind if directive.is_include)
            elif isinstance(item, Inclusion):
                inner: _VisitUses = item.visit.memory[key]
                found.uses.update((use, inner.uses[use]) for use in inner.without(known))
                known |= inner.included
            elif isinstance(item, Branches):
                waiting += [(iter(branch), {*known}) for branch in reversed(item.branches)]
            else:
                waiting.pop()
        return found

    def without(self, known: Collection[str]) -> Iterator[Chain]:
        """Yield the uses of which no header is among some that were included before."""
        return (use for use, header in self.uses.items() if not _is_included(header, known))


def _is_included(header: str, known: Collection[str]) -> bool:
    return bool(header) and (header in known or (header[0] == "c" and f"{header[1:]}.h" in known))


def _uses_of_run(file: SourceFile, number: int, firsts: frozenset[str]) -> frozenset[Chain]:
    """Return the uses of names that matter in a run, with what the directive behind it defines or asks."""
    known: dict[int, frozenset[Chain]] = file.memory.setdefault((_uses_of_run, firsts), {})
    if number in known:
        return known[number]
    found = _uses_in(file.tokens(number), firsts)
    for directive in file.directives[number : number + 1]:
        if directive.word == "define":
            found |= _uses_in(directive.texts[1:], firsts)
        elif directive.is_conditional:  # all conditions of a group are asked at once
            group = map(file.directives.__getitem__, file.group(number))
            for one in takewhile(lambda one: one.word not in {"else", "endif"}, group):
                found |= _uses_in(one.texts, firsts)
    return known.setdefault(number, _shared(frozenset(found)))


#: Returns an equal set that there is already: most runs use what others do.
_shared: Final = lru_cache(maxsize=1 << 12)(frozenset[Chain])


@lru_cache(maxsize=64)
def _telling(firsts: frozenset[str]) -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
    """Return the words that may ask for a header, those with which qualified names begin, and both."""
    words, roots = libraries.telling_words(), namespaces() | firsts
    return words, roots, words | roots


def _uses_in(tokens: Sequence[str], firsts: frozenset[str]) -> set[Chain]:
    words, roots, wanted = _telling(firsts)
    found: set[Chain] = set()
    for at in compress(range(len(tokens)), map(wanted.__contains__, tokens)):
        name, before = tokens[at], tokens[at - 1] if at else ""
        is_global = before == "::"
        if (name,) in found and not is_global and name not in roots:
            continue
        qualifier = tokens[at - 2] if is_global and at > 1 else ";"
        if before in {".", "->"} or qualifier == ">" or (is_identifier(qualifier) and qualifier not in _NO_SCOPE):
            continue
        chain = _chain(tokens, at) if name in roots else ()
        if chain[1:] not in {(), ("(",)}:
            found.add(chain)
            if name == "std":  # a macro may stand for what has no namespace, too
                found.update((word,) for word in chain[1:2] if word in words)
        elif name in words:
            found.add((name,))
            if is_global:
                found.add(("", name))
    return found


def _chain(tokens: Sequence[str], at: int) -> Chain:
    """Return the qualified name that begins at a token."""
    names = [tokens[at]]
    at += 1
    while at + 1 < len(tokens) and tokens[at] == "::" and is_identifier(tokens[at + 1]):
        names.append(tokens[at + 1])
        at += 2
    return (*names, "(") if [*tokens[at : at + 1]] == ["("] else tuple(names)
