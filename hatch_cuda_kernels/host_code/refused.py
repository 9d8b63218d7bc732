"""Whether NVRTC certainly refuses a source for the host code in it, or in a header that it certainly includes.

NVRTC takes no function without a device mark, neither defined nor declared, and no header of a host library. So a
source that compiles as it is has none of these outside conditions: it is never one of those found here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.host_code.chains import HOST_COMPILERS
from hatch_cuda_kernels.host_code.dollars import dollar_parameters
from hatch_cuda_kernels.host_code.functions import may_be_value
from hatch_cuda_kernels.host_code.glance import comes_to_error, includes_host, is_within, reached
from hatch_cuda_kernels.host_code.marks import TEMPLATE, gather_facts, gather_macros, member_of
from hatch_cuda_kernels.host_code.rule import action_of
from hatch_cuda_kernels.host_code.seen import seen_parts

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from hatch_cuda_kernels.host_code.facts import Facts
    from hatch_cuda_kernels.host_code.glance import Glance
    from hatch_cuda_kernels.host_code.items import Outline, OutlineItem
    from hatch_cuda_kernels.source.macros import MacroText
    from hatch_cuda_kernels.source.readings import Readings

__all__ = ["is_refused", "read_suspects", "takes_overloads"]

#: Functions of the host's that NVRTC takes declared without a mark.
_BUILTIN: Final = frozenset({"printf", "malloc", "free", "__assertfail"})


def read_suspects(
    texts: Mapping[str, str],
    start: Iterable[str],
    looked: Mapping[str, Glance],
    macros: Sequence[MacroText],
    readings: Readings,
) -> list[Outline | None]:
    """Return the outlines of texts that NVRTC refuses unless another text marks their functions; or none.

    ``texts`` are the project's by name, of which ``start`` are read first; ``looked`` is what ``glances`` told of them.
    """
    known = gather_macros(macros)
    opened = {name: glance for name, glance in looked.items() if glance.is_open(known)}
    read = reached(opened, start, lambda name: opened[name].includes)
    suspects = {name: texts[name] for name in read if opened[name].is_suspect(known)}
    facts, outlines = gather_facts(macros, suspects, readings)
    return outlines if is_refused(outlines, facts) else []


def is_refused(outlines: Iterable[Outline | None], facts: Facts) -> bool:
    """Return whether one of the suspects' texts has host code in a part that is certainly seen."""
    return any(_has_host_code(outline, facts) for outline in outlines if outline is not None)


def _has_host_code(outline: Outline, facts: Facts) -> bool:
    """Return whether there is an include or a function that NVRTC refuses."""
    parts = [*seen_parts(outline.directives, len(outline.source.text))]
    seen = [line for line in outline.directives if is_within(line.start, parts)]
    if includes_host(seen) or any(map(dollar_parameters, seen)):
        return True
    if facts.texts.keys().isdisjoint(HOST_COMPILERS) and comes_to_error(outline.directives, parts):
        return True
    text = outline.source.text
    return any(is_within(item.start, parts) and _is_refused(item, text, facts) for item in outline.items)


def takes_overloads(outlines: Iterable[Outline | None], facts: Facts) -> bool:
    """Return whether there is a host function that device code may mean, which then would call an overload of it.

    nvcc refuses such calls. A mark may be lacking, so this is not for a text to decide. One that stays declared is no
    matter: a call of it fails.
    """
    return any(
        _is_overload(item, facts) and action_of(item, outline.source.text, facts) == "drop"
        for outline in outlines
        if outline is not None
        for item in outline.items
    )


def _is_overload(item: OutlineItem, facts: Facts) -> bool:
    """Return whether a device function of the same namespace takes as many arguments, of other types.

    Operators do not count: one of their operands is of a class, so that seldom another one takes them.
    """
    declared = item.declaration
    if declared.kind != "function" or item.class_name is not None or declared.name.startswith("operator"):
        return False
    marked = facts.marked.get(member_of(item, facts))
    if marked is None or (item.namespace, declared.name) not in facts.marked_in:
        return False
    others = {one[one[:1] == TEMPLATE :] for one in marked.declared | marked.defined}
    return declared.parameters not in others and len(declared.parameters) in set(map(len, others))


def _is_refused(item: OutlineItem, text: str, facts: Facts) -> bool:
    declared = item.declaration
    is_function = declared.kind == "function" or (declared.kind == "call" and declared.name == item.class_name)
    if not is_function or declared.form not in {"", "template"} or declared.name in _BUILTIN:
        return False
    if may_be_value(item, text, facts):
        return False
    action = action_of(item, text, facts)
    return action in {"drop", "declare"} or (action == "mark" and "constexpr" in declared.words)
