"""Types and template arguments as sources spell them: taken apart, matched and put in each other's place."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.source.expansion import without_comments

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["deduce", "replaced", "template_arguments", "type_of", "words"]

_WORD: Final = re.compile(r"[A-Za-z_]\w*")
_TOKEN: Final = re.compile(r"\w+|::|\S")
_ORNAMENTS: Final = frozenset(
    {"const", "volatile", "&", "__restrict__", "__restrict", "restrict", "struct", "typename"}
)
_LONGEST: Final = 500
_CAST: Final = re.compile(r"(?:static_cast|reinterpret_cast|const_cast)\s*<(.+)>\s*\(.*\)\Z|\(([\w:<>\s]+\*)\s*\).*\Z")
_DATA: Final = re.compile(r".*\b(?:mutable_|const_)?data(?:_ptr)?\s*<([^<>]+)>\s*\(\s*\)\Z")


def words(text: str) -> set[str]:
    """Return the words of a text."""
    return set(_WORD.findall(text))


def replaced(text: str, meanings: Mapping[str, str]) -> str:
    """Return a text with what words of it stand for."""
    return _WORD.sub(lambda found: meanings.get(found[0], found[0]), text)


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
    wanted, found = ([token for token in _TOKEN.findall(one) if token not in _ORNAMENTS] for one in (pattern, given))
    places = [at for at, token in enumerate(wanted) if token in parameters]
    if len(places) != 1 or len(found) < len(wanted):
        return {}
    before, after = places[0], len(wanted) - places[0] - 1
    if wanted[:before] != found[:before] or wanted[before + 1 :] != found[len(found) - after :]:
        return {}
    middle = found[before : len(found) - after]
    return {wanted[before]: " ".join(middle).replace(" :: ", "::")} if middle[-1] != "*" or not after else {}


def type_of(argument: str, before: str) -> str:
    """Return the type of an argument, by its cast or by its declaration in the text before; empty where unknown."""
    cast, data = _CAST.match(argument), _DATA.match(argument)
    if cast is not None:
        return cast[1] or cast[2]
    if data is not None:
        return f"{data[1]} *"
    if not _WORD.fullmatch(argument):
        return ""
    declared = re.compile(
        rf"(?:^|[;{{}}(,])\s*(?P<type>(?:const\s+)?(?:unsigned\s+|long\s+)*[A-Za-z_][\w:]*(?:<[^<>;(){{}}]*>)?"
        rf"(?:\s+const)?[\s*&]+)(?:const\s+)?(?:__restrict__\s*|__restrict\s*)?{argument}\b\s*[,)=;\[]"
    )
    found = [one for one in declared.finditer(before) if one["type"].split()[0] not in {"return", "else", "delete"}]
    return found[-1]["type"].strip() if found and "auto" not in found[-1]["type"].split() else ""
