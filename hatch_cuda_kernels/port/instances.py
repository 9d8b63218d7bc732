"""Which kernels the code of a project instantiates: by its launches, and by the uses of the templates around these."""

from __future__ import annotations

from collections import ChainMap, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias, TypeVar

from hatch_cuda_kernels.cpp import TextError, find_closing, is_identifier, lex, spell, split_at_commas
from hatch_cuda_kernels.execution_space import DevicePass, is_kernel, type_and_name
from hatch_cuda_kernels.libraries import as_declared
from hatch_cuda_kernels.names import VIRTUAL_ROOT
from hatch_cuda_kernels.port.sites import Alternatives, Code, Owner, launches, substitute, value_type, words

if TYPE_CHECKING:
    from hatch_cuda_kernels.cpp import Declaration, MacroTable
    from hatch_cuda_kernels.port.sites import Site, Spelling

T = TypeVar("T")
Spellings: TypeAlias = "tuple[Spelling, ...]"
_MOST: Final = 512
_DEEPEST: Final = 6
#: Tokens of bodies that are read for launches; more than the code of any project's hosts.
_MOST_TOKENS: Final = 3_000_000
#: What the type of a value has no part in.
_ORNAMENTS: Final = frozenset({"const", "&", "struct"})
#: The word of a launch among those of code.
_LAUNCH: Final = "<<<"


class Template(NamedTuple):
    """A kernel that is a template, and so is in an image only where an instance is listed."""

    path: str
    line: int
    name: str
    """With its namespaces."""
    heads: tuple[Spelling, ...]
    """The template's parameters as they are spelled."""
    types: tuple[Spelling, ...]
    """Of the kernel's own parameters."""
    sites: tuple[Site, ...] = ()
    """Where it is launched, or named with arguments that are known."""

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the template's parameters; empty ones of those without."""
        return _names_of(self.heads)

    @property
    def required(self) -> int:
        """How many of the template's parameters have no default."""
        return sum({"=", "..."}.isdisjoint(part) for part in self.heads)

    @property
    def plain(self) -> str:
        """Its name without namespaces."""
        return self.name.rpartition("::")[2]

    @property
    def names(self) -> tuple[str, ...]:
        """The instances that are known."""
        return tuple(name for site in self.sites for name in site.names)

    def instance(self, arguments: Sequence[str]) -> str:
        """Return the name expression of an instance."""
        return f"{self.name}<{', '.join(arguments)}>"


def _heads(declaration: Declaration) -> list[tuple[Spelling, ...]]:
    """Return the parameters of each ``template <...>``."""
    first, last = declaration.template or (0, 0)
    texts = [token.text for token in declaration.tokens[first:last]]
    openings = (at for at, text in enumerate(texts) if texts[at - 1 : at] == ["template"] and text == "<")
    spans = ((opening, find_closing(texts, opening)) for opening in openings)
    return [tuple(split_at_commas(texts[opening + 1 : end])) for opening, end in spans]


def _words(texts: Sequence[str]) -> frozenset[str]:
    return frozenset((*texts, _LAUNCH) if launches(texts) else texts)


def _names_of(head: Sequence[Spelling]) -> tuple[str, ...]:
    named = ([*takewhile(lambda text: text != "=", part)] for part in head)
    return tuple(part[-1] if len(part) > 1 and is_identifier(part[-1]) else "" for part in named)


def _parameters(declaration: Declaration) -> dict[str, Spelling]:
    """Return the types of a function's parameters by name; by a number for those without."""
    found = map(type_and_name, declaration.parameter_texts)
    return {name or str(at): value_type(kind) for at, (kind, name) in enumerate(found)}


