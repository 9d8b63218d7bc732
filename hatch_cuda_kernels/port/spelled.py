"""Types and template arguments as sources spell them: taken apart, matched and put in each other's place."""

from __future__ import annotations

import re
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.source.lexer import without_comments

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["compact", "deduce", "replaced", "template_arguments", "type_of", "words"]

_WORD: Final = re.compile(r"[A-Za-z_]\w*")
_TOKEN: Final = re.compile(r"\w+|::|\S")
_ORNAMENTS: Final = frozenset(
    {"const", "volatile", "&", "__restrict__", "__restrict", "restrict", "struct", "typename"}
)
#: Of a type: what is between commas, with template arguments three deep.
_BALANCED: Final = r"(?:[^<>,]|<(?:[^<>]|<(?:[^<>]|<[^<>]*>)*>)*>)+"
#: The template arguments of a declaration's type.
_GIVEN: Final = r"<(?:[^<>;(){}]|<(?:[^<>;(){}]|<[^<>;(){}]*>)*>)*>"
_SCOPE: Final = re.compile(r"\b\w+ :: ")
_TIGHT: Final = re.compile(r" ?(::|<) ?| (>|\*|,)")
_LONGEST: Final = 500
_CAST: Final = re.compile(r"(?:static_cast|reinterpret_cast|const_cast)\s*<(.+)>\s*\(.*\)\Z|\(([\w:<>\s]+\*)\s*\).*\Z")
_MADE: Final = re.compile(rf"((?!\w+_cast\b)[A-Za-z_][\w:]*{_GIVEN})\s*(?:\(.*\)|\{{.*\}})\Z", re.DOTALL)
_DATA: Final = re.compile(r".*\b(?:mutable_|const_)?data(?:_ptr)?\s*<([^<>]+)>\s*\(\s*\)\Z")


def words(text: str) -> set[str]:
    """Return the words of a text."""
    return set(_WORD.findall(text))


def replaced(text: str, meanings: Mapping[str, str]) -> str:
    """Return a text with what words of it stand for."""
    return _WORD.sub(lambda found: meanings.get(found[0], found[0]), text)


def compact(text: str) -> str:
    """Return a type, given as tokens with one space between them, as people write it."""
    return _TIGHT.sub(lambda found: found[1] or found[2], text)


def template_arguments(text: str, start: int) -> tuple[str, ...] | None:
    """Return the arguments behind a ``<`` at a position; None where nothing closes it."""
    text = without_comments(text[start : start + _LONGEST])
    parts, depth, begin = [], 0, 1
    for at in range(len(text)):
        character = text[at]
        depth += (character in "<([") - (character in ">)]")
        if character in ";{}":
            return None
        if (character == "," and depth == 1) or not depth:
            parts.append(" ".join(text[begin:at].split()))
            begin = at + 1
        if not depth:
            return tuple(parts) if parts != [""] else ()
    return None


def deduce(pattern: str, given: str, parameters: Sequence[str]) -> dict[str, str]:
    """Return what template parameters stand for where a type is given for a pattern; empty where that is unclear."""
    wanted = _SCOPE.sub("", _plain(pattern, is_const=False))
    found = _plain(given, is_const="const" not in pattern.split())
    matched = re.fullmatch(_matching(wanted, parameters), found) if words(wanted) & {*parameters} else None
    return {name: compact(text) for name, text in matched.groupdict().items()} if matched else {}


def _plain(spelled: str, *, is_const: bool) -> str:
    """Return a type's tokens, one space between them, without what its value has no part in.

    With ``is_const``, what a pointer points to stays const.
    """
    tokens = _TOKEN.findall(spelled)
    depths = accumulate((one == "<") - (one == ">") for one in tokens)
    placed = [*zip(tokens, depths, strict=True)]
    outer = [one for one, depth in placed if not depth]
    kept = [one for one, depth in placed if depth or one not in _ORNAMENTS]
    points_to_const = "*" in outer and "const" in outer[: outer.index("*")]
    return " ".join(["const", *kept] if is_const and points_to_const else kept)


def _matching(wanted: str, parameters: Sequence[str]) -> str:
    """Return a regular expression for the types that a pattern stands for, in whichever namespaces their names are."""
    made: dict[int, str] = {}
    seen: set[str] = set()
    for at, token in enumerate(wanted.split()):
        if token in parameters:
            made[at] = f"(?P={token})" if token in seen else f"(?P<{token}>{_BALANCED})"
            seen.add(token)
        else:
            made[at] = (r"(?:\w+ :: )*" if token.isidentifier() else "") + re.escape(token)
    return " ".join(made.values())


def type_of(argument: str, before: str) -> str:
    """Return the type of an argument, by its cast or by its declaration in the text before; empty where unknown."""
    if _WORD.fullmatch(argument):
        return _declared_type(argument, before)
    cast, data, made = _CAST.match(argument), _DATA.match(argument), _MADE.match(argument)
    if cast is not None:
        return cast[1] or cast[2]
    if data is not None:
        return f"{data[1]} *"
    return made[1] if made is not None else ""


def _declared_type(name: str, before: str) -> str:
    declared = re.compile(
        rf"(?:^|[;{{}}(,])\s*(?P<type>(?:const\s+)?(?:unsigned\s+|long\s+)*[A-Za-z_][\w:]*(?:{_GIVEN})?"
        rf"(?:\s+const)?[\s*&]+)(?:const\s+)?(?:__restrict__\s*|__restrict\s*)?{name}\b\s*(?P<then>[,)=;\[({{])"
    )
    found = [one for one in declared.finditer(before) if one["type"].split()[0] not in {"return", "else", "delete"}]
    if not found:
        return ""
    last = found[-1]
    if "auto" in words(last["type"]):
        value = before[last.end() :].partition(";")[0] if last["then"] == "=" else ""
        return type_of(value.strip(), before[: last.start()])
    return last["type"].strip() + (" *" if last["then"] == "[" else "")
