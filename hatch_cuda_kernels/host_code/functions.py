"""What becomes of functions without a mark: most are the host's, some decide what classes and types are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from hatch_cuda_kernels.host_code.host_constants import is_made_at_start
from hatch_cuda_kernels.host_code.marks import TEMPLATE, member_of, signature_of
from hatch_cuda_kernels.host_code.observed import action_of_observed
from hatch_cuda_kernels.host_code.same_types import may_be_same
from hatch_cuda_kernels.host_code.words import BUILTIN, CONSTANT, VIRTUAL

if TYPE_CHECKING:
    from hatch_cuda_kernels.host_code.declaration import Declaration
    from hatch_cuda_kernels.host_code.facts import Facts
    from hatch_cuda_kernels.host_code.items import OutlineItem

__all__ = ["action_of_function", "may_be_value"]

FunctionAction: TypeAlias = Literal["keep", "drop", "declare", "mark"]

_EXPLICIT: Final = frozenset({"specialisation", "instantiation"})
#: What only a parameter is spelled with.
_PARAMETERS: Final = BUILTIN - {"decltype", "typeof", "__typeof__"} | {"const"}


def action_of_function(item: OutlineItem, text: str, facts: Facts) -> FunctionAction:
    """Return what to do with a function that no mark is seen on."""
    declared = item.declaration
    is_virtual = bool(declared.words & VIRTUAL)
    if declared.ending in {"default", "delete"}:
        overrides = declared.name[0] == "~" and declared.ending == "default"  # perhaps one that is marked
        return "mark" if is_virtual or overrides else "keep"
    if declared.words & CONSTANT:
        is_value = _may_be_constant(item) and not _is_asked_for(declared, facts) and not _names_type(declared, facts)
        return "keep" if is_value else "mark"
    merged = _is_merged(item, facts)
    if merged is None:  # a friend of a template has other names for parameters where it is marked
        is_friend = "friend" in declared.words and not declared.ending
        return "mark" if is_friend or declared.form == "template" else "keep"
    is_value = _may_be_constant(item) and _names_constant(declared, facts)
    if is_value or (declared.form in _EXPLICIT and _may_be_of_marked(item, facts) and _is_taken(item, facts)):
        return "drop" if is_value and is_made_at_start("".join(declared.types), facts) else "keep"
    if not merged and (_makes_class(item, facts) or _has_device_specialisation(item, facts)):
        return "declare"
    return "mark" if merged or _is_asked_for(declared, facts) else action_of_observed(item, text, facts)


def _may_be_constant(item: OutlineItem) -> bool:
    """Return whether what looks like a function may be a variable with its value: ``constexpr int n(a);``."""
    declared = item.declaration
    if not declared.parameters or declared.ending or item.class_name is not None:
        return False
    if declared.form == "template" and any(one.endswith(("&", "*")) for one in declared.parameters):
        return False
    return not any({*one.split()} & _PARAMETERS for one in declared.parameters)


def _names_constant(declared: Declaration, facts: Facts) -> bool:
    """Return whether what looks like parameters has a constant's name: ``const int n(a);``."""
    words = {word for one in declared.parameters for word in one.split()}
    return not words.isdisjoint(facts.constants.keys()) and words.isdisjoint(facts.types)


def _names_type(declared: Declaration, facts: Facts) -> bool:
    """Return whether what looks like parameters has a type's name: ``constexpr T twice(T);``."""
    words = {word for one in declared.parameters for word in one.split()}
    return not words.isdisjoint({"std", *facts.types}) and words.isdisjoint(facts.constants.keys())


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
    return special or bool(declared.words & VIRTUAL)


def _has_device_specialisation(item: OutlineItem, facts: Facts) -> bool:
    """Return whether a template has specialisations that stay: these need something to be of."""
    declared = item.declaration
    if declared.form != "template" or item.class_name is not None or declared.scope:
        return False
    others = facts.functions.get(declared.name, ())
    return any(
        one.item.declaration.form == "specialisation"
        and (one.item.declaration.words & CONSTANT or facts.is_marked(one.text[one.item.start : one.item.end]))
        for one in others
    )


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


def _is_taken(item: OutlineItem, facts: Facts) -> bool:
    """Return whether a marked function of the same name may take as many arguments as an explicit instance."""
    marked = facts.marked.get(member_of(item, facts))
    if marked is None or item.declaration.form != "instantiation":
        return True
    others = [one[one[:1] == TEMPLATE :] for one in marked.declared | marked.defined]
    count = len(item.declaration.parameters)
    return any(len(one) == count or any("..." in each for each in one) for one in others)


def _is_merged(item: OutlineItem, facts: Facts) -> bool | None:
    """Return whether another declaration of the function has a mark, which then holds for all; None if unclear."""
    declared = item.declaration
    marked = facts.marked.get(member_of(item, facts))
    is_member = item.class_name is not None and "friend" not in declared.words
    if marked is None or (is_member and declared.ending == "{}") or not _may_be_of_marked(item, facts):
        return False  # what a class defines is declared nowhere else
    found = marked.declared if declared.ending == "{}" else marked.declared | marked.defined
    found = marked.outside if is_member else found
    signature = signature_of(item)
    if signature in found:
        return True
    return None if any(may_be_same(signature, other, facts) for other in found) else False
