"""nvcc's rule of what is host code: what has no mark, unless it is ``constexpr``, a type, or a part of one.

What a class is to device code stays: its members' layout, whether it can be copied by its bytes, its table of virtual
functions. So constructors and their kin remain declared, and lose their bodies. NVRTC refuses any function without a
mark, so what remains gets one.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from hatch_cuda_kernels.host_code.host_constants import action_of_constant
from hatch_cuda_kernels.host_code.marks import is_float_constant, member_of
from hatch_cuda_kernels.host_code.observed import action_of_observed
from hatch_cuda_kernels.host_code.outline import read_outline
from hatch_cuda_kernels.host_code.usings import is_host_class, is_host_using
from hatch_cuda_kernels.host_code.words import BUILTIN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from hatch_cuda_kernels.host_code.declaration import Declaration
    from hatch_cuda_kernels.host_code.facts import Facts, FoundItem
    from hatch_cuda_kernels.host_code.items import Outline, OutlineItem

__all__ = ["Action", "action_of", "may_be_value"]

Action: TypeAlias = Literal["keep", "drop", "declare", "mark", "constant", "extern", "expand"]
"""``declare``: keep the head, with a mark, and drop the body. ``mark``: keep all, with a mark.

``constant``: make it ``constexpr``. nvcc folds a floating-point constant that is made of another; to NVRTC, it is a
device variable whose value must be known. ``extern``: declare it without its value. ``expand``: put what a macro stands
for in its place, without host code.
"""

_VIRTUAL: Final = frozenset({"virtual", "override", "final"})
_EXPLICIT: Final = frozenset({"specialisation", "instantiation"})
_TYPE_PARAMETER: Final = re.compile(r"\b(?:typename|class)\s*(?:\.\.\.)?\s*(\w+)")
_COPIES: Final = re.compile(r"\s*\{(?:\s*(\w+)\s*=\s*\w+\s*\.\s*\1\s*;)*\s*(?:return\s*\*\s*this\s*;)?\s*\}\s*;?")
_CONSTANT: Final = frozenset({"constexpr", "consteval"})
#: What only a parameter is spelled with.
_PARAMETERS: Final = BUILTIN - {"decltype", "typeof", "__typeof__"} | {"const"}
#: Macros of host libraries that stand for functions, or begin one.
_HOST_MACROS: Final = frozenset(
    """
    BENCHMARK BENCHMARK_MAIN BOOST_AUTO_TEST_CASE PYBIND11_MODULE TEST TEST_F TEST_P TORCH_LIBRARY
    TORCH_LIBRARY_FRAGMENT TORCH_LIBRARY_IMPL TYPED_TEST main
    """.split()  # noqa: SIM905 - a list would take a line a word
)


def action_of(item: OutlineItem, text: str, facts: Facts) -> Action:
    """Return what to do with a declaration of a text, which has its lines joined. What is unclear is kept."""
    declared = item.declaration
    is_constructor = item.class_name is not None and declared.name == item.class_name
    if declared.kind in {"other", "type"}:
        spelled = text[item.start : item.end]
        is_host = is_host_using if declared.kind == "other" else is_host_class
        return "drop" if is_host(spelled, facts, _is_dropped(facts)) else "keep"
    is_clear = declared.is_sure and not (is_constructor and declared.types)
    if not is_clear or _is_in_parentheses(item) or facts.is_marked(_head(item, text, facts)):
        return "keep"
    if declared.kind == "variable":
        return _variable(item, text, facts)
    if declared.kind == "call" and not is_constructor:
        spelled = text[item.start : item.end]
        return "drop" if _is_host_call(declared, facts) or _has_host_argument(declared, spelled, facts) else "keep"
    return "mark" if _does_nothing(item, text) or _copies_members(item, text) else _function(item, text, facts)


def _head(item: OutlineItem, text: str, facts: Facts) -> str:
    """Return where a declaration's marks are: of a macro that stands for whole ones, these have them, or arguments."""
    declared = item.declaration
    is_macro = declared.kind == "call" and declared.name != item.class_name and facts.is_clear_macro(declared.name)
    return text[item.start + len(declared.name) * is_macro : declared.last or item.end]


