"""What the parameters of templates stand for where these are used: so a launch in one says which kernels there are."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING, Final, NamedTuple

from hatch_cuda_kernels.host_code.tokens import tokens_of
from hatch_cuda_kernels.port.dispatch import dispatched_types
from hatch_cuda_kernels.port.hidden import made_by_macros, without_directives
from hatch_cuda_kernels.port.lambdas import with_passed
from hatch_cuda_kernels.port.scopes import settled
from hatch_cuda_kernels.port.spelled import deduce, replaced, template_arguments, type_of, words
from hatch_cuda_kernels.port.template_head import template_parameters
from hatch_cuda_kernels.source.lexer import UnclearTextError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from hatch_cuda_kernels.host_code.declaration import Declaration
    from hatch_cuda_kernels.host_code.items import Outline, OutlineItem
    from hatch_cuda_kernels.source.expansion import Macros

__all__ = ["Bindings"]

_MOST: Final = 64
_DEEPEST: Final = 6
_FUNCTIONS: Final = frozenset({"function", "call"})


class _Owner(NamedTuple):
    """A template around a place: what it is used by, and its parameters."""

    name: str
    parameters: tuple[str, ...]


class _Text(NamedTuple):
    """A text to look for uses in, and where it is used that a macro stands for it."""

    path: str
    text: str
    place: int | None = None


class Bindings:
    """The uses of the templates of a project's files."""

    def __init__(self, outlines: Mapping[str, Outline], macros: Macros) -> None:
        self._outlines: Final = outlines
        self._macros: Final = macros
        self._templates: Final[dict[str, list[Declaration]]] = defaultdict(list)
        self._instances: Final[dict[str, list[Declaration]]] = defaultdict(list)
        names: Final[dict[str, set[str]]] = defaultdict(set)
        for declared in (item.declaration for outline in outlines.values() for item in outline.items):
            names[declared.kind].add(declared.name)
            if declared.form in {"template", "instantiation"}:
                (self._templates if declared.form == "template" else self._instances)[declared.name].append(declared)
        self._placed: Final[dict[tuple[str, str], list[tuple[str, int, tuple[str, ...]]]]] = {}
        self._global: Final[dict[str, str]] = {}
        self._known: Final[dict[tuple[_Owner, frozenset[str]], list[dict[str, str]]]] = {}
        self._functions: Final = names["function"] - names["type"]
        launchers = {item.declaration.name for outline in outlines.values() for item in _templates(outline)}
        self._texts: Final = [
            *(_Text(path, without_directives(outline)) for path, outline in outlines.items()),
            *(
                _Text(path, use.text, use.start)
                for path, outline in outlines.items()
                for use in made_by_macros(outline, macros, launchers)
            ),
        ]

    def meanings(
        self, path: str, at: int, spelled: Sequence[str], chain: tuple[str, ...] = ()
    ) -> list[tuple[str, ...]]:
        """Return what template arguments stand for that are spelled at a position; none where that is not known.

        ``chain`` are the templates that are being asked about.
        """
        around = self._around(path, at)
        text = self._outlines[path].source.text
        inside = _function(around)
        found = [tuple(spelled)]
        if inside is not None:
            known = settled(text[inside.start : at], tuple(spelled))
            found = with_passed(known, text[inside.start : inside.end], at - inside.start, self._macros)
        for name, values in self._dispatched(text, inside, at).items():
            if any(name in words(part) for parts in found for part in parts):
                found = [tuple(replaced(part, {name: value}) for part in parts) for parts in found for value in values]
        for owner in self._owners(path, around):
            if any(words(part) & {*owner.parameters} for parts in found for part in parts):
                bound = self._bound(owner, chain)
                pairs = ((parts, each) for parts in found for each in bound if _is_whole(parts, owner, each))
                found = [tuple(replaced(part, each) for part in parts) for parts, each in pairs]
        return list(dict.fromkeys(found))[:_MOST]

    def type_of(self, argument: str, path: str, at: int) -> str:
        """Return the type of an argument at a position; empty where that is not known."""
        return self._type_in(argument, self._before(path, at))

    def _type_in(self, argument: str, before: str) -> str:
        found = type_of(argument, before)
        name = found.partition("<")[0].rpartition("::")[2]
        return "" if name in self._functions else found  # what an auto is given is a call, and no type with a value

    def _before(self, path: str, at: int) -> str:
        """Return what may declare the names at a position: what is outside functions, and its own function so far."""
        inside = _function(self._around(path, at))
        text = self._outlines[path].source.text
        return self._outside(path) + (text[inside.start : at] if inside is not None else "")

    def _outside(self, path: str) -> str:
        """Return a text without its functions."""
        if path not in self._global:
            text, done, pieces = self._outlines[path].source.text, 0, []
            functions = (item for item in self._outlines[path].items if item.declaration.kind in _FUNCTIONS)
            for item in sorted(functions, key=lambda item: item.start):
                pieces.append(text[done : item.start])
                done = max(done, item.end)
            self._global[path] = "".join((*pieces, text[done:]))
        return self._global[path]

    def _around(self, path: str, at: int) -> list[OutlineItem]:
        """Return the declarations that a position is in, the innermost first."""
        found = [item for item in self._outlines[path].items if item.start <= at < item.end]
        return sorted(found, key=lambda item: item.end - item.start)

    def _owners(self, path: str, around: Sequence[OutlineItem]) -> Iterator[_Owner]:
        text = self._outlines[path].source.text
        for item in around:
            declared = item.declaration
            if declared.form == "template":
                name = declared.scope if declared.scope and declared.kind == "function" else declared.name
                yield _Owner(name, template_parameters(text[item.start : declared.first]))

    def _dispatched(self, text: str, inside: OutlineItem | None, at: int) -> dict[str, tuple[str, ...]]:
        if inside is None or "DISPATCH" not in text[inside.start : at]:
            return {}
        try:
            return dispatched_types(tokens_of(text[inside.start : at]), text[inside.start : at])
        except UnclearTextError:
            return {}

    def uses(self, name: str, parameters: Sequence[str]) -> list[tuple[str, ...]]:
        """Return the template arguments that are spelled where a template is used, with what they stand for."""
        found = self._spelled(_Owner(name, tuple(parameters)), ())
        return list(dict.fromkeys(tuple(each.values()) for each in found))[:_MOST]

    def _bound(self, owner: _Owner, chain: tuple[str, ...]) -> list[dict[str, str]]:
        """Return what a template's parameters stand for, by each of its uses."""
        if owner.name in chain or len(chain) == _DEEPEST or not owner.name:
            return []
        about = (owner, frozenset(chain))
        if about not in self._known:
            found = [*self._spelled(owner, chain), *self._called(owner, chain), *self._instantiated(owner)]
            alike = dict.fromkeys(tuple(each.items()) for each in found)
            self._known[about] = [dict(items) for items in alike][:_MOST]
        return self._known[about]

    def _spelled(self, owner: _Owner, chain: tuple[str, ...]) -> Iterator[dict[str, str]]:
        """Yield what the parameters stand for where their arguments are spelled."""
        for path, at, given in self._places(owner.name, "<"):
            if given and len(given) <= len(owner.parameters):
                for parts in self.meanings(path, at, given, (*chain, owner.name)):
                    yield dict(zip(owner.parameters, parts, strict=False))

    def _called(self, owner: _Owner, chain: tuple[str, ...]) -> Iterator[dict[str, str]]:
        """Yield what the parameters of a function stand for where the arguments of a call say it."""
        patterns = [declared.parameters for declared in self._templates.get(owner.name, ())]
        for path, at, given in self._places(owner.name, "(") if patterns else ():
            before = self._before(path, at)
            for pattern in (one for one in patterns if len(one) >= len(given)):
                bound: dict[str, str] = {}
                for wanted, argument in zip(pattern, given, strict=False):
                    if {*wanted.split()} & {*owner.parameters}:
                        bound = deduce(wanted, self._type_in(argument, before), owner.parameters) | bound
                for parts in self.meanings(path, at, tuple(bound.values()), (*chain, owner.name)) if bound else ():
                    yield dict(zip(bound, parts, strict=True))

    def _places(self, name: str, bracket: str) -> list[tuple[str, int, tuple[str, ...]]]:
        """Return where a template's name stands before a bracket, with what commas separate in there."""
        if (name, bracket) not in self._placed:
            self._placed[name, bracket] = [*self._found(name, bracket)]
        return self._placed[name, bracket]

    def _found(self, name: str, bracket: str) -> Iterator[tuple[str, int, tuple[str, ...]]]:
        for path, text, place in self._texts:
            for use in re.finditer(rf"\b{name}\s*\{bracket}", text) if name in text else ():
                given = template_arguments(text, use.end() - 1)
                if given is not None:
                    yield path, use.start() if place is None else place, given

    def _instantiated(self, owner: _Owner) -> Iterator[dict[str, str]]:
        """Yield what a function's parameters stand for in ``template void f(float*);``, where their types say it."""
        patterns = [declared.parameters for declared in self._templates.get(owner.name, ())]
        for declared in self._instances.get(owner.name, ()):
            for pattern in (one for one in patterns if len(one) == len(declared.parameters)):
                bound: dict[str, str] = {}
                for wanted, given in zip(pattern, declared.parameters, strict=True):
                    bound |= deduce(wanted, given, owner.parameters)
                if bound:
                    yield bound


def _is_whole(parts: Sequence[str], owner: _Owner, bound: Mapping[str, str]) -> bool:
    """Return whether what a template's parameters stand for is known of all that template arguments name."""
    return not any(words(part) & {*owner.parameters} - bound.keys() for part in parts)


def _function(around: Sequence[OutlineItem]) -> OutlineItem | None:
    """Return the innermost function of declarations."""
    return next((item for item in around if item.declaration.kind in _FUNCTIONS), None)


def _templates(outline: Outline) -> Iterator[OutlineItem]:
    """Yield the templates of a text that are functions of the host's."""
    text = outline.source.text
    for item in outline.items:
        declared = item.declaration
        head = text[item.start : declared.last or item.end]
        if declared.form == "template" and declared.kind == "function" and "__" not in head:
            yield item
