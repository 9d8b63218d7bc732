"""What tells device code from host code in a project's texts: the marks, also those that its macros hide."""

from __future__ import annotations

import re
from collections import defaultdict
from itertools import chain, takewhile
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.host_code.facts import KNOWN_UNMARKED, PASTED, TOOLKITS, Facts, FoundItem, Marked
from hatch_cuda_kernels.host_code.float_constants import is_float_constant
from hatch_cuda_kernels.host_code.known_types import known_types
from hatch_cuda_kernels.host_code.parts_of_bodies import parts_of_bodies
from hatch_cuda_kernels.host_code.roles import find_roles, reached
from hatch_cuda_kernels.host_code.said import operands_of_macros, outline_of, said_by
from hatch_cuda_kernels.host_code.undone import local_macros, without_undone
from hatch_cuda_kernels.host_code.words import CONSTANT
from hatch_cuda_kernels.source.expansion import Macros
from hatch_cuda_kernels.source.lexer import without_literals
from hatch_cuda_kernels.source.readings import find_words

if TYPE_CHECKING:
    from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence

    from hatch_cuda_kernels.host_code.declaration import Declaration
    from hatch_cuda_kernels.host_code.items import Outline, OutlineItem
    from hatch_cuda_kernels.host_code.said import Said
    from hatch_cuda_kernels.source.macros import MacroText
    from hatch_cuda_kernels.source.readings import Readings

__all__ = [
    "TEMPLATE",
    "gather_facts",
    "gather_macros",
    "is_host_variable",
    "member_of",
    "signature_of",
]

_MARKS: Final = frozenset({"__device__", "__global__", "__constant__", "__shared__", "__managed__"})
_WORD: Final = re.compile(r"[A-Za-z_]\w*")
_DEFAULT: Final = re.compile(r"=\s*(?:\w+\s*(?:<[^<>()=]*>\s*)?::\s*)*(\w+)\s*\(")
_CALLED: Final = re.compile(r"([A-Za-z_]\w*)\s*\(")
TEMPLATE: Final = ("template",)
_ASKING: Final = frozenset({"decltype", "sizeof", "noexcept", "requires"})


def gather_macros(macros: Iterable[MacroText], types: Container[str] = ()) -> Facts:
    """Return what macros say; what they name of ``types`` is none of the toolkit's macros."""
    macros = tuple(macros)
    texts: dict[str, tuple[str, ...]] = defaultdict(tuple)
    users: dict[str, set[str]] = defaultdict(set)
    for macro in macros:
        text = without_literals(macro.text, "0")
        texts[macro.name] += (text,)
        for word in _WORD.findall(text):
            users[word].add(macro.name)
    hidden = {name for name, found in texts.items() if any(map(PASTED.search, found))}
    hidden |= {word for word in users if TOOLKITS.fullmatch(word) and word not in texts and word not in types}
    return Facts(
        texts=dict(texts),
        macros=Macros(macros),
        marks=reached(_MARKS | hidden, users) - (KNOWN_UNMARKED - texts.keys()),
        roles=find_roles(texts, users),
        asking=frozenset(reached(_ASKING, users) & texts.keys()),
    )


def gather_facts(
    macros: Iterable[MacroText], texts: Mapping[str, str], readings: Readings
) -> tuple[Facts, list[Outline | None]]:
    """Return what texts by name and their macros say together, and the outline of each text.

    None for a text that cannot be parsed, or stands inside a declaration.
    """
    said_by_texts = [readings.of(said_by, text) for text in texts.values()]
    facts = gather_macros(macros, {name for said in said_by_texts for name in said.types})
    facts.local.update(local_macros(texts.values()) & facts.marks)
    for text, said in zip(texts.values(), said_by_texts, strict=True):
        facts.reals.update(said.reals)
        facts.aliases.update(said.aliases)
        facts.unevaluated.update(said.unevaluated)
        facts.deduced.update(said.deduced)
        facts.renamed.update(said.renamed)
        facts.observed.update(said.observed, _asked_by_macros(facts, text, readings))
    meanings = [*_meanings(facts, said_by_texts)]
    declared = {name for said in said_by_texts for name in said.types}
    facts.types.update(known_types(declared - facts.texts.keys(), meanings))
    facts.referring.update(_referring(facts, said_by_texts, meanings))
    outline_by_name = {name: outline_of(text, facts.roles, readings) for name, text in texts.items()}
    inside = parts_of_bodies(texts, outline_by_name)
    outlines = [None if name in inside else outline for name, outline in outline_by_name.items()]
    for outline in outlines:
        if outline is not None:
            types = [item.declaration for item in outline.items if item.declaration.kind == "type"]
            facts.classes.update(declared.name for declared in types)
            facts.enums.update(declared.name for declared in types if "enum" in declared.words)
            facts.namespaces.update(part for item in outline.items for part in item.namespace.split("::"))
    for outline in outlines:
        if outline is not None:
            for item in outline.items:
                _note(facts, outline.source.text, item)
    return facts, outlines


def _meanings(facts: Facts, said: Sequence[Said]) -> Iterator[tuple[str, Collection[str]]]:
    """Yield what stands for others, macros among them, with the words of these."""
    yield from ((name, _WORD.findall(text)) for name, texts in facts.texts.items() for text in texts)
    yield from chain.from_iterable(one.meanings for one in said)