def _is_in_parentheses(item: OutlineItem) -> bool:
    """Return whether what looks like a function is a data member: ``std::size_t (n);``."""
    declared = item.declaration
    return item.class_name is not None and bool(declared.scope) and not declared.types


def _copies_members(item: OutlineItem, text: str) -> bool:
    """Return whether an assignment only copies members: classes that device code copies are copied by it."""
    declared = item.declaration
    if declared.name != "operator=" or declared.ending != "{}" or item.class_name is None:
        return False
    return _COPIES.fullmatch(text[declared.last : item.end]) is not None


def _does_nothing(item: OutlineItem, text: str) -> bool:
    """Return whether a template does nothing with references to anything, as device code calls for unused names."""
    declared = item.declaration
    if declared.form != "template" or item.class_name is not None or declared.ending != "{}":
        return False
    names = set(_TYPE_PARAMETER.findall(text[item.start : declared.first]))
    types = {word for one in declared.parameters for word in re.findall(r"\w+", one)} - {"const"}
    is_any = types <= names and all("&" in one for one in declared.parameters) and bool(declared.parameters)
    return is_any and not re.sub(r"\s", "", text[declared.last : item.end]).strip("{};")


def _is_dropped(facts: Facts) -> Callable[[FoundItem], bool]:
    return lambda found: action_of(found.item, found.text, facts) == "drop"


def _variable(item: OutlineItem, text: str, facts: Facts) -> Action:
    if _is_host_variable(item):
        return "drop"
    action = action_of_constant(item, text, facts, _is_dropped(facts))
    is_folded = item.declaration.name in facts.folded and is_float_constant(item, text, facts)
    return "constant" if action == "keep" and is_folded else action


def _is_host_variable(item: OutlineItem) -> bool:
    """Return whether a variable is the host's: also a static data member, which NVRTC takes neither bare nor marked."""
    declared = item.declaration
    if item.class_name is not None and "static" not in declared.words:
        return False
    return not declared.is_const or "thread_local" in declared.words


def _is_host_call(declared: Declaration, facts: Facts) -> bool:
    """Return whether the use of a macro gives host functions only."""
    if "->" in declared.words:  # a deduction guide
        return False
    if declared.name not in facts.roles:
        return declared.name in _HOST_MACROS
    if not facts.roles[declared.name].is_whole and (declared.ending == "{}" or declared.name in facts.marks):
        return declared.name not in facts.marks  # it stands for a function's head
    if declared.name not in facts.generators:
        facts.generators[declared.name] = False  # while it is asked
        outlines = facts.generated(declared.name)
        facts.generators[declared.name] = all(_is_host_text(outline, facts) for outline in outlines)
    return facts.generators[declared.name]


def _has_host_argument(declared: Declaration, spelled: str, facts: Facts) -> bool:
    """Return whether a macro without a mark is given a host function's declaration: ``DEPRECATED(int f(), "why")``."""
    if declared.name not in facts.roles or declared.name in facts.marks or declared.ending:
        return False
    outlines = (read_outline(f"{part};", facts.roles) for part in _arguments(spelled))
    single = ((outline, outline.items[0].declaration) for outline in outlines if outline and len(outline.items) == 1)
    functions = (outline for outline, one in single if one.kind == "function" and one.name not in facts.roles)
    return any(_is_host_text(outline, facts) for outline in functions)


def _arguments(spelled: str) -> Iterator[str]:
    """Yield what commas outside brackets separate in the arguments of a macro."""
    depth, start = 0, spelled.find("(") + 1
    for bracket in re.finditer(r"[()\[\]{},]", spelled):
        depth += (bracket[0] in "([{") - (bracket[0] in ")]}")
        if (bracket[0] == "," and depth == 1) or not depth:
            yield spelled[start : bracket.start()]
            start = bracket.end()


