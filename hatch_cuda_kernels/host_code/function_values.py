"""Constants whose values name functions of the host's, without a call: tables of functions, also those of macros."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.host_code.words import BUILTIN
from hatch_cuda_kernels.source.lexer import without_literals

if TYPE_CHECKING:
    from collections.abc import Callable

    from hatch_cuda_kernels.host_code.facts import Facts, FoundItem
    from hatch_cuda_kernels.host_code.items import OutlineItem

__all__ = ["names_host_function"]

#: What may be a function's name, or that of its template, whose address is taken.
_NAMED: Final = re.compile(r"(?<![\w.>:])(?:(?P<scope>\w+)\s*::\s*)?(?P<name>[A-Za-z_]\w*)\s*(?=[<,};])")
_WORD: Final = re.compile(r"[A-Za-z_]\w*")
#: Of a table, before macros are replaced.
_LONGEST: Final = 10_000


def names_host_function(item: OutlineItem, text: str, facts: Facts, is_dropped: Callable[[FoundItem], bool]) -> bool:
    """Return whether a constant that is no number names a function of which all declarations are dropped."""
    declared = item.declaration
    if not declared.value or item.end - declared.value > _LONGEST or not BUILTIN.isdisjoint(declared.types):
        return False
    value = without_literals(text[declared.value : item.end])
    words = {*_WORD.findall(value)}
    if not facts.texts.keys().isdisjoint(words):
        value = facts.macros.expand_clear(value, lambda _: True) or value
        words = {*_WORD.findall(value)}
    if facts.functions.keys().isdisjoint(words):
        return False
    names = {found["name"] for found in _NAMED.finditer(value) if found["scope"] in {None, *facts.namespaces}}
    return any(_is_host_function(name, item, facts, is_dropped) for name in names & facts.functions.keys())


def _is_host_function(name: str, item: OutlineItem, facts: Facts, is_dropped: Callable[[FoundItem], bool]) -> bool:
    """Return whether a name is that of a host function of a namespace around a constant, and of nothing else."""
    if name in facts.roles or name in facts.types or name in facts.renamed or name in facts.constants:
        return False
    within = f"{item.namespace}::" if item.namespace else ""
    spaces = {one.item.namespace for one in facts.functions[name]}
    if not all(not space or within.startswith(f"{space}::") for space in spaces):
        return False
    if name not in facts.host_functions:
        facts.host_functions[name] = all(map(is_dropped, facts.functions[name]))
    return facts.host_functions[name]