class Instances:
    """The kernels of a project that are templates, and what its code says of their arguments."""

    def __init__(self, passes: Sequence[DevicePass]) -> None:
        self._declarations: Final = [one for passed in passes for reading in passed.readings for one in reading]
        self._classes: Final = {one.name for one in self._declarations if one.kind in {"class", "forward"}}
        self._functions: Final = {one.name for one in self._declarations if one.kind == "function"} - self._classes
        self._variables: Final[dict[str, Spelling]] = {}
        """The types of those outside classes and functions."""
        self._types: Final[dict[tuple[str, str], list[tuple[Spelling, ...]]]] = defaultdict(list)
        """The types of the parameters of functions that are templates, and of explicit instances, by kind and name."""
        for one in self._declarations:
            if one.kind == "variable" and not one.is_member and one.declarators:
                first = one.declarators[0]
                texts = [token.text for token in one.tokens[first.first :]]
                self._variables[first.name] = value_type(texts[: texts.index(first.name)])
            elif one.kind == "instantiation" or (one.kind == "function" and one.template is not None):
                self._types[one.kind, one.name].append(tuple(_parameters(one).values()))
        self._known: Final[dict[tuple[Owner, frozenset[str]], list[dict[str, Spelling]]]] = {}
        self._names: Final = _Names(self._declarations)
        found = self._find_templates()
        self._kernels: Final[dict[str, list[Template]]] = defaultdict(list)
        for kernel in found:
            self._kernels[kernel.plain].append(kernel)
        self._sites: Final[dict[str, list[Site]]] = defaultdict(list)
        for site in self._find_sites([one.unit.macros for one in passes]):
            self._sites[site.plain].append(site)
        seen = self._merge_sites()
        self.launches: Final = [site for site in seen if site.configuration is not None]
        """Those of kernels that are no templates, too."""
        self.templates: Final = [
            one._replace(sites=tuple(site for site in seen if site.plain == one.plain)) for one in found
        ]

    def _find_templates(self) -> list[Template]:
        """Return the kernels that are templates, each overload once, whatever it calls its parameters."""
        found: dict[tuple[str, tuple[Spelling, ...]], Template] = {}
        for one in self._declarations:
            heads = _heads(one)
            if not heads or not is_kernel(one) or one.is_specialization or not heads[-1]:
                continue
            file, start, _ = one.stream.place(one.tokens[0].at)
            name = one.full_name()
            types = tuple(_parameters(one).values())
            numbers = {name: (str(at),) for at, name in enumerate(_names_of(heads[-1]))}
            kernel = Template(file.name.removeprefix(VIRTUAL_ROOT), file.line(start), name, heads[-1], types)
            found.setdefault((name, tuple(substitute(each, numbers) for each in types)), kernel)
        return sorted(found.values(), key=lambda kernel: kernel.path)

    def _find_sites(self, macros: Iterable[MacroTable]) -> Iterator[Site]:
        wanted, interesting = self._select_code(macros)
        left = _MOST_TOKENS
        for one, is_head in interesting:
            try:
                tokens = one.tokens if is_head else one.inside()
            except TextError:
                continue  # macros become more than anybody writes
            left -= len(tokens)
            if left < 0:
                return
            outer = ChainMap({} if is_head else _parameters(one), self._variables)
            names = wanted - {one.name} if is_head and one.kind != "instantiation" else wanted
            found = Code(one.stream, tokens, outer, self._functions).sites(names, tuple(self._owners(one)))
            yield from (site for site in found if not is_head or site.template is not None)

    def _select_code(self, macros: Iterable[MacroTable]) -> tuple[set[str], list[tuple[Declaration, bool]]]:
        """Return the names to look for, and the bodies and other parts of declarations that have to do with them."""
        users: dict[str, list[str]] = defaultdict(list)
        for macro in (one for table in macros for one in table.definitions):
            for text in _words([token.text for token in macro.body]):
                users[text].append(macro.name)
        code: list[tuple[Declaration, bool, frozenset[str]]] = []
        for one in self._declarations:
            code.append((one, True, frozenset(token.text for token in one.tokens)))
            if one.body is not None and one.kind in {"function", "unknown"}:
                code.append((one, False, _words(one.body_texts)))
        wanted, reached, found = {*self._kernels}, set[str](), set[int]()
        waiting = [*self._kernels, _LAUNCH]
        for _ in range(_DEEPEST):
            while waiting:
                word = waiting.pop()
                waiting += users[word] if word not in reached else ()
                reached.add(word)
            fresh = {at for at, (_, _, texts) in enumerate(code) if not reached.isdisjoint(texts)} - found
            owners = {owner.name for at in fresh for owner in self._owners(code[at][0])}
            found |= fresh
            waiting = [*(owners - wanted)]
            wanted |= owners
        return wanted, [code[at][:2] for at in sorted(found)]

    def _owners(self, declaration: Declaration) -> Iterator[Owner]:
        """Yield the templates around what a declaration holds, the innermost first."""
        heads = _heads(declaration)
        qualifier = declaration.qualifier if heads and declaration.kind == "function" else ()
        if qualifier and (len(heads) > 1 or qualifier[-1] in self._classes):
            yield Owner(qualifier[-1], _names_of(heads.pop(0)))
        for head in heads[-1:]:
            yield Owner(declaration.name, _names_of(head))
        if declaration.parent is not None:
            yield from self._owners(declaration.parent)

    def _meanings(self, site: Site, settled: Spellings, chain: tuple[str, ...] = ()) -> list[Spellings]:
        """Return what template arguments at a site stand for, asked by the templates ``chain``; none if unknown."""
        found = [settled]
        for one in site.around:
            own = {*one.parameters} - {""}
            if any(words(part) & own for parts in found for part in parts):
                bound = one.bindings if isinstance(one, Alternatives) else self._meanings_of(one, chain)
                found = [
                    tuple(_drop_decltype(substitute(part, each)) for part in parts)
                    for parts in found
                    for each in bound
                    if not any(words(part) & own - each.keys() for part in parts)
                ]
        return list(dict.fromkeys(found))[:_MOST]

    def _meanings_of(self, owner: Owner, chain: tuple[str, ...]) -> list[dict[str, Spelling]]:
        """Return what a template's parameters stand for, by each of its uses."""
        if owner.name in chain or len(chain) == _DEEPEST or not owner.name:
            return []
        about = (owner, frozenset(chain))
        if about not in self._known:
            alike = {tuple(each.items()): each for each in self._uses(owner, (*chain, owner.name)) if each}
            self._known[about] = [*alike.values()][:_MOST]
        return self._known[about]

    def _uses(self, owner: Owner, chain: tuple[str, ...]) -> Iterator[dict[str, Spelling]]:
        """Yield what the parameters stand for where their arguments are spelled, or the types of values say it."""
        uses: list[tuple[Site | None, Spellings, Spellings]] = [
            *((site, site.settled, site.types) for site in self._sites[owner.name]),
            *((None, (), types) for types in self._types["instantiation", owner.name]),
        ]
        known = self._types["function", owner.name]
        for site, arguments, types in uses:
            is_spelled = not known or len(arguments) == len(owner.parameters)
            patterns = [()] if is_spelled else [one for one in known if len(one) >= len(types)]
            for pattern in patterns if len(arguments) <= len(owner.parameters) else ():
                bound = _bind(owner.parameters, arguments, pattern, types)
                parts = tuple(bound.values())
                for each in [parts] if site is None or not bound else self._meanings(site, parts, chain):
                    yield dict(zip(bound, each, strict=True))

    def _merge_sites(self) -> list[Site]:
        """Return the launches, and the other places that name known instances of kernels, each once."""
        found: dict[tuple[str, int, str, tuple[str, ...] | None], Site] = {}
        every = (site for sites in self._sites.values() for site in sites)
        for site in sorted(every, key=lambda site: (site.configuration is None, site.path, site.offset)):
            one = self._resolve(site, self._kernels[site.plain]) if site.plain in self._kernels else site
            if one.configuration is not None or one.names:
                place = (one.path, one.offset, one.kernel, one.template)
                before = found.get(place, one)  # another reading of it
                meanings, names = _unique(before.meanings + one.meanings), _unique(before.names + one.names)
                found[place] = before._replace(meanings=meanings, names=names)
        return [*found.values()]

    def _resolve(self, site: Site, known: Sequence[Template]) -> Site:
        own = [one for one in known if one.path == site.path] or known
        overloads = [one for one in own if (one.path, one.name) == (own[-1].path, own[-1].name)]
        meant = _overload(site, overloads) if len(overloads) > 1 else None
        template = meant or overloads[0]
        bound = _bind(template.parameters, site.settled, template.types, site.types)
        is_spelled = len(site.settled) >= len(template.parameters)
        deduced = tuple(bound[name] for name in takewhile(bound.__contains__, template.parameters))
        whole = site.settled if is_spelled else deduced
        spelled = None if site.template is None else self._names.qualify(site.settled, template.name)
        named = site._replace(axes=_axes(site), template=spelled)
        if len(whole) < template.required:
            return named
        declared = (map(as_declared, each) for each in self._meanings(site, whole))
        meanings = _unique(self._names.qualify(each, template.name) for each in declared)
        names = (self._cast(meant, each) if meant else template.instance(each) for each in meanings)
        return named._replace(meanings=meanings, names=_unique(names))

    def _cast(self, template: Template, arguments: Sequence[str]) -> str:
        """Return the name expression of an instance that overloads need."""
        meanings = {name: tuple(lex(one)) for name, one in zip(template.parameters, arguments, strict=False)}
        types = self._names.qualify((substitute(one, meanings) for one in template.types), template.name)
        return f"(void (*)({', '.join(types)})) {template.instance(arguments)}"