def _is_host_text(outline: Outline | None, facts: Facts) -> bool:
    if outline is None or not outline.items or any(item.declaration.kind == "call" for item in outline.items):
        return False
    return all(action_of(item, outline.source.text, facts) in {"drop", "declare"} for item in outline.items)


def _function(item: OutlineItem, text: str, facts: Facts) -> Action:
    declared = item.declaration
    is_virtual = bool(declared.words & _VIRTUAL)
    if declared.ending in {"default", "delete"}:
        overrides = declared.name[0] == "~" and declared.ending == "default"  # perhaps one that is marked
        return "mark" if is_virtual or overrides else "keep"
    if declared.words & _CONSTANT:
        return "keep" if _may_be_constant(item) and not _is_asked_for(declared, facts) else "mark"
    merged = _is_merged(item, facts)
    if merged is None:  # a friend of a template: its parameters have other names where it is marked
        return "mark" if "friend" in declared.words and not declared.ending else "keep"
    is_explicit = declared.form in _EXPLICIT and _may_be_of_marked(item, facts)
    if is_explicit or (_may_be_constant(item) and _names_constant(declared, facts)):
        return "keep"
    if merged or _is_asked_for(declared, facts):
        return "mark"
    return "declare" if _makes_class(item, facts) else action_of_observed(item, text, facts)


def _may_be_constant(item: OutlineItem) -> bool:
    """Return whether what looks like a function may be a variable with its value: ``constexpr int n(a);``."""
    declared = item.declaration
    if not declared.parameters or declared.ending or item.class_name is not None:
        return False
    return not any({*one.split()} & _PARAMETERS for one in declared.parameters)


def _names_constant(declared: Declaration, facts: Facts) -> bool:
    """Return whether what looks like parameters has a constant's name: ``const int n(a);``."""
    words = {word for one in declared.parameters for word in one.split()}
    return not words.isdisjoint(facts.constants.keys()) and words.isdisjoint(facts.types)


def may_be_value(item: OutlineItem, text: str, facts: Facts) -> bool:
    """Return whether what looks like a function may be a constant, as its parameters are words that nobody knows."""
    declared = item.declaration
    if "const" not in declared.words or not _may_be_constant(item) or "*" in text[item.start : item.end]:
        return False
    return facts.types.union(facts.renamed).isdisjoint(declared.parameters)


def _makes_class(item: OutlineItem, facts: Facts) -> bool:
    """Return whether a class would be another one to device code without a member."""
    declared = item.declaration
    if item.class_name is None or "friend" in declared.words:
        return False
    special = declared.name in {item.class_name, f"~{item.class_name}", "operator=", *facts.defaults, *facts.pure}
    return special or bool(declared.words & _VIRTUAL)


def _is_asked_for(declared: Declaration, facts: Facts) -> bool:
    """Return whether code may ask for what a function returns without a call: ``T declval();``, ``auto f()``."""
    if not declared.ending:
        return declared.name in facts.unevaluated
    return declared.types == ("auto",) and "->" not in declared.words and declared.name in facts.deduced


def _may_be_of_marked(item: OutlineItem, facts: Facts) -> bool:
    """Return whether a marked function of the same name may be the same, or the template: by the namespaces."""
    if item.class_name is not None or item.declaration.scope:
        return item.declaration.name in facts.marked_names
    parts = item.namespace.split("::")
    around = {"", *("::".join(parts[: count + 1]) for count in range(len(parts)))}
    return any((namespace, item.declaration.name) in facts.marked_in for namespace in around)


def _is_merged(item: OutlineItem, facts: Facts) -> bool | None:
    """Return whether another declaration of the function has a mark, which then holds for all; None if unclear."""
    declared = item.declaration
    marked = facts.marked.get(member_of(item, facts))
    is_own = item.class_name is not None and declared.ending == "{}" and "friend" not in declared.words
    if marked is None or is_own or not _may_be_of_marked(item, facts):  # what a class defines is declared nowhere else
        return False
    found = marked.declared if declared.ending == "{}" else marked.declared | marked.defined
    if declared.parameters in found:
        return True
    return None if len(declared.parameters) in set(map(len, found)) else False
