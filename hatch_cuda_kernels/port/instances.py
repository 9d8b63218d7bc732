"""Which kernels the code of a project instantiates: by its launches, and by the uses of the templates around these."""

from __future__ import annotations

from collections import ChainMap, defaultdict
from itertools import takewhile
from typing import TYPE_CHECKING, Final, NamedTuple

from hatch_cuda_kernels.cpp import MacroToken, is_identifier
from hatch_cuda_kernels.execution_space import is_kernel, parameters_of
from hatch_cuda_kernels.libraries import as_declared
from hatch_cuda_kernels.names import VIRTUAL_ROOT
from hatch_cuda_kernels.port.sites import Alternatives, Owner, code_of_body, code_of_head, find_sites, without_restrict
from hatch_cuda_kernels.port.spelling import closing, deduce, launches, replaced, spelled, split, tight, words, written

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from hatch_cuda_kernels.cpp import Declaration, MacroTable, Reading
    from hatch_cuda_kernels.port.sites import Site
    from hatch_cuda_kernels.port.spelling import Spelling

__all__ = ["Instances", "SeenLaunch", "Template"]

_MOST: Final = 512
#: Instances of one kernel that is named and not launched.
_MOST_USES: Final = 2048
_DEEPEST: Final = 6
#: The word of a launch among those of code.
_LAUNCH: Final = "<<<"
#: Tokens of bodies that are read for launches; more than the code of any project's hosts.
_MOST_TOKENS: Final = 3_000_000


class SeenLaunch(NamedTuple):
    """One ``kernel<...><<<...>>>(...)`` as it is spelled."""

    path: str
    line: int
    kernel: str
    template: tuple[str, ...] | None
    """The template arguments; None where none are spelled."""
    configuration: tuple[str, ...]
    arguments: tuple[str, ...]
    axes: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """The names among the template arguments that stand for several types, with these; none where they are unknown."""
    meanings: tuple[tuple[str, ...], ...] = ()
    """What the template arguments stand for, where the templates around the launch are used."""
    casts: tuple[str, ...] = ()
    """The same as name expressions, where the kernel has overloads that only a cast tells apart."""

    @property
    def plain(self) -> str:
        """The kernel's name without namespaces."""
        return self.kernel.rpartition("::")[2]


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
    uses: tuple[tuple[str, ...], ...] = ()
    """Its arguments where it is named and not launched."""

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the template's parameters."""
        return _names_of(self.heads)

    @property
    def required(self) -> int:
        """How many of the template's parameters have no default."""
        return sum(all(token.text not in {"=", "..."} for token in part) for part in self.heads)

    @property
    def plain(self) -> str:
        """Its name without namespaces."""
        return self.name.rpartition("::")[2]

    def instances(self, meanings: Iterable[Sequence[str]]) -> list[str]:
        """Return the name expressions of instances with these arguments."""
        return [f"{self.name}<{', '.join(each)}>" for each in meanings]


class _Body(NamedTuple):
    """The code of a function, or what of a declaration is outside bodies."""

    declaration: Declaration
    words: frozenset[str]
    is_head: bool


def _words(texts: Collection[str]) -> frozenset[str]:
    return frozenset((*texts, _LAUNCH) if launches([*texts]) else texts)


def _heads(declaration: Declaration) -> list[tuple[Spelling, ...]]:
    """Return the parameters of each ``template <...>`` of a declaration."""
    if declaration.template is None:
        return []
    first, last = declaration.template
    tokens = [MacroToken(token.text) for token in declaration.tokens[first:last]]
    found: list[tuple[Spelling, ...]] = []
    at = 0
    while at + 1 < len(tokens):
        end = closing(tokens, at + 1, is_angle=True) if tokens[at].text == "template" else None
        if end is not None and tokens[at + 1].text == "<":
            found.append(tuple(split(tokens[at + 2 : end])))
            at = end
        at += 1
    return found