def _drop_decltype(part: Spelling) -> Spelling:
    """Return a template argument with ``T`` for ``decltype(T{})``."""
    at = part.index("decltype") if "decltype" in part else len(part)
    end = find_closing(part, at + 1) if part[at + 1 : at + 2] == ("(",) else None
    if end is None or part[end - 2 : end] != ("{", "}"):
        return part
    return _drop_decltype((*part[:at], *part[at + 2 : end - 2], *part[end + 1 :]))


def _unique(found: Iterable[T]) -> tuple[T, ...]:
    return tuple(dict.fromkeys(found))


def _axes(site: Site) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    named = [text for part in site.settled for text in part]
    for one in reversed(site.around):
        for name in filter(named.__contains__, one.parameters):
            bindings = one.bindings if isinstance(one, Alternatives) else []
            found[name] = tuple(spell(each[name]) for each in bindings if name in each)
    return found


def _bind(parameters: Sequence[str], arguments: Spellings, wanted: Spellings, given: Spellings) -> dict[str, Spelling]:
    """Return what template parameters stand for by the arguments that are spelled, and else by the types of values."""
    bound = dict(zip(parameters, arguments, strict=False))
    for pattern, kind in zip(wanted, given, strict=False):
        for name, meaning in _deduce(pattern, kind, parameters).items():
            bound.setdefault(name, meaning)
    return bound


