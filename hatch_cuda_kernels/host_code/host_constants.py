"""Constants that device code cannot use, as they have no device mark: declared without their values, or dropped.

nvcc lets device code use a constant of a namespace whose value the compiler knows, also one of a class. It does not
know what a constructor that is not ``constexpr`` makes, nor what a host function returns.
"""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING, Final, Literal

from hatch_cuda_kernels.host_code.function_values import names_host_function
from hatch_cuda_kernels.host_code.words import BUILTIN, CONSTANT, SPECIFIERS
from hatch_cuda_kernels.source.lexer import without_literals

if TYPE_CHECKING:
    from collections.abc import Callable

    from hatch_cuda_kernels.host_code.facts import Facts, FoundItem
    from hatch_cuda_kernels.host_code.items import OutlineItem

__all__ = ["action_of_constant", "declared_only", "is_made_at_start"]

_WORD: Final = re.compile(r"[A-Za-z_]\w*")
_ARGUMENTS: Final = re.compile(r"<[^<>]*>")
_LAMBDA: Final = re.compile(r"[=({]\s*\[[^\[\]]*\]\s*[({]")
#: By its name alone, or with a namespace: without an object or a template before it.
_CALLED: Final = re.compile(r"(?<![\w.>:])(?:(?:(?P<scope>\w+)\s*)?::\s*)?(?P<name>[A-Za-z_]\w*)\s*[<(]")
#: ``Mode::A | Mode::B``
_OPERATED: Final = re.compile(r"(\w+)\s*::\s*\w+\s*([-+*/%^&|]|<<|>>)(?![&|=])")
_IN_PARENTHESES: Final = re.compile(r"\([^()]*\)")
#: A name but of a function, a type or an array, and where no address is taken.
_READ: Final = re.compile(r"(?<![\w.>:&])(?<!& )(?:(?P<scope>\w+)\s*::\s*)*(?P<name>[A-Za-z_]\w*)\s*(?=[,}.;])")
_SEVERAL_VALUES: Final = re.compile(r"=?\s*\{[^,;]*,")
_NOT_IN_DECLARATION: Final = re.compile(r"\b(?:static|inline|extern)\b")
#: With these, a value may be one that device code knows.
_KNOWN: Final = frozenset({"constexpr", "constinit", "extern", "thread_local"})
#: Classes of the standard library of which no public member is a value that the compiler knows.
_STANDARD: Final = frozenset(
    """
    deque function list map multimap multiset mutex queue regex set stack string unordered_map unordered_multimap
    unordered_multiset unordered_set vector wstring
    """.split()  # noqa: SIM905 - a list would take a line a word
)
#: What the toolkit makes a value of a class with, while the host's program starts.
_MADE_BY_TOOLKIT: Final = re.compile(
    r"=\s*(make_(?:cu(?:Float|Double)?Complex|(?:u?(?:char|short|int|long|longlong)|float|double)[1-4]))\s*\("
)
#: Functions of C's: NVRTC lets no constant be made by one, and nvcc no device code use such a constant.
_OF_C: Final = frozenset(
    f"{name}{end}"
    for name in """
    abs acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp10 exp2 expm1 fabs fdim floor
    fma fmax fmin fmod hypot ldexp lgamma log log10 log1p log2 nan nearbyint pow remainder rint round rsqrt sin sinh
    sqrt tan tanh tgamma trunc
    """.split()  # noqa: SIM905 - a list would take a line a word
    for end in ("", "f")
) | {"atof", "atoi", "clock", "getenv", "rand", "strlen", "time"}
#: After a value, in it, or in what joins lines: more variables, macros' conditions, literals. ``alignas`` comes first.
_UNCLEAR: Final = re.compile(r"[#\"']|//|/\*|\balignas\b")


def action_of_constant(
    item: OutlineItem, text: str, facts: Facts, is_dropped: Callable[[FoundItem], bool]
) -> Literal["keep", "drop", "extern"]:
    """Return what to do with a variable. NVRTC takes a declared one for zero: so only what nobody can read is declared.

    A value that is called for is dropped with its constant, so that device code that uses it fails to compile.
    """
    kind = _kind(item, text, facts)
    if kind != "value":
        return kind
    return "drop" if _is_given_by_host(item, text, facts, is_dropped) else "keep"


