"""nvcc's rule of what is host code: what has no mark, unless it is ``constexpr``, a type, or a part of one.

What a class is to device code stays: its members' layout, whether it can be copied by its bytes, its table of virtual
functions. So constructors and their kin remain declared, and lose their bodies. NVRTC refuses any function without a
mark, so what remains gets one.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from hatch_cuda_kernels.host_code.float_constants import is_float_constant
from hatch_cuda_kernels.host_code.functions import action_of_function
from hatch_cuda_kernels.host_code.head_conditions import without_conditions
from hatch_cuda_kernels.host_code.host_constants import action_of_constant
from hatch_cuda_kernels.host_code.marks import is_host_variable
from hatch_cuda_kernels.host_code.outline import read_outline
from hatch_cuda_kernels.host_code.stated import is_stated
from hatch_cuda_kernels.host_code.undone import without_undone
from hatch_cuda_kernels.host_code.usings import is_host_assertion, is_host_class, is_host_using
from hatch_cuda_kernels.host_code.words import CONSTANT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from hatch_cuda_kernels.host_code.declaration import Declaration
    from hatch_cuda_kernels.host_code.facts import Facts, FoundItem
    from hatch_cuda_kernels.host_code.items import Outline, OutlineItem

__all__ = ["Action", "action_of", "is_dropped"]

Action: TypeAlias = Literal["keep", "drop", "declare", "mark", "constant", "extern", "expand"]
"""``declare``: keep the head, with a mark, and drop the body. ``mark``: keep all, with a mark.

``constant``: make it ``constexpr``. nvcc folds a floating-point constant that is made of another; to NVRTC, it is a
device variable whose value must be known. ``extern``: declare it without its value. ``expand``: put what a macro stands
for in its place, without host code.
"""

_TYPE_PARAMETER: Final = re.compile(r"\b(?:typename|class)\s*(?:\.\.\.)?\s*(\w+)")
_COPIES: Final = re.compile(r"\s*\{(?:\s*(\w+)\s*=\s*\w+\s*\.\s*\1\s*;)*\s*(?:return\s*\*\s*this\s*;)?\s*\}\s*;?")
#: CUB's and Thrust's mark, which is the host's alone in device code that is not linked.
_OF_RUNTIME: Final = re.compile(r"\b(?:CUB|THRUST|CUDA_CUB)_RUNTIME_FUNCTION\b")
#: Macros of host libraries that stand for functions, or begin one.
_HOST_MACROS: Final = frozenset(
    """
    BENCHMARK BENCHMARK_MAIN BOOST_AUTO_TEST_CASE PYBIND11_MODULE TEST TEST_F TEST_P TORCH_LIBRARY
    TORCH_LIBRARY_FRAGMENT TORCH_LIBRARY_IMPL TYPED_TEST main
    """.split()  # noqa: SIM905 - a list would take a line a word
)


def action_of(item: OutlineItem, text: str, facts: Facts) -> Action:
    """Return what to do with a declaration of a text, which has its lines joined. What is unclear is kept."""
    if facts.host_only and is_stated(item, text, facts.host_only):
        return "drop"
    return "declare" if _is_of_runtime(item, text) else _by_rule(item, text, facts)


def _is_of_runtime(item: OutlineItem, text: str) -> bool:
    """Return whether a function of a copy of CUB or Thrust is the host's, unless device code launches kernels."""
    declared = item.declaration
    is_plain = declared.kind == "function" and declared.is_sure and declared.ending in {"", "{}"}
    return is_plain and _OF_RUNTIME.search(text, item.start, declared.last or item.end) is not None


def _by_rule(item: OutlineItem, text: str, facts: Facts) -> Action:
    declared = item.declaration
    is_constructor = item.class_name is not None and declared.name == item.class_name
    if declared.kind in {"other", "type"}:
        return "drop" if _names_host(item, text, facts) else "keep"
    is_clear = declared.is_sure and not (is_constructor and declared.types)
    head = without_undone(_head(item, text, facts), text, item.start, facts.local)
    if not is_clear or _is_in_parentheses(item) or facts.is_marked(head):
        return "mark" if is_clear and _is_marked_at_times(item, head, facts) else "keep"
    if declared.kind == "variable":
        return _variable(item, text, facts)
    if declared.kind == "call" and not is_constructor:
        spelled = text[item.start : item.end]
        return "drop" if _is_host_call(declared, facts) or _has_host_argument(declared, spelled, facts) else "keep"
    if _does_nothing(item, text) or _copies_members(item, text):
        return "mark"
    return action_of_function(item, text, facts)


def _names_host(item: OutlineItem, text: str, facts: Facts) -> bool:
    """Return whether a declaration that is no function and no variable is about what NVRTC never sees."""
    if item.declaration.kind == "type":
        return is_host_class(item, text, facts)
    return is_host_assertion(item, text, facts) or is_host_using(item, text, facts, is_dropped(facts))


def _head(item: OutlineItem, text: str, facts: Facts) -> str:
    """Return where a declaration's marks are: of a macro that stands for whole ones, these have them, or arguments.

    A variable's are not in its value, nor in its name, which may begin like a macro of the toolkit.
    """
    declared = item.declaration
    if declared.kind == "variable":
        head = text[item.start : declared.value or item.end]
        before, _, after = head.rpartition(declared.name)
        return f"{before} {after}"
    is_macro = declared.kind == "call" and declared.name != item.class_name and facts.is_clear_macro(declared.name)
    return text[item.start + len(declared.name) * is_macro : declared.last or item.end]


def _is_marked_at_times(item: OutlineItem, head: str, facts: Facts) -> bool:
    """Return whether a constant function has marks only where a condition holds; NVRTC refuses it without."""
    declared = item.declaration
    is_function = declared.kind == "function" or (declared.kind == "call" and declared.name == item.class_name)
    if not is_function or "#" not in head or not declared.words & CONSTANT:
        return False
    return not facts.is_marked(without_conditions(head))


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


def is_dropped(facts: Facts) -> Callable[[FoundItem], bool]:
    """Return what tells whether a declaration is dropped."""
    return lambda found: action_of(found.item, found.text, facts) == "drop"


def _variable(item: OutlineItem, text: str, facts: Facts) -> Action:
    action = "drop" if is_host_variable(item) else action_of_constant(item, text, facts, is_dropped(facts))
    if action == "drop" and _hides_another(item, facts):
        return "keep"
    is_folded = item.declaration.name in facts.folded and is_float_constant(item, text, facts)
    return "constant" if action == "keep" and is_folded else action


def _hides_another(item: OutlineItem, facts: Facts) -> bool:
    """Return whether code that asks for a variable's type would get that of another one, of a namespace around it."""
    name, within = item.declaration.name, f"::{item.namespace}"
    if name not in facts.observed or item.class_name is not None or not item.namespace:
        return False
    return any(within.startswith(f"::{outer}::" if outer else "::") for outer in facts.stay_in.get(name, ()))


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
        outlines = [one for one in facts.generated(declared.name) if one is None or one.items]  # some stand for nothing
        facts.generators[declared.name] = bool(outlines) and all(_is_host_text(one, facts) for one in outlines)
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