def _overload(site: Site, templates: Sequence[Template]) -> Template | None:
    """Return which of some overloads a launch means: the most specific that fits; None if that is none or several."""
    fitting = [(sum(map(len, one.types)), at) for at, one in enumerate(templates) if _fits(one, site)]
    best = [at for length, at in fitting if length == max(fitting)[0]]
    return templates[best[0]] if len(best) == 1 else None


def _fits(template: Template, site: Site) -> bool:
    """Return whether types that are known, one at least, can be given for a template's parameters."""
    if len(site.types) != len(template.types) or len(site.settled) > len(template.parameters):
        return False
    bound = _bind(template.parameters, site.settled, template.types, site.types)
    pairs = zip(template.types, site.types, strict=True)
    known = [pair for pair in pairs if pair[1] and not words(pair[0]).isdisjoint(template.parameters)]
    found = [_deduce(*pair, template.parameters) for pair in known]
    return bool(found) and all(one and one.items() <= bound.items() for one in found)


class _Names:
    """The types, aliases, constants and enumerators declared outside classes, with their namespaces."""

    def __init__(self, declarations: Iterable[Declaration]) -> None:
        self._known: Final[dict[str, dict[Spelling, None]]] = defaultdict(dict)
        for one in (one for one in declarations if not one.is_member):
            is_constant = one.kind == "variable" and (one.declarators[0].is_const or "constexpr" in one.words)
            is_plain = one.kind == "enum" and {"class", "struct"}.isdisjoint(one.words)
            names = [one.name] if one.kind in {"class", "enum", "alias", "forward"} or is_constant else []
            for name in (*names, *(one.enumerators if is_plain else ())):
                self._known[name][tuple(filter(None, one.scope))] = None

    def qualify(self, parts: Iterable[Spelling], kernel: str) -> tuple[str, ...]:
        """Return a kernel's template arguments with the namespaces of what is declared in those that it is in itself.

        A name with part of its namespaces, or none, as where it is launched, gets the rest if that can mean but one.
        """
        inside = tuple(kernel.split("::")[:-1])
        around = [inside[:count] for count in range(len(inside), -1, -1)]
        return tuple(spell([*self._qualify_tokens(part, around)]) for part in parts)

    def _qualify_tokens(self, part: Spelling, around: Sequence[Spelling]) -> Iterator[str]:
        at = 0
        while at < len(part):
            end = at + 1
            is_free = is_identifier(part[at]) and ("", *part)[at] not in {"::", ".", "->"}
            while is_free and part[end : end + 1] == ("::",) and is_identifier("".join(part[end + 1 : end + 2])):
                end += 2
            yield "::".join(self._whole(part[at:end:2], around)) if is_free else part[at]
            at = end

    def _whole(self, chain: Spelling, around: Sequence[Spelling]) -> Spelling:
        for at in (0, *range(len(chain) - 1, 0, -1)):
            known = [one for one in self._known.get(chain[at], ()) if one[len(one) - at :] == chain[:at]]
            namespace = next((one for one in around if one in known and not at), known[0] if len(known) == 1 else ())
            if namespace:
                return (*namespace, *chain[at:])
        return chain