def _referring(facts: Facts, said: Sequence[Said], meanings: Iterable[tuple[str, Collection[str]]]) -> frozenset[str]:
    """Return what may stand for references, also by way of others."""
    users: dict[str, set[str]] = defaultdict(set)
    for name, words in meanings:
        for word in words:
            users[word].add(name)
    macros = {name for name, texts in facts.texts.items() if any("&" in text for text in texts)}
    return reached(macros.union(*(one.referring for one in said)), users)


def _asked_by_macros(facts: Facts, text: str, readings: Readings) -> frozenset[str]:
    """Return what a text gives macros that ask for something."""
    used = facts.asking & readings.of(find_words, text)
    return readings.of(operands_of_macros, text, used) if used else used


def _note(facts: Facts, text: str, item: OutlineItem) -> None:
    declared = item.declaration
    if is_float_constant(item, text, facts):
        words = set(_WORD.findall(without_literals(text[item.start : item.end])))
        facts.floats.setdefault(declared.name, set()).update(words)
    if declared.kind == "variable":
        _note_variable(facts, text, item)
    if declared.kind in {"function", "call"}:
        _note_function(facts, text, item)
    else:
        _note_class(facts, text, item)
    if item.class_name is not None and _may_bring_constructors(item, text):
        facts.hidden.add(item.class_name)


def _note_variable(facts: Facts, text: str, item: OutlineItem) -> None:
    declared = item.declaration
    if is_host_variable(item) and not facts.is_marked(text[item.start : declared.value or item.end]):
        if declared.name.isidentifier():
            facts.variables[declared.name].add(item.class_name or declared.scope)
    elif item.class_name is None:
        facts.stay_in[declared.name].add(item.namespace)
    if item.class_name is None:
        if declared.is_const:
            facts.constants[declared.name].append(FoundItem(item, text))
        return
    facts.data.add(declared.name)
    if declared.value:  # what gives a data member its value stays declared
        facts.observed.update(_CALLED.findall(text, declared.value, item.end))


def _note_class(facts: Facts, text: str, item: OutlineItem) -> None:
    """Note a class, whose members were noted before."""
    name = item.declaration.name
    if item.declaration.kind != "type" or "{" not in text[item.start : item.end]:
        return
    noted = takewhile(
        lambda one: one.text is text and one.item.start >= item.start, reversed(facts.members.get((name, name), []))
    )
    is_own = _are_unknown([one.item.declaration for one in noted])
    facts.made_at_start[name] = facts.made_at_start.get(name, True) and is_own


def _are_unknown(constructors: Sequence[Declaration]) -> bool:
    """Return whether a class has constructors, none of them ``constexpr`` or made by the compiler but copies."""
    is_own = any(one.ending not in {"default", "delete"} for one in constructors)
    return is_own and not any(
        one.words & CONSTANT or not one.is_sure or (one.ending == "default" and not one.parameters)
        for one in constructors
    )


def _may_bring_constructors(item: OutlineItem, text: str) -> bool:
    """Return whether a member may be constructors: those that a macro stands for, or a base's: ``using A::A;``."""
    declared = item.declaration
    is_using = declared.kind == "other" and text.startswith("using", item.start)
    return (declared.kind == "call" and declared.name != item.class_name) or (
        is_using and "=" not in text[item.start : item.end]
    )


def _note_function(facts: Facts, text: str, item: OutlineItem) -> None:
    declared = item.declaration
    head = without_undone(text[item.start : declared.last or item.end], text, item.start, facts.local)
    if item.class_name is not None and declared.name == item.class_name:
        facts.defaults.update(_DEFAULT.findall(head))
        facts.observed.update(_DEFAULT.findall(head))
    if declared.ending == "0":
        facts.pure.add(declared.name)
    if item.class_name is not None:
        facts.members[item.class_name, declared.name].append(FoundItem(item, text))
    elif not declared.scope:
        facts.functions[declared.name].append(FoundItem(item, text))
    if facts.is_marked(head):
        member = member_of(item, facts)
        if not member[0]:
            facts.marked_in.add((item.namespace, declared.name))
        marked = facts.marked.setdefault(member, Marked(set(), set(), set()))
        if "__global__" in head:
            facts.kernels.add(declared.name)
        else:
            (marked.defined if declared.ending == "{}" else marked.declared).add(signature_of(item))
            if declared.scope:
                marked.outside.add(signature_of(item))


def is_host_variable(item: OutlineItem) -> bool:
    """Return whether a variable is the host's if it has no mark.

    Static data members are among them, which NVRTC takes neither bare nor marked. Templates that are declared for the
    sake of their type are none.
    """
    declared = item.declaration
    if declared.form == "template" and "extern" in declared.words:
        return False
    if item.class_name is not None and "static" not in declared.words:
        return False
    return not declared.is_const or "thread_local" in declared.words


def signature_of(item: OutlineItem) -> tuple[str, ...]:
    """Return the types of a function's parameters; those of a namespace's template begin with ``TEMPLATE``."""
    declared = item.declaration
    is_template = declared.form == "template" and item.class_name is None and not declared.scope
    return (*TEMPLATE, *declared.parameters) if is_template else declared.parameters


def member_of(item: OutlineItem, facts: Facts) -> tuple[str, str]:
    """Return the class (empty for none) and the name of a function."""
    declared = item.declaration
    scope = declared.scope if declared.scope in facts.classes else ""
    inside = item.class_name is not None and "friend" not in declared.words
    return (item.class_name or "" if inside else scope), declared.name
