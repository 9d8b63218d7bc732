"""Whether an alias, a ``using`` or an assertion is the host's: it names what NVRTC never sees."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.host_code.nodes import flat, nodes_of
from hatch_cuda_kernels.host_code.tokens import tokens_of
from hatch_cuda_kernels.source.lexer import UnclearTextError, without_literals
from hatch_cuda_kernels.source.torch_names import begins_with_torch_name, is_torch_alias, opens_for

if TYPE_CHECKING:
    from collections.abc import Callable

    from hatch_cuda_kernels.host_code.facts import Facts, FoundItem
    from hatch_cuda_kernels.host_code.items import OutlineItem

__all__ = ["is_assertion", "is_host_assertion", "is_host_class", "is_host_using"]

_WORD: Final = re.compile(r"[A-Za-z_]\w*")
_QUALIFIED_CLASS: Final = re.compile(r"template\s*<[^<>{};]*>\s*(?:struct|class)\s+(?:::\s*)?(?P<root>\w+)\s*::")
_ASSERTION: Final = re.compile(r"(?:static_assert|_Static_assert)\b")
_UNQUALIFIED: Final = re.compile(r"(?<![\w.>:])[A-Za-z_]\w*(?!\s*::)")
#: C's complex numbers: gcc and nvcc know them in C++, too.
_COMPLEX: Final = "_Complex"
_BEFORE_A_NAME: Final = frozenset({"using", "namespace", "typename", "typedef", "=", "<", ","})


def is_host_class(item: OutlineItem, text: str, facts: Facts) -> bool:
    """Return whether a class specialises a template of a host library: ``struct fmt::formatter<A> {``."""
    found = _QUALIFIED_CLASS.match(text, item.start, item.end)
    return found is not None and found["root"] in facts.host_namespaces


def is_assertion(item: OutlineItem, text: str) -> bool:
    """Return whether a declaration is a static assertion."""
    return item.declaration.kind == "other" and _ASSERTION.match(text, item.start) is not None


def is_host_assertion(item: OutlineItem, text: str, facts: Facts) -> bool:
    """Return whether an assertion of a namespace is about a host variable: ``sizeof(names) == 3 * sizeof(*names)``."""
    if item.class_name is not None or not is_assertion(item, text):
        return False
    words = _UNQUALIFIED.findall(without_literals(text[item.start : item.end]))
    return any("" in facts.variables.get(word, ()) and word not in facts.constants for word in words)


def is_host_using(item: OutlineItem, source: str, facts: Facts, is_dropped: Callable[[FoundItem], bool]) -> bool:
    """Return whether a declaration names what is in a host library's namespace, or host functions that are dropped.

    So does an alias of a type that NVRTC has not.
    """
    text = source[item.start : item.end]
    if not _may_be(text, facts.host_namespaces):
        return False
    try:
        words = ["".join(word.split()) for word in flat(nodes_of(tokens_of(text)))]
    except UnclearTextError:
        return False
    if words[0] not in {"template", "using", "typedef"} and (words[0] != "namespace" or "=" not in words):
        return False
    if _COMPLEX in words and words[0] != "template":
        return True
    roots = [at for at, word in enumerate(words) if word in facts.host_namespaces and _is_root(words, at)]
    if roots:
        known = all(begins_with_torch_name(" ".join(words[at:])) for at in roots)
        whole = " ".join(words)
        return not known and not is_torch_alias(whole) and not opens_for(whole, source)
    return (
        words[0] == "using"
        and "=" not in words
        and "namespace" not in words
        and _names_host(words, facts, is_dropped, in_class=item.class_name is not None)
    )


def _may_be(text: str, hosts: frozenset[str]) -> bool:
    """Return whether it is worth a closer look: most aliases name nothing of the host's."""
    return (
        not hosts.isdisjoint(_WORD.findall(text))
        or _COMPLEX in text
        or (text.startswith("using") and ("=" not in text or "/" in text))
    )


def _is_root(words: list[str], at: int) -> bool:
    """Return whether a word is the namespace that a name begins with."""
    before = words[at - 1] if at else ""
    qualifies = (
        words[at + 1 : at + 2] == ["::"] or before == "namespace" or (before == "=" and "namespace" in words[:1])
    )
    return qualifies and (before != "::" or words[at - 2] in _BEFORE_A_NAME)


def _names_host(words: list[str], facts: Facts, is_dropped: Callable[[FoundItem], bool], *, in_class: bool) -> bool:
    """Return whether ``using a::f;`` names functions, of a namespace or a class, that are all dropped."""
    if "operator" in words:
        at = words.index("operator")
        named = "".join(words[at + 1 : -1])
        is_conversion = named[:1].isidentifier() or named[:2] == "::"  # using Base::operator int*;
        words = [*words[:at], f"operator{' ' * is_conversion}{named}", ";"]
    if len(words) < 4 or words[-1] != ";" or words[-3] != "::":
        return False
    if words[-4] == "using":  # using ::f;
        words = ["using", "", *words[1:]]
    members = facts.members.get((words[-4], words[-2]))
    if members is None and in_class and words[-4] not in facts.classes and words[-2] not in facts.data:
        members = facts.members_named.get(words[-2])  # of an alias of a base
    if members:
        return words[-2] != words[-4] and all(map(is_dropped, members))
    found = facts.functions.get(words[-2], [])
    own = [one for one in found if one.item.namespace.rpartition("::")[2] == words[-4]]
    return bool(own) and words[-2] not in facts.classes and all(map(is_dropped, own))