def _kind(item: OutlineItem, text: str, facts: Facts) -> Literal["keep", "value", "extern"]:
    """Return what to do with a variable, where its value need not be looked at."""
    declared = item.declaration
    is_plain = item.class_name is None and not declared.scope and not declared.form and declared.is_const
    if not is_plain or declared.words & _KNOWN:
        return "keep"
    is_extern = _is_made_at_start(item, text, facts) and declared_only(item, text) is not None
    return "extern" if is_extern else "value"


def _is_made_at_start(item: OutlineItem, text: str, facts: Facts) -> bool:
    """Return whether a constant's class has no constructor whose result the compiler knows, or a function makes it."""
    made_by = _MADE_BY_TOOLKIT.match(text, item.declaration.value) if item.declaration.value else None
    if made_by is not None and made_by[1] not in facts.functions:
        return True
    made_of, first = _type_of(item, text), item.declaration.types[:1]
    if first == ("std",) or (first == (made_of,) and made_of not in facts.types):  # after using namespace std
        return made_of in _STANDARD
    return is_made_at_start(made_of, facts)


def is_made_at_start(name: str, facts: Facts) -> bool:
    """Return whether a class of the project has no constructor whose result the compiler knows."""
    is_clear = name not in facts.renamed | facts.hidden | facts.enums and name not in facts.roles
    return is_clear and facts.made_at_start.get(name, False)


def _is_given_by_host(item: OutlineItem, text: str, facts: Facts, is_dropped: Callable[[FoundItem], bool]) -> bool:
    """Return whether a value is a lambda's, a host function's, or that of another constant that is dropped."""
    if not facts.host_constants:
        facts.host_constants.update(_dropped_names(facts, is_dropped))
    named = (name for name in _named(item, text) if facts.host_constants.get(name, False))
    return _is_called_for(item, text, facts, is_dropped) or any(named)


def _dropped_names(facts: Facts, is_dropped: Callable[[FoundItem], bool]) -> dict[str, bool]:
    """Return of each constant's name whether all constants of that name are dropped, or declared only."""
    left = {name: sum(not _names_itself(one) for one in found) for name, found in facts.constants.items()}
    users: dict[str, list[FoundItem]] = defaultdict(list)
    waiting: list[FoundItem] = []
    for one in (one for found in facts.constants.values() for one in found):
        kind = _kind(*one, facts)
        if kind == "extern" or (kind == "value" and _is_called_for(*one, facts, is_dropped)):
            waiting.append(one)
        for name in _named(*one) & left.keys() if kind == "value" else ():
            users[name].append(one)
    done = set(waiting)
    while waiting:
        one = waiting.pop()
        name = one.item.declaration.name
        left[name] -= not _names_itself(one)
        fresh = [one for one in users.pop(name, ()) if one not in done] if not left[name] else []
        done.update(fresh)
        waiting += fresh
    gone = {one.item.declaration.name for one in done}
    return {name: name in gone and not count for name, count in left.items()}


def _names_itself(one: FoundItem) -> bool:
    """Return whether a constant is given another namespace's of its name."""
    return one.item.declaration.name in _named(*one)


def _named(item: OutlineItem, text: str) -> set[str]:
    start = item.declaration.value
    return {*_WORD.findall(text, start, item.end)} if start else set()


def _is_called_for(item: OutlineItem, text: str, facts: Facts, is_dropped: Callable[[FoundItem], bool]) -> bool:
    """Return whether a value is a lambda's, calls what is the host's, or reads an object that is not ``constexpr``."""
    start = item.declaration.value
    if not start:
        return False
    if _LAMBDA.match(text, start) is not None or _reads_object(item, text, facts):
        return True
    for call in _CALLED.finditer(text, start, item.end):
        name, scope = call["name"], call["scope"]
        is_other = name in facts.roles or name in facts.types or name in facts.renamed
        if name in _OF_C and name not in facts.functions and not is_other and scope in {None, "std"}:
            return True
        if is_other or name not in facts.functions or (scope is not None and scope not in facts.namespaces):
            continue
        if name not in facts.host_functions:
            facts.host_functions[name] = all(map(is_dropped, facts.functions[name]))
        if facts.host_functions[name]:
            return True
    if names_host_function(item, text, facts, is_dropped):
        return True
    operated = {(one[1], one[2]) for one in _OPERATED.finditer(text, start, item.end) if one[1] in facts.enums}
    for operand, symbol in operated - facts.host_operators.keys():
        facts.host_operators[operand, symbol] = _is_host_operator(operand, symbol, facts)
    return any(facts.host_operators[one] for one in operated)


