"""Constants that device code cannot use, as they have no device mark: declared, without a value that is the host's.

nvcc's manual, on namespace-scope variables that are const and have no mark: device code may use the value of one that
is initialised with a constant expression and has a built-in integral or floating-point type.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.host_code.words import SPECIFIERS

if TYPE_CHECKING:
    from collections.abc import Callable

    from hatch_cuda_kernels.host_code.facts import Facts, FoundItem
    from hatch_cuda_kernels.host_code.items import OutlineItem

__all__ = ["declared_only", "is_host_constant"]

_WORD: Final = re.compile(r"[A-Za-z_]\w*")
_ARGUMENTS: Final = re.compile(r"<[^<>]*>")
_LAMBDA: Final = re.compile(r"[=({]\s*\[[^\[\]]*\]\s*[({]")
_CALLED: Final = re.compile(r"([A-Za-z_]\w*)\s*[<(]")
_NOT_IN_DECLARATION: Final = re.compile(r"\b(?:static|inline|extern)\b")
#: With these, a value may be one that device code knows.
_KNOWN: Final = frozenset({"constexpr", "constinit", "extern", "thread_local"})
#: After a value, in it, or in what joins lines: more variables, macros' conditions, literals.
_UNCLEAR: Final = re.compile(r"[#\"']|//|/\*")


def is_host_constant(item: OutlineItem, text: str, facts: Facts, is_dropped: Callable[[FoundItem], bool]) -> bool:
    """Return whether a variable of a namespace is such a constant: of a class, or given what a host function returns.

    Or given another such constant.
    """
    declared = item.declaration
    is_plain = item.class_name is None and not declared.scope and not declared.form and declared.is_const
    if not is_plain or declared.words & _KNOWN:
        return False
    if declared_only(item, text) is None:  # what is more than one constant goes where nothing can be done with it
        return _is_from_host(item, text, facts, is_dropped)
    if _is_by_itself(item, text, facts, is_dropped):
        return True
    named = {*_WORD.findall(text, declared.value, item.end)} if declared.value else set()
    return any(_are_host_constants(name, facts, is_dropped) for name in named & facts.constants.keys())


def _is_by_itself(item: OutlineItem, text: str, facts: Facts, is_dropped: Callable[[FoundItem], bool]) -> bool:
    """Return whether a constant is the host's by its type, or by a function that gives it its value."""
    declared = item.declaration
    is_lambda = bool(declared.value) and _LAMBDA.match(text, declared.value) is not None
    made_of = _type_of(item, text)
    if is_lambda or made_of in facts.classes - facts.enums - facts.roles.keys():
        return True
    if declared.types[:1] == ("std",) and not made_of.endswith("_t") and made_of != "byte":
        return True
    return _is_from_host(item, text, facts, is_dropped)


def _is_from_host(item: OutlineItem, text: str, facts: Facts, is_dropped: Callable[[FoundItem], bool]) -> bool:
    """Return whether a host function that is dropped is called for a value."""
    declared = item.declaration
    called = set(_CALLED.findall(text, declared.value, item.end)) & facts.functions.keys() if declared.value else ()
    return any(all(map(is_dropped, facts.functions[name])) for name in called)


def _are_host_constants(name: str, facts: Facts, is_dropped: Callable[[FoundItem], bool]) -> bool:
    """Return whether all constants of a name are such, and one by itself."""
    if name not in facts.host_constants:
        found = facts.constants[name]
        is_one = any(_is_by_itself(*one, facts, is_dropped) for one in found)
        facts.host_constants[name] = is_one  # while it is asked
        facts.host_constants[name] = is_one and all(is_host_constant(*one, facts, is_dropped) for one in found)
    return facts.host_constants[name]


def _type_of(item: OutlineItem, text: str) -> str:
    """Return the last part of the name of a variable's type, or a word of it."""
    head, count = text[item.start : item.declaration.value or item.end], 1
    while count:
        head, count = _ARGUMENTS.subn(" ", head)
    words = [word for word in _WORD.findall(head) if word not in SPECIFIERS]
    return words[-2] if len(words) > 1 else ""


def declared_only(item: OutlineItem, text: str) -> str | None:
    """Return the declaration of a constant on one line, without its value; None where there may be more to it."""
    end = item.declaration.value or item.end
    head, value = text[item.start : end].rstrip("; \n"), text[end : item.end]
    if _UNCLEAR.search(head) or "[" in head or "#" in value or _ends_early(head) or _ends_early(value):
        return None
    return f"extern {' '.join(_NOT_IN_DECLARATION.sub(' ', head).split())};"


def _ends_early(value: str) -> bool:
    """Return whether another variable may follow: there is a comma outside brackets."""
    depth = 0
    for mark in re.findall(r"[(){}\[\]<>,]", value):
        depth += (mark in "({[<") - (mark in ")}]>")
        if mark == "," and not depth:
            return True
    return False