def _name_of(tokens: Spelling) -> str:
    """Return the name of a template's parameter; empty where it has none."""
    named = [*takewhile(lambda token: token.text != "=", tokens)]
    last = named[-1].text if len(named) > 1 else ""
    return last if is_identifier(last or " ") else ""


def _names_of(head: Sequence[Spelling]) -> tuple[str, ...]:
    return tuple(map(_name_of, head))


def _is_code(declaration: Declaration) -> bool:
    return declaration.body is not None and declaration.kind in {"function", "unknown"}


def _full_name(declaration: Declaration) -> str:
    return "::".join(filter(None, (*declaration.scope, *declaration.qualifier, declaration.name)))


def _parameters(declaration: Declaration) -> list[tuple[Spelling, str]]:
    """Return the types and names of a function's parameters."""
    return [(without_restrict(spelled(one.type)), one.name) for one in parameters_of(declaration)]


class Instances:
    """The kernels of a project that are templates, and what its code says of their arguments."""

    def __init__(self, units: Sequence[tuple[Sequence[Reading], MacroTable]]) -> None:
        self._declarations: Final = [*_once(units)]
        macros = [one for _, one in units]
        self._classes: Final = {one.name for one in self._declarations if one.kind in {"class", "forward"}}
        self._functions: Final = {one.name for one in self._declarations if one.kind == "function"} - self._classes
        self._variables: Final = self._types_of_variables()
        self._patterns: Final[dict[str, list[Declaration]]] = defaultdict(list)
        self._instantiations: Final[dict[str, list[Declaration]]] = defaultdict(list)
        for one in self._declarations:
            if one.kind == "function" and one.template is not None:
                self._patterns[one.name].append(one)
            elif one.kind == "instantiation":
                self._instantiations[one.name].append(one)
        self._known: Final[dict[tuple[Owner, frozenset[str]], list[dict[str, Spelling]]]] = {}
        self._names: Final = _Names(self._declarations)
        found = self._find_templates()
        self._sites: Final[dict[str, list[Site]]] = defaultdict(list)
        for site in self._find_sites(macros, {one.plain for one in found}):
            self._sites[site.name].append(site)
        self.templates: Final = [one._replace(uses=self._uses(one)) for one in found]
        self.launches: Final = self._launches()

    def _types_of_variables(self) -> dict[str, Spelling]:
        found: dict[str, Spelling] = {}
        for one in self._declarations:
            if one.kind == "variable" and not one.is_member and one.declarators:
                first = one.declarators[0]
                end = next((at for at in one.top if at >= first.first and one.tokens[at].text == first.name), 0)
                kind = tight(MacroToken(one.tokens[at].text) for at in range(first.first, end))
                found[first.name] = tuple(
                    token for token in kind if token.text not in {"static", "extern", "inline", "constexpr"}
                )
        return found

    def _find_templates(self) -> list[Template]:
        """Return the kernels that are templates, each overload once."""
        found: dict[tuple[str, tuple[str, ...]], Template] = {}
        for one in self._declarations:
            heads = _heads(one)
            if not heads or not is_kernel(one) or one.is_specialization or not heads[-1]:
                continue
            file, start, _ = one.stream.place(one.tokens[0].at)
            types = tuple(kind for kind, _ in _parameters(one))
            path = file.name.removeprefix(VIRTUAL_ROOT)
            kernel = Template(path, file.line(start), _full_name(one), heads[-1], types)
            found.setdefault((kernel.name, _signature(kernel)), kernel)
        return sorted(found.values(), key=lambda kernel: kernel.path)

    # Sites.

    def _find_sites(self, macros: Sequence[MacroTable], kernels: Collection[str]) -> Iterator[Site]:
        """Yield the launches, and the places that name kernels or templates that lead to these."""
        wanted, interesting = self._wanted([*self._bodies()], macros, kernels)
        left = _MOST_TOKENS
        for body in interesting:
            declaration = body.declaration
            code = code_of_head(declaration) if body.is_head else code_of_body(declaration)
            left -= len(code.tokens)
            if left < 0:
                return
            parameters = {} if body.is_head else {name: kind for kind, name in _parameters(declaration)}
            names = wanted - {declaration.name} if body.is_head and declaration.kind != "instantiation" else wanted
            owners = tuple(self._owners(declaration))
            found = find_sites(code, names, owners, ChainMap(parameters, self._variables), self._functions)
            yield from (site for site in found if not body.is_head or site.template is not None)

    def _bodies(self) -> Iterator[_Body]:
        for one in self._declarations:
            yield _Body(one, frozenset(token.text for token in one.tokens), is_head=True)
            if _is_code(one) and one.body is not None:
                first, last = (one.tokens[at] for at in one.body)
                end = last.at + 1 if last.use is None else last.use.last
                yield _Body(one, _words(one.stream.texts[first.at : end]), is_head=False)

    def _wanted(
        self, bodies: Sequence[_Body], macros: Sequence[MacroTable], kernels: Collection[str]
    ) -> tuple[set[str], list[_Body]]:
        """Return the names to look for, and the code that has something to do with them, in order."""
        users: dict[str, list[str]] = defaultdict(list)
        for macro in (one for table in macros for one in table.definitions()):
            for word in _words([token.text for token in macro.body]):
                users[word].append(macro.name)
        wanted, reached, found = {*kernels}, set[str](), set[int]()
        waiting = [*kernels, _LAUNCH]
        for _ in range(_DEEPEST):
            while waiting:
                word = waiting.pop()
                waiting += users[word] if word not in reached else ()
                reached.add(word)
            fresh = {at for at, body in enumerate(bodies) if not reached.isdisjoint(body.words)} - found
            owners = {owner.name for at in fresh for owner in self._owners(bodies[at].declaration)}
            found |= fresh
            waiting = [*(owners - wanted)]
            wanted |= owners
        return wanted, [bodies[at] for at in sorted(found)]

    def _owners(self, declaration: Declaration) -> Iterator[Owner]:
        """Yield the templates around what a declaration holds, the innermost first."""
        heads = _heads(declaration)
        if heads and declaration.kind == "function":
            of_class = declaration.qualifier[-1] if declaration.qualifier else ""
            if of_class and (len(heads) > 1 or of_class in self._classes):
                yield Owner(of_class, _names_of(heads[0]), is_class=True)
                heads = heads[1:]
            for head in heads[-1:]:
                yield Owner(declaration.name, _names_of(head))
        elif heads:
            yield Owner(declaration.name, _names_of(heads[-1]), is_class=True)
        scope = declaration.parent
        while scope is not None:
            if scope.kind == "class" and (heads := _heads(scope)):
                yield Owner(scope.name, _names_of(heads[-1]), is_class=True)
            scope = scope.parent

    # What template arguments stand for.

    def _meanings(
        self, site: Site, settled: tuple[Spelling, ...], chain: tuple[str, ...] = ()
    ) -> list[tuple[Spelling, ...]]:
        """Return what template arguments at a site stand for; none where that is not known.

        ``chain`` are the templates that are being asked about.
        """
        found = [settled]
        around: tuple[Alternatives | Owner, ...] = (*site.around, *site.owners)
        for one in around:
            own = {*one.parameters} - {""}
            if any(words(part) & own for parts in found for part in parts):
                bound = one.bindings if isinstance(one, Alternatives) else self._bound(one, chain)
                pairs = ((parts, each) for parts in found for each in bound)
                found = [
                    tuple(_without_decltype(replaced(part, each)) for part in parts)
                    for parts, each in pairs
                    if not any(words(part) & own - each.keys() for part in parts)
                ]
        return list(dict.fromkeys(found))[:_MOST]

    def _bound(self, owner: Owner, chain: tuple[str, ...]) -> list[dict[str, Spelling]]:
        """Return what a template's parameters stand for, by each of its uses."""
        if owner.name in chain or len(chain) == _DEEPEST or not owner.name:
            return []
        about = (owner, frozenset(chain))
        if about not in self._known:
            found = self._used(owner, (*chain, owner.name))
            alike = {tuple((name, written(one)) for name, one in each.items()): each for each in found if each}
            self._known[about] = [*alike.values()][:_MOST]
        return self._known[about]

    def _used(self, owner: Owner, chain: tuple[str, ...]) -> Iterator[dict[str, Spelling]]:
        """Yield what the parameters stand for where their arguments are spelled, or those of a call say it."""
        for site in self._sites[owner.name]:
            if len(site.settled) <= len(owner.parameters):
                for bound in self._bindings(owner, site.settled, site.types):
                    for parts in self._meanings(site, tuple(bound.values()), chain) if bound else ():
                        yield dict(zip(bound, parts, strict=True))
        for declared in self._instantiations[owner.name]:
            yield from self._bindings(owner, (), [kind for kind, _ in _parameters(declared)])

    def _bindings(
        self, owner: Owner, arguments: Sequence[Spelling], types: Sequence[Spelling]
    ) -> Iterator[dict[str, Spelling]]:
        """Yield what template arguments and the types of values say, for each function that may be meant."""
        patterns = [] if owner.is_class else [_parameters(one) for one in self._patterns[owner.name]]
        if not patterns or len(arguments) == len(owner.parameters):
            patterns, types = [[]], ()
        for pattern in patterns:
            if len(pattern) >= len(types):
                yield _bound_by(owner.parameters, arguments, [kind for kind, _ in pattern], types)

    def _uses(self, template: Template) -> tuple[tuple[str, ...], ...]:
        """Return the template arguments of a kernel where it is named and not launched."""
        found: dict[tuple[str, ...], None] = {}
        for site in self._sites[template.plain]:
            if site.template is None or site.configuration is not None or len(site.template) > len(template.parameters):
                continue
            if len(site.template) >= template.required:
                for parts in self._meanings(site, site.settled, (template.plain,)):
                    found[self._names.qualified(parts, template.name)] = None
        return tuple(found)[:_MOST_USES]

    # Launches.

    def _launches(self) -> list[SeenLaunch]:
        """Return the launches, each place once, with what its template arguments stand for."""
        kernels = defaultdict(list)
        for template in self.templates:
            kernels[template.plain].append(template)
        found: dict[tuple[str, int, str, tuple[str, ...] | None], SeenLaunch] = {}
        sites = (one for sites in self._sites.values() for one in sites if one.configuration is not None)
        for site in sorted(sites, key=lambda site: (site.file, site.offset)):
            launch = _as_spelled(site)
            if (known := kernels.get(site.name)) is not None:
                launch = self._resolved(launch, site, _candidates(launch, known))
            place = (site.file, site.offset, site.kernel, launch.template)
            before = found.get(place)
            found[place] = launch if before is None else _merged(before, launch)
        return [*found.values()]

    def _resolved(self, launch: SeenLaunch, site: Site, overloads: Sequence[Template]) -> SeenLaunch:
        meant = _overload(site, overloads) if len(overloads) > 1 else None
        template = meant or overloads[0]
        whole = _completed(site, template)
        launch = launch._replace(axes=_axes(site))
        if site.template is not None:
            launch = launch._replace(template=self._names.qualified(site.settled, template.name))
        if len(whole) < template.required:
            return launch
        meanings = dict.fromkeys(
            self._names.qualified(map(as_declared, each), template.name) for each in self._meanings(site, whole)
        )
        casts: tuple[str, ...] = ()
        if meant is not None:
            casts = tuple(dict.fromkeys(self._cast(template, tuple(map(spelled, each))) for each in meanings))
        return launch._replace(meanings=tuple(meanings), casts=casts)

    def _cast(self, template: Template, arguments: tuple[Spelling, ...]) -> str:
        """Return the name expression of an instance that overloads need."""
        meanings = dict(zip(template.parameters, arguments, strict=False))
        types = self._names.qualified((tight(replaced(one, meanings)) for one in template.types), template.name)
        name = f"{template.name}<{', '.join(map(written, arguments))}>"
        return f"(void (*)({', '.join(types)})) {name}"


