"""What tells device code from host code in a project's texts: the marks, also those that its macros hide."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple

from hatch_cuda_kernels.host_code.known_types import known_types
from hatch_cuda_kernels.host_code.outline import read_outline
from hatch_cuda_kernels.host_code.roles import find_roles, reached
from hatch_cuda_kernels.host_code.said import operands_of_macros, outline_of, said_by
from hatch_cuda_kernels.host_code.words import HOST_NAMESPACES
from hatch_cuda_kernels.source.expansion import Macros
from hatch_cuda_kernels.source.lexer import without_literals
from hatch_cuda_kernels.source.readings import find_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from hatch_cuda_kernels.host_code.items import Outline, OutlineItem
    from hatch_cuda_kernels.host_code.roles import MacroRole
    from hatch_cuda_kernels.host_code.said import Said
    from hatch_cuda_kernels.source.macros import MacroText
    from hatch_cuda_kernels.source.readings import Readings

__all__ = ["Facts", "FoundFunction", "Marked", "gather_facts", "gather_macros", "is_float_constant", "member_of"]

_MARKS: Final = frozenset({"__device__", "__global__", "__constant__", "__shared__", "__managed__"})
#: In ``__attribute__((device))`` and its kin.
_ATTRIBUTE: Final = re.compile(
    r"__(?:attribute|declspec)(?:__)?\s*\([^;{]*?\b_*(?:device|global|constant|shared|managed)_*\b"
)
#: Names of the toolkit's macros, of which some hide marks.
_TOOLKITS: Final = re.compile(r"(?:_?CCCL|_LIBCUDACXX|CUB|THRUST|CUDART|_CUDA|__CUDA|NV)_\w+")
_KNOWN_UNMARKED: Final = frozenset({"CUDART_CB", "CUDART_VERSION", "NV_UNUSED"})
_WORD: Final = re.compile(r"[A-Za-z_]\w*")
_DEFAULT: Final = re.compile(r"=\s*(?:\w+\s*::\s*)*(\w+)\s*\(")
_PASTED: Final = re.compile(r"__\s*##|##\s*\w*__\b")  # may become a mark
_ASKING: Final = frozenset({"decltype", "sizeof", "noexcept", "requires"})


class FoundFunction(NamedTuple):
    """A function of a namespace, and the text that it is in."""

    item: OutlineItem
    text: str


class Marked(NamedTuple):
    """The marked functions of one name, by the types of their parameters: those without a body, and with one."""

    declared: set[tuple[str, ...]]
    defined: set[tuple[str, ...]]


@dataclass(frozen=True)
class Facts:
    """What a project's texts say together."""

    texts: Mapping[str, tuple[str, ...]]
    """What each macro stands for, without literals."""
    macros: Macros
    """The macros themselves."""
    marks: frozenset[str]
    """The marks, and the macros that hide one."""
    roles: Mapping[str, MacroRole]
    """What each macro is to the declarations that use it."""
    asking: frozenset[str] = frozenset()
    """The macros that ask for a type, or whether something has a meaning."""
    marked: dict[tuple[str, str], Marked] = field(default_factory=dict)
    """The marked functions by class (empty for none) and name; kernels are among them only by name."""
    marked_in: set[tuple[str, str]] = field(default_factory=set)
    """The marked functions of namespaces, with these."""
    classes: set[str] = field(default_factory=set)
    functions: dict[str, list[FoundFunction]] = field(default_factory=lambda: defaultdict(list))
    """The functions of namespaces, by name."""
    members: dict[tuple[str, str], list[FoundFunction]] = field(default_factory=lambda: defaultdict(list))
    """Those of classes, by class and name."""
    namespaces: set[str] = field(default_factory=set)
    """The parts of their names that the texts declare."""
    defaults: set[str] = field(default_factory=set)
    """The functions that default arguments of constructors call."""
    pure: set[str] = field(default_factory=set)
    """The pure virtual functions: a class whose base has one is abstract without its own."""
    aliases: dict[str, str] = field(default_factory=dict)
    """What ``namespace short = long::name;`` gives another name, with the first part of its own."""
    unevaluated: set[str] = field(default_factory=set)
    """The names of functions whose types the texts ask for, in ``decltype`` or ``sizeof``."""
    deduced: set[str] = field(default_factory=set)
    """Those of them that are called without an object: their bodies may tell their types."""
    observed: set[str] = field(default_factory=set)
    """All words of such operands, and of constraints."""
    kernels: set[str] = field(default_factory=set)
    types: set[str] = field(default_factory=set)
    """The names of types that the texts declare, but for those that stand for types of others."""
    floats: dict[str, set[str]] = field(default_factory=dict)
    """The floating-point constants that are not ``constexpr``, with the words of their values."""
    reals: set[str] = field(default_factory=lambda: {"float", "double"})
    """What the texts call these types."""
    generators: dict[str, bool] = field(default_factory=dict)
    """Whether a macro gives host functions only, as far as that was asked."""

    def is_marked(self, text: str) -> bool:
        """Return whether part of a declaration has a mark, or a word that may hide one."""
        words = set(_WORD.findall(without_literals(text)))
        if words & self.marks or (words & {"__attribute__", "__declspec"} and _ATTRIBUTE.search(text)):
            return True
        return any(_TOOLKITS.fullmatch(word) and word not in self.roles for word in words - _KNOWN_UNMARKED)

    @cached_property
    def host_namespaces(self) -> frozenset[str]:
        """The namespaces of host libraries that no text declares, and what texts call them."""
        absent = HOST_NAMESPACES - self.namespaces
        return absent | {name for name, root in self.aliases.items() if root in absent}

    @cached_property
    def folded(self) -> frozenset[str]:
        """The floating-point constants that are made of others, and these others."""
        uses = {name: words & self.floats.keys() - {name} for name, words in self.floats.items()}
        return reached((name for name, used in uses.items() if used), uses)

    @cached_property
    def marked_names(self) -> frozenset[str]:
        """The names of all marked functions."""
        return frozenset(name for _, name in self.marked)

    @cached_property
    def marked_functions(self) -> frozenset[str]:
        """The names of marked functions that are no members."""
        return frozenset(name for scope, name in self.marked if not scope)

    def generated(self, macro: str) -> list[Outline | None]:
        """Return the outlines of what a macro may stand for."""
        return [read_outline(f"{text.replace('##', '')};", self.roles) for text in self.texts.get(macro, ())]