def _deduce(pattern: Spelling, given: Spelling, parameters: Collection[str]) -> dict[str, Spelling]:
    """Return what template parameters stand for where a pattern is given a type of any namespace; empty if unclear."""
    bound: dict[str, Spelling] = {}
    is_asked = bool(given) and not words(pattern).isdisjoint(parameters)
    return bound if is_asked and _matches(_bare(pattern), _bare(given, keeps=pattern), parameters, bound) else {}


def _bare(tokens: Spelling, keeps: Spelling = ("const",)) -> Spelling:
    """Return a type without qualifiers and references outside angle brackets; a pointer's target keeps its const."""
    head = tokens.index("<") if "<" in tokens else len(tokens)
    tail = len(tokens) - tokens[::-1].index(">") if ">" in tokens else head
    outer = (*tokens[:head], *tokens[tail:])
    points_to_const = "const" not in keeps and "*" in outer and "const" in outer[: outer.index("*")]
    lead, rest = ([text for text in part if text not in _ORNAMENTS] for part in (tokens[:head], tokens[tail:]))
    return (*["const"] * points_to_const, *lead, *tokens[head:tail], *rest)


def _matches(wanted: Spelling, given: Spelling, parameters: Collection[str], bound: dict[str, Spelling]) -> bool:
    """Return whether a type is of a pattern; what parameters stand for is ``bound`` then."""
    while wanted and given and wanted[-1] == given[-1] in {"*", "&", "&&"}:
        wanted, given = wanted[:-1], given[:-1]
    if wanted[:1] == given[:1] == ("const",):
        wanted, given = wanted[1:], given[1:]
    if len(wanted) == 1 and wanted[0] in parameters:
        return bool(given) and bound.setdefault(wanted[0], given) == given
    (name, inner), (other, given_inner) = map(_name_and_arguments, (wanted, given))
    pairs = zip(inner, given_inner, strict=False)
    return (name, len(inner)) == (other, len(given_inner)) and all(_matches(*pair, parameters, bound) for pair in pairs)


def _name_and_arguments(tokens: Spelling) -> tuple[Spelling, list[Spelling]]:
    """Return a type's name without namespaces, and its template arguments."""
    head = tokens.index("<") if tokens[-1:] == (">",) and "<" in tokens else len(tokens)
    name = tuple(text for at, text in enumerate(tokens[:head]) if "::" not in tokens[at : at + 2])
    return name, split_at_commas(tokens[head + 1 : -1])