def _once(units: Iterable[tuple[Sequence[Reading], MacroTable]]) -> Iterator[Declaration]:
    """Yield the declarations of some units, those of a file that several read as the first one has them."""
    read: dict[str, int] = {}
    for number, (readings, _) in enumerate(units):
        for reading in readings:
            if read.setdefault(reading.stream.file.name, number) == number:
                yield from reading


def _without_decltype(part: Spelling) -> Spelling:
    """Return a template argument with ``T`` for ``decltype(T{})``."""
    texts = [token.text for token in part]
    if "decltype" not in texts:
        return part
    at = texts.index("decltype")
    end = closing(part, at + 1) if texts[at + 1 : at + 2] == ["("] else None
    if end is None or texts[end - 2 : end] != ["{", "}"]:
        return part
    return _without_decltype((*part[:at], *part[at + 2 : end - 2], *part[end + 1 :]))


def _as_spelled(site: Site) -> SeenLaunch:
    return SeenLaunch(
        site.file.removeprefix(VIRTUAL_ROOT),
        site.line,
        site.kernel,
        None if site.template is None else tuple(map(written, site.template)),
        tuple(map(written, site.configuration or ())),
        tuple(map(written, site.arguments or ())),
    )


def _axes(site: Site) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return the names among the template arguments that stand for several types."""
    named = dict.fromkeys(token.text for part in site.settled for token in part if is_identifier(token.text))
    found = {
        name: tuple(written(each[name]) for each in one.bindings)
        for one in reversed(site.around)
        for name in one.parameters
        if name in named and one.bindings and all(name in each for each in one.bindings)
    }
    open_ones = {name for owner in site.owners for name in owner.parameters}
    return (*found.items(), *((name, ()) for name in named if name in open_ones and name not in found))


def _merged(before: SeenLaunch, launch: SeenLaunch) -> SeenLaunch:
    """Return two readings of one launch as one."""
    axes: dict[str, tuple[str, ...]] = dict(before.axes)
    for name, values in launch.axes:
        axes[name] = tuple(dict.fromkeys((*axes.get(name, ()), *values)))
    return before._replace(
        axes=tuple(axes.items()),
        meanings=tuple(dict.fromkeys((*before.meanings, *launch.meanings))),
        casts=tuple(dict.fromkeys((*before.casts, *launch.casts))),
    )


def _bound_by(
    parameters: Sequence[str], arguments: Sequence[Spelling], wanted: Sequence[Spelling], given: Sequence[Spelling]
) -> dict[str, Spelling]:
    """Return what template parameters stand for by the arguments that are spelled, and else by the types of values."""
    bound = dict(zip(parameters, arguments, strict=False))
    for pattern, kind in zip(wanted, given, strict=False):
        for name, meaning in (deduce(pattern, kind, parameters) if kind else {}).items():
            bound.setdefault(name, meaning)
    return bound


def _completed(site: Site, template: Template) -> tuple[Spelling, ...]:
    """Return a launch's template arguments with those that its arguments imply behind them, as far as these are known.

    A default stands where nothing is implied.
    """
    if len(site.settled) >= len(template.parameters):
        return site.settled
    bound = _bound_by(template.parameters, site.settled, template.types, site.types)
    return tuple(bound[name] for name in takewhile(bound.__contains__, template.parameters))


# Overloads.


def _signature(template: Template) -> tuple[str, ...]:
    """Return a kernel's parameter types in a spelling that a second declaration shares, whatever it calls these."""
    numbers = {name: (MacroToken(f"${at}"),) for at, name in enumerate(template.parameters)}
    return tuple(" ".join(token.text for token in replaced(one, numbers)) for one in template.types)


