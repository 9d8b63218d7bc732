"""Spellings: name expressions as people write them, lowered names of plain functions, virtual names of sources."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "VIRTUAL_ROOT",
    "base_name",
    "build_order",
    "chunk_name",
    "found_names",
    "listed_module",
    "normalize_name",
    "plain_name",
    "without_archs",
]

#: What precedes a project file's path in the name that NVRTC sees. No disk has such a folder.
VIRTUAL_ROOT: Final = "/hatch-cuda-kernels/"

_LITERAL: Final = re.compile(r"""('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")""")
_SPACED: Final = re.compile(r"\s+")
_LOOSE: Final = re.compile(r" ?([^\w ]) ?")
_BRACKETS: Final = {"<": ">", "(": ")"}
_COMPONENT: Final = re.compile(r"L?([1-9][0-9]{0,3})(?=[A-Za-z_])")
#: A namespace of CUB or Thrust that names what it is compiled for, such as ``CUB_300001_SM_900``, after its length.
_ARCHS: Final = re.compile(r"[1-9][0-9]?(?=([A-Z]+_[0-9]+_SM_[0-9_]+(?:NS)?))")
#: The Itanium C++ ABI's mark of an anonymous namespace. Name expressions do not spell one.
_ANONYMOUS: Final = "_GLOBAL__N_"


def normalize_name(text: str) -> str:
    """Return a name expression's spelling for look-ups, with spaces only where words would run together.

    Literals stay as they are, and so does everything a compiler would have to evaluate (``2+2`` is not ``4``).
    """
    parts = _LITERAL.split(text)
    parts[::2] = [_LOOSE.sub(r"\1", _SPACED.sub(" ", part)) for part in parts[::2]]
    return "".join(parts).strip()


def base_name(text: str) -> str:
    """Return a name expression's qualified name: no template arguments, no cast, no ``&``, no leading ``::``."""
    name = normalize_name(_LITERAL.sub("0", text))
    kept: list[str] = []
    closing: list[str] = []
    for character in name:
        if closing:
            # Inside parentheses, < and > compare.
            if character == closing[-1]:
                closing.pop()
            elif character == "(" or (character == "<" and closing[-1] == ">"):
                closing.append(_BRACKETS[character])
        elif character in _BRACKETS:
            closing.append(_BRACKETS[character])
        else:
            kept.append(character)
    return "".join(kept).lstrip("&:")


def plain_name(lowered: str) -> str | None:
    """Return the qualified name of a function that is not a template, None for any other lowered name.

    Rules: Itanium C++ ABI, "Mangling". Anonymous namespaces are left out, as name expressions leave them out.
    """
    if not lowered.startswith("_Z"):
        return None
    nested = lowered.startswith("_ZN")
    at = 3 if nested else 2
    names: list[str] = []
    while (length := _COMPONENT.match(lowered, at)) is not None:
        at = length.end() + int(length[1])
        names.append(lowered[length.end() : at])
        if not nested:
            break
    if nested:
        if lowered[at : at + 1] != "E":
            return None
        at += 1
    parameters = lowered[at:]
    # A function's name is followed by its parameters' types; I opens template arguments, B an ABI tag.
    if not names or not parameters or parameters[0] in "IB":
        return None
    return "::".join(name for name in names if not name.startswith(_ANONYMOUS)) or None


def found_names(lowered: Iterable[str]) -> dict[str, str]:
    """Return what kernels are called that nobody listed: by their plain name unless overloads share it."""
    plain = {symbol: plain_name(symbol) or symbol for symbol in lowered}
    count = Counter(plain.values())
    return {symbol: name if count[name] == 1 else symbol for symbol, name in plain.items()}


def without_archs(lowered: str) -> str:
    """Return a lowered name as it is for every architecture.

    CCCL's inline namespaces name the architectures of a compile, so that objects of different ones may be linked.
    """
    pieces, done = [], 0
    for found in _ARCHS.finditer(lowered):
        length = int(found[0])
        name = found[1][:length]
        if found.start() >= done and len(name) == length and name.rstrip("NS_0123456789").endswith("_SM"):
            pieces += [lowered[done : found.start()], "*"]
            done = found.end() + length
    return "".join((*pieces, lowered[done:]))


def chunk_name(module: str, number: int) -> str:
    """Return what the store calls a module's second or later chunk: no module of a manifest has a dot in its name."""
    return f"{module}.{number}"


def build_order(name: str) -> tuple[str, int]:
    """Return what sorts modules and chunks as a build makes them."""
    module, _, number = name.partition(".")
    return module, int(number) if number.isdecimal() else 1


def listed_module(name: str) -> str:
    """Return the manifest's name of a module, for a chunk's too."""
    return name.partition(".")[0]