def _reads_object(item: OutlineItem, text: str, facts: Facts) -> bool:
    """Return whether a value is made of an object that is constant, but not known to the compiler."""
    value, count = without_literals(text[item.declaration.value : item.end]), 1
    while count:
        value, count = _IN_PARENTHESES.subn(" ", value)
    read = (found for found in _READ.finditer(value) if not found["scope"] or found["scope"] in facts.namespaces)
    names = {found["name"] for found in read if found["name"] in facts.constants}
    for name in names - facts.objects.keys():
        facts.objects[name] = all(map(_is_object, facts.constants[name]))
    return any(facts.objects[name] for name in names)


def _is_object(one: FoundItem) -> bool:
    """Return whether a constant is of a class, as it has several values and is no array."""
    item, text = one
    head, is_number = text[item.start : item.declaration.value], not BUILTIN.isdisjoint(item.declaration.types)
    is_plain = not (set("*&[") & set(head)) and not item.declaration.words & CONSTANT and not is_number
    return is_plain and _SEVERAL_VALUES.match(text, item.declaration.value, item.end) is not None


def _is_host_operator(operand: str, symbol: str, facts: Facts) -> bool:
    """Return whether the operators of a symbol whose first parameter is of an enum are the host's; there is one."""
    head = re.compile(rf"operator\s*{re.escape(symbol)}\s*\(")
    named = (*facts.functions.get("operator", ()), *facts.functions.get(f"operator{symbol}", ()))
    found = [one for one in named if head.search(_head(one)) and operand in _WORD.findall(_first_type(one))]
    return bool(found) and not any(
        one.item.declaration.words & CONSTANT or facts.is_marked(_head(one)) for one in found
    )


def _head(one: FoundItem) -> str:
    return one.text[one.item.start : one.item.declaration.last or one.item.end]


def _first_type(one: FoundItem) -> str:
    return next(iter(one.item.declaration.parameters), "")


def _type_of(item: OutlineItem, text: str) -> str:
    """Return the last part of the name of a variable's class, or a word of it; nothing for a pointer."""
    head, count = text[item.start : item.declaration.value or item.end], 1
    while count:
        head, count = _ARGUMENTS.subn(" ", head)
    words = [word for word in _WORD.findall(head.partition("[")[0]) if word not in SPECIFIERS]
    return words[-2] if len(words) > 1 and "*" not in head else ""


def declared_only(item: OutlineItem, text: str) -> str | None:
    """Return the declaration of a constant on one line, without its value; None where there may be more to it.

    What a class is taken for by mistake, and could be read as zero, is an error.
    """
    end = item.declaration.value or item.end
    head, value = text[item.start : end].rstrip("; \n"), text[end : item.end]
    if _UNCLEAR.search(head) or "#" in value or _ends_early(head) or _ends_early(value):
        return None
    spelled = " ".join(_NOT_IN_DECLARATION.sub(" ", head).split())
    plain, bounds, _ = spelled.partition("[")
    name = item.declaration.name
    made = plain.rstrip().removesuffix(name).rstrip() if bounds else f"decltype({name})"
    return f'extern {spelled}; static_assert(__is_class({made}) || __is_union({made}), "its value was left out");'


def _ends_early(value: str) -> bool:
    """Return whether another variable may follow: there is a comma outside brackets."""
    depth = 0
    for mark in re.findall(r"[(){}\[\]<>,]", value):
        depth += (mark in "({[<") - (mark in ")}]>")
        if mark == "," and not depth:
            return True
    return False