def _candidates(launch: SeenLaunch, templates: Sequence[Template]) -> list[Template]:
    """Return the overloads of the kernel that a launch names, of templates with its plain name: those of one file."""
    own = [one for one in templates if one.path == launch.path] or templates
    return [one for one in own if (one.path, one.name) == (own[-1].path, own[-1].name)]


def _overload(site: Site, templates: Sequence[Template]) -> Template | None:
    """Return which of some overloads a launch means, by its arguments' types; None where these do not tell.

    Of several that fit, it is the one with the most specific types: ``complex<T>*`` rather than ``T*``.
    """
    fitting = sorted((_specific(one), at) for at, one in enumerate(templates) if _fits(one, site))
    if not fitting or (len(fitting) > 1 and fitting[-1][0] == fitting[-2][0]):
        return None
    return templates[fitting[-1][1]]


def _fits(template: Template, site: Site) -> bool:
    """Return whether types that are known, one at least, can be given for a template's parameters."""
    if len(site.types) != len(template.types) or len(site.settled) > len(template.parameters):
        return False
    bound = dict(zip(template.parameters, map(written, site.settled), strict=False))
    pairs = zip(template.types, site.types, strict=True)
    known = [(wanted, one) for wanted, one in pairs if one and _is_open(template, wanted)]
    for wanted, one in known:
        found = deduce(wanted, one, template.parameters)
        if not found or any(bound.setdefault(name, written(each)) != written(each) for name, each in found.items()):
            return False
    return bool(known)


