"""Default arguments that name what is dropped, in heads that stay declared: others of their types take their place.

Whether a class can be made without arguments is told from a head; what a default is matters to a call only, and to call
what is only declared is an error. But where a head may say noexcept, code may ask whether a default throws.
"""

from __future__ import annotations

import re
from itertools import pairwise, takewhile
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.host_code.nodes import flat, nodes_of, split
from hatch_cuda_kernels.host_code.tokens import tokens_of
from hatch_cuda_kernels.source.lexer import UnclearTextError, without_comments

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from hatch_cuda_kernels.host_code.facts import Facts, FoundItem
    from hatch_cuda_kernels.host_code.tokens import Token

__all__ = ["without_host_defaults"]

_NEWLINES: Final = re.compile(r"\s*\n\s*")
_DIRECTIVE: Final = re.compile(r"^[ \t]*#.*", re.MULTILINE)
_ENDS_IN_DIRECTIVE: Final = re.compile(r"^[ \t]*#.*\s*\Z", re.MULTILINE)
_CANNOT_THROW: Final = re.compile(r"noexcept|nothrow|\bthrow\b")
#: Of a call, which names no operator; of a class whose member is named; of the type of another parameter.
_TEMPLATE_ARGUMENTS: Final = re.compile(
    r"(?<=\w)\s*<(?:[\w\s:,*&]|<[\w\s:,*&]*>)*>(?=\s*(?:\(|::|(?:const\b)?[\s&*]*\w+\s*(?:[=,)]|\Z)))"
)
#: Up to its body.
_LAMBDA: Final = re.compile(r"\[[^\[\]]*\]\s*\((?:[^()]|\([^()]*\))*\)\s*(?:mutable\s*)?(?:->[\w\s:<>,*&]+)?(?=\{)")
_BODY: Final = re.compile(r"[{}]")
#: The word that stands for one, of the same length.
_A_LAMBDA: Final = re.compile(r"_{6,}")
#: No object is there. The compiler does not know that, or it would leave out the call with all that leads to it.
_NOWHERE: Final = "4096"


def without_host_defaults(
    head: str, class_name: str | None, facts: Facts, is_dropped: Callable[[FoundItem], bool]
) -> str | None:
    """Return a function's head without defaults that name what is dropped; None where all may stay.

    That is also returned where a parameter's type is not understood. The head is on one line, but for directives.
    """
    if "=" not in head or 'R"' in head or _CANNOT_THROW.search(head):
        return None
    plain = without_comments(head)
    if _ENDS_IN_DIRECTIVE.search(plain):  # what ends the declaration would be a part of it
        return None
    if "#" not in plain:
        plain = _NEWLINES.sub(" ", plain)
    try:
        shown = _DIRECTIVE.sub(lambda found: " " * len(found[0]), plain)
        shown = _TEMPLATE_ARGUMENTS.sub(lambda found: " " * len(found[0]), shown)
        shown = _without_lambdas(shown)
        parameters = _parameters(nodes_of(tokens_of(shown)), facts)
    except UnclearTextError:
        return None
    pieces: list[str] = []
    done = 0
    for nodes in parameters:
        before = [*takewhile(lambda node: node.text != "=", nodes)]
        value = nodes[len(before) + 1 :]
        words = [*flat(value)]
        is_lambda = any(map(_A_LAMBDA.fullmatch, words))
        if is_lambda or _names_variable(words, class_name, facts) or _calls_dropped(words, facts, is_dropped):
            made = _stand_in(before, plain)
            if made is None or "#" in plain[before[0].start : value[-1].end]:
                return None
            pieces += plain[done : value[0].start], made
            done = value[-1].end
    return "".join((*pieces, plain[done:])) if pieces else None


def _without_lambdas(text: str) -> str:
    """Return a head of the same length with a word in place of each lambda, which NVRTC takes for the host's."""
    found = _LAMBDA.search(text)
    depth = 0
    for brace in _BODY.finditer(text, found.end()) if found is not None else ():
        depth += 1 if brace[0] == "{" else -1
        if not depth and found is not None:
            spelled = text[found.start() : brace.end()]
            if '"' in spelled or "'" in spelled:
                return text
            return text[: found.start()] + "_" * len(spelled) + _without_lambdas(text[brace.end() :])
    return text


def _parameters(nodes: Sequence[Token], facts: Facts) -> Iterator[list[Token]]:
    """Yield the parameters; none where a default has a ``<``, perhaps an operator, or a macro stands behind them."""
    groups = (at for at, node in enumerate(nodes) if node.text == "()" and any(one.text == "=" for one in node.inner))
    at = next(groups, len(nodes))
    inner = nodes[at].inner if at < len(nodes) else ()
    is_clear = facts.roles.keys().isdisjoint(node.text for node in nodes[at + 1 :])
    if is_clear and not any(node.text == "<" for node in inner):
        yield from split(inner)


def _names_variable(words: Sequence[str], class_name: str | None, facts: Facts) -> bool:
    """Return whether a value names a variable of the host's: of a namespace, of the function's class, or of another."""
    for before, qualifies, word in zip(["", "", *words], ["", *words], words, strict=False):
        if qualifies != "::":
            owners = {"", class_name or ""}
        else:
            owners = {before, *([""] if before in facts.namespaces else [])}
        if not owners.isdisjoint(facts.variables.get(word, ())):
            return True
    return False


def _calls_dropped(words: Sequence[str], facts: Facts, is_dropped: Callable[[FoundItem], bool]) -> bool:
    """Return whether a value calls functions that are all dropped, or is the name of one."""
    called = (word for word, after in pairwise(words) if after == "(")
    found = [[*facts.functions.get(word, ()), *facts.members_named.get(word, ())] for word in called]
    if set(words[1::2]) == {"::"}:
        named = facts.functions.get(words[-1], ())
        found.append([one for one in named if one.item.namespace.rpartition("::")[2] == words[-3]])
    return any(functions and all(map(is_dropped, functions)) for functions in found)


def _stand_in(before: Sequence[Token], text: str) -> str | None:
    """Return a value of a parameter's type, which stands before its name; None where the type is more than that."""
    if len(before) < 2 or not before[-1].is_word or any(node.text in {"()", "[]", "..."} for node in before):
        return None
    spelled = text[before[0].start : before[-1].start].rstrip()
    plain = spelled.rstrip("&").rstrip()
    value = f"*({plain}*){_NOWHERE}"
    return value if spelled.endswith("&") and not spelled.endswith("&&") else f"({plain}&&){value}"