def gather_macros(macros: Iterable[MacroText]) -> Facts:
    """Return what macros say."""
    macros = tuple(macros)
    texts: dict[str, tuple[str, ...]] = defaultdict(tuple)
    users: dict[str, set[str]] = defaultdict(set)
    for macro in macros:
        text = without_literals(macro.text, "0")
        texts[macro.name] += (text,)
        for word in _WORD.findall(text):
            users[word].add(macro.name)
    hidden = {name for name, found in texts.items() if any(map(_PASTED.search, found))}
    hidden |= {word for word in users if _TOOLKITS.fullmatch(word) and word not in texts}
    return Facts(
        texts=dict(texts),
        macros=Macros(macros),
        marks=reached(_MARKS | hidden, users) - (_KNOWN_UNMARKED - texts.keys()),
        roles=find_roles(texts, users),
        asking=frozenset(reached(_ASKING, users) & texts.keys()),
    )


def gather_facts(
    macros: Iterable[MacroText], texts: Iterable[str], readings: Readings
) -> tuple[Facts, list[Outline | None]]:
    """Return what texts and their macros say together, and the outline of each text."""
    facts = gather_macros(macros)
    texts = list(texts)
    for text in texts:
        said = readings.of(said_by, text)
        facts.reals.update(said.reals)
        facts.aliases.update(said.aliases)
        facts.unevaluated.update(said.unevaluated)
        facts.deduced.update(said.deduced)
        facts.observed.update(said.observed, _asked_by_macros(facts, text, readings))
    facts.types.update(_types(facts, [readings.of(said_by, text) for text in texts]))
    outlines = [outline_of(text, facts.roles, readings) for text in texts]
    for outline in outlines:
        if outline is not None:
            facts.classes.update(item.declaration.name for item in outline.items if item.declaration.kind == "type")
            facts.namespaces.update(part for item in outline.items for part in item.namespace.split("::"))
    for outline in outlines:
        if outline is not None:
            for item in outline.items:
                _note(facts, outline.source.text, item)
    return facts, outlines


def _types(facts: Facts, said: Sequence[Said]) -> set[str]:
    declared = {name for one in said for name in one.types}
    macros = ((name, _WORD.findall(text)) for name, texts in facts.texts.items() for text in texts)
    return known_types(declared - facts.texts.keys(), chain(macros, *(one.meanings for one in said)))


def _asked_by_macros(facts: Facts, text: str, readings: Readings) -> frozenset[str]:
    """Return what a text gives macros that ask for something."""
    used = facts.asking & readings.of(find_words, text)
    return readings.of(operands_of_macros, text, used) if used else used


def _note(facts: Facts, text: str, item: OutlineItem) -> None:
    declared = item.declaration
    if is_float_constant(item, text, facts):
        words = set(_WORD.findall(without_literals(text[item.start : item.end])))
        facts.floats.setdefault(declared.name, set()).update(words)
    if declared.kind not in {"function", "call"}:
        return
    head = text[item.start : declared.last or item.end]
    if item.class_name is not None and declared.name == item.class_name:
        facts.defaults.update(_DEFAULT.findall(head))
    if declared.ending == "0":
        facts.pure.add(declared.name)
    if item.class_name is not None:
        facts.members[item.class_name, declared.name].append(FoundFunction(item, text))
    elif not declared.scope:
        facts.functions[declared.name].append(FoundFunction(item, text))
    if facts.is_marked(head):
        member = member_of(item, facts)
        if not member[0]:
            facts.marked_in.add((item.namespace, declared.name))
        marked = facts.marked.setdefault(member, Marked(set(), set()))
        if "__global__" in head:
            facts.kernels.add(declared.name)
        else:
            (marked.defined if declared.ending == "{}" else marked.declared).add(declared.parameters)


def is_float_constant(item: OutlineItem, text: str, facts: Facts) -> bool:
    """Return whether an item of a text is a floating-point constant of a namespace that is not ``constexpr``."""
    declared = item.declaration
    if declared.kind != "variable" or not declared.is_const or item.class_name is not None or not declared.is_sure:
        return False
    head, equals, _ = text[item.start : item.end].partition("=")
    is_plain = not (set("*&<") & set(head)) and not declared.words & {"constexpr", "constinit", "thread_local"}
    return bool(equals) and is_plain and len(declared.types) == 1 and declared.types[0] in facts.reals


def member_of(item: OutlineItem, facts: Facts) -> tuple[str, str]:
    """Return the class (empty for none) and the name of a function."""
    declared = item.declaration
    scope = declared.scope if declared.scope in facts.classes else ""
    inside = item.class_name is not None and "friend" not in declared.words
    return (item.class_name or "" if inside else scope), declared.name