def _is_open(template: Template, wanted: Spelling) -> bool:
    return not words(wanted).isdisjoint(template.parameters)


def _specific(template: Template) -> int:
    return sum(len(words(wanted)) for wanted in template.types if _is_open(template, wanted))


class _Names:
    """The types, aliases, constants and enumerators declared outside classes, with their namespaces."""

    def __init__(self, declarations: Iterable[Declaration]) -> None:
        self._known: Final[dict[str, set[str]]] = defaultdict(set)
        for one in declarations:
            if not one.is_member:
                namespace = "::".join(filter(None, one.scope))
                for name in self._declared(one):
                    self._known[name].add(namespace)

    def _declared(self, one: Declaration) -> Iterator[str]:
        is_constant = one.kind == "variable" and (one.declarators[0].is_const or "constexpr" in one.words)
        if one.kind in {"class", "enum", "alias", "forward"} or is_constant:
            yield one.name
        if one.kind == "enum" and {"class", "struct"}.isdisjoint(one.words):
            yield from one.enumerators

    def qualified(self, parts: Iterable[Spelling], kernel: str) -> tuple[str, ...]:
        """Return a kernel's template arguments with the namespaces of what is declared in those that it is in itself.

        A name with part of its namespaces, or none, as where it is launched, gets the rest if only one declaration can
        be meant.
        """
        inside = kernel.split("::")[:-1]
        around = ["::".join(inside[:count]) for count in range(len(inside), -1, -1)]
        return tuple(written(self._qualified(part, around)) for part in parts)

    def _qualified(self, part: Spelling, around: Sequence[str]) -> Spelling:
        found: list[MacroToken] = []
        at = 0
        while at < len(part):
            token = part[at]
            last = part[at - 1].text if at else ""
            if not is_identifier(token.text) or last in {"::", ".", "->"}:
                found.append(token)
                at += 1
                continue
            chain = [token.text]
            while at + 2 < len(part) and part[at + 1].text == "::" and is_identifier(part[at + 2].text):
                chain.append(part[at + 2].text)
                at += 2
            at += 1
            found.append(MacroToken("::".join(self._whole(chain, around)), token.is_spaced))
        return tuple(found)

    def _whole(self, chain: list[str], around: Sequence[str]) -> list[str]:
        known = self._known.get(chain[0], set())
        only = next(iter(known)) if len(known) == 1 else ""
        namespace = next((one for one in around if one in known), only)
        if namespace:
            return [*namespace.split("::"), *chain]
        for at in range(len(chain) - 1, 0, -1):
            inner = "::".join(chain[:at])
            fitting = {one for one in self._known.get(chain[at], ()) if f"::{one}".endswith(f"::{inner}")}
            if len(fitting) == 1:
                return [*fitting.pop().split("::"), *chain[at:]]
        return chain
