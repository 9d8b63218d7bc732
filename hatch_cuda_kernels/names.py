"""Spellings: name expressions as people write them, patterns of instances, lowered names, virtual names of sources.

A pattern such as ``gemm<{T}, {M}>`` has placeholders; other braces are C++ and stay. Importing this compiles no regular
expression, because most processes load a kernel by its plain name.
"""

from __future__ import annotations

import itertools
import keyword
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final

#: What precedes a project file's path in the name that NVRTC sees. Such a folder cannot exist below a device.
VIRTUAL_ROOT: Final = "/dev/null/hatch-cuda-kernels/"

#: C++ tokens: the longest that fits, literals and numbers whole. Digraphs count, as ``<`` before ``::`` does. White
#: space is C++'s six characters: for a compiler, U+00A0 and other Unicode spaces are not.
_TOKENS: Final = (
    r"""(?:u8|[uUL])?R"([^( \t\n\v\f\r]{0,16})\([\s\S]*?\)\1"\w*"""
    r"""|(?:u8|[uUL])?(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")\w*"""
    r"|\.?[0-9](?:[eEpP][+-]|'\w|[\w.])*|\w+|<=>|->\*|\.\.\.|<<=|>>=|<:(?!:(?![:>]))|:>|<%|%>|%:|->|\.\*|\+\+|--|<<|>>|&&"
    r"|\|\||::|\#\#|/\*|//|[-+*/%^&|=<>!]=|[^ \t\n\v\f\r]"
)
_OPENING: Final = frozenset("([{")
_CLOSING: Final = frozenset(")]}")
_CLOSERS: Final = {"<": ">", "(": ")", "[": "]", "{": "}"}
_COMPONENT: Final = r"L?([1-9][0-9]{0,3})(?=[A-Za-z_])"
#: A namespace of CUB or Thrust that names what it is compiled for, such as ``CUB_300001_SM_900``, after its length.
_ARCHS: Final = r"[1-9][0-9]?(?=([A-Z]+_[0-9]+_SM_[0-9_]+(?:NS)?))"
#: The same as C++ spells it: ``cub::CUB_300001_SM_900::BlockReduce``. It is inline, so that sources leave it out.
_ARCHS_SPELLED: Final = r"::[A-Z]+_[0-9]+_SM_[0-9_]+(?:NS)?\b|\b[A-Z]+_[0-9]+_SM_[0-9_]+(?:NS)?::"
#: The Itanium C++ ABI's mark of an anonymous namespace. Name expressions do not spell one.
_ANONYMOUS: Final = "_GLOBAL__N_"


def is_projects(name: str) -> bool:
    """Return whether a name that NVRTC sees is of a file of the project."""
    return name.startswith(VIRTUAL_ROOT)


def spelled_without_archs(text: str) -> str:
    """Return a compiler's text without the namespaces of CUB and Thrust that name what they are compiled for."""
    return re.sub(_ARCHS_SPELLED, "", text)


def normalize_name(text: str) -> str:
    """Return a name expression's spelling for look-ups, with spaces only where tokens would run together.

    Two spellings become equal only if a compiler reads the same tokens in both: ``5 - -1`` is not ``5 --1``, and what
    would have to be evaluated stays (``2+2`` is not ``4``). ``>>`` counts as two where it closes template arguments.
    """
    if text.isidentifier() or text.isdecimal():
        return text
    pieces = [""]
    depth = 0
    for part in _parts(text):
        closes_two = part == pieces[-1] == ">" and depth == 0
        pieces += [" ", part] if _run_together(pieces[-1], part) and not closes_two else [part]
        depth += (part in _OPENING) - (part in _CLOSING)
    return "".join(pieces)


def _parts(text: str) -> list[str]:
    """Return the tokens of a name expression; a shift in no parentheses is two closing brackets (C++11)."""
    found: list[str] = []
    depth = 0
    for match in re.finditer(_TOKENS, text):
        found += (">", ">") if match[0] == ">>" and depth == 0 else (match[0],)
        depth += (match[0] in _OPENING) - (match[0] in _CLOSING)
    return found


@lru_cache(maxsize=4096)
def _run_together(first: str, second: str) -> bool:
    """Return whether two tokens become others without a space between them."""
    joined = [match[0] for match in re.finditer(_TOKENS, first + second)]
    return (first != "" and joined != [first, second]) or first == second == "."  # of which three are a token


def base_name(text: str) -> str:
    """Return a name expression's qualified name: no template arguments, no cast, no ``&``, no leading ``::``."""
    name = normalize_name(" ".join("0" if "'" in part or '"' in part else part for part in _parts(text)))
    kept: list[str] = []
    closing: list[str] = []
    for character in name:
        if closing:
            # Inside parentheses, < and > compare.
            if character == closing[-1]:
                closing.pop()
            elif character == "(" or (character == "<" and closing[-1] == ">"):
                closing.append(_CLOSERS[character])
        elif character in "<(":
            closing.append(_CLOSERS[character])
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
    component = re.compile(_COMPONENT)
    while (length := component.match(lowered, at)) is not None:
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


def lowered_variable(name: str) -> str:
    """Return the lowered name of a variable with external linkage by its qualified name."""
    parts = name.split("::")
    return "".join(("_ZN", *(f"{len(part)}{part}" for part in parts), "E")) if parts[1:] else name


def found_names(lowered: Iterable[str]) -> dict[str, str]:
    """Return the names of kernels that are not listed: the plain name, or the symbol if overloads share that."""
    plain = {symbol: plain_name(symbol) or symbol for symbol in lowered}
    count = Counter(plain.values())
    return {symbol: name if count[name] == 1 else symbol for symbol, name in plain.items()}


def python_names(names: Sequence[str]) -> list[str]:
    """Return a kernel's parameters as Python and torch take them, those without a usable name by position."""
    usable: list[str] = []
    for index, name in enumerate(names):
        plain = f"{name}_" if keyword.iskeyword(name) or name == "self" else name.lstrip("_")
        usable.append(plain if plain.isidentifier() and plain not in usable else f"arg{index}")
    return usable


def without_archs(lowered: str) -> str:
    """Return a lowered name as it is for every architecture.

    CCCL's inline namespaces name the architectures of a compile, so that objects of different ones may be linked.
    """
    pieces, done = [], 0
    for found in re.finditer(_ARCHS, lowered):
        length = int(found[0])
        name = found[1][:length]
        if found.start() >= done and len(name) == length and name.rstrip("NS_0123456789").endswith("_SM"):
            pieces += [lowered[done : found.start()], "*"]
            done = found.end() + length
    return "".join((*pieces, lowered[done:]))


def chunk_name(module: str, number: int) -> str:
    """Return the store's name of a module's second or later chunk. Names of modules in manifests have no dot."""
    return f"{module}.{number}"


def build_order(name: str) -> tuple[str, int]:
    """Return the sort key of modules and chunks in the order of a build."""
    module, _, number = name.partition(".")
    return module, int(number) if number.isdecimal() else 1


def listed_module(name: str) -> str:
    """Return the manifest's name of a module, for a chunk's too."""
    return name.partition(".")[0]


def family_key(family: str, axes: Mapping[str, str]) -> str:
    """Return the key in ``kernels.tsv`` of the module that has these values of a family's axes."""
    values = {axis: normalize_name(value).replace(";", ";;") for axis, value in axes.items()}
    return ";".join((f"{{{family}", *(f"{axis}={values[axis]}" for axis in sorted(values))))


def axes_key(family: str, axes: Iterable[str]) -> str:
    """Return the key in ``kernels.tsv`` of the modules that say how others with these axes are compiled."""
    return ";".join((f"{{{family}", *sorted(axes)))


def spell_values(values: Mapping[str, object]) -> dict[str, str]:
    """Return values of axes as C++ has them: truth values are small, those of numpy included."""
    texts = {name: str(value) for name, value in values.items()}
    return {name: text.lower() if "bool" in type(values[name]).__name__ else text for name, text in texts.items()}


def values_text(axes: Mapping[str, str]) -> str:
    """Return values of axes in words."""
    return ", ".join(f"{axis}={value if value.isprintable() else repr(value)}" for axis, value in axes.items())


_PLACEHOLDER: Final = r"\{([A-Za-z_][A-Za-z0-9_]*)\}"
#: Stands around a placeholder's name while spaces are made alike: a letter, as arguments mostly are, of no C++ name.
_MARK: Final = "\N{LATIN LETTER BILABIAL PERCUSSIVE}"
_MARKED: Final = f"{_MARK}(.*?){_MARK}"


def placeholders(pattern: str) -> tuple[str, ...]:
    """Return the names of a pattern's placeholders, each once, in order."""
    return tuple(dict.fromkeys(re.findall(_PLACEHOLDER, pattern)))


def quoted_placeholders(texts: Iterable[str]) -> set[str]:
    """Return the names of the placeholders in strings and characters of C++ texts, where all spaces count."""
    literals = (part for text in texts for part in _parts(text) if '"' in part or "'" in part)
    return {name for part in literals for name in placeholders(part)}


def fill(pattern: str, values: Mapping[str, object]) -> str:
    """Return the pattern with its placeholders replaced. Raises KeyError for one without a value."""
    return re.sub(_PLACEHOLDER, lambda match: str(values[match[1]]), pattern)


def fill_known(pattern: str, values: Mapping[str, str]) -> str:
    """Return the pattern with those of its placeholders replaced that have a value."""
    if "{" not in pattern:
        return pattern
    return fill(pattern, {name: f"{{{name}}}" for name in placeholders(pattern)} | dict(values))


def module_name(entry: str, file: str, axes: Mapping[str, str]) -> str:
    """Return the name of an entry's module: ``file`` stands for ``*``, ``thrust_complex_float`` for C++ text."""
    values = {axis: value if value.isidentifier() else _worded(value) for axis, value in axes.items()}
    parts = {axis: re.split(r"[^A-Za-z0-9_]+", value) for axis, value in values.items()}
    return fill(entry, {axis: "_".join(filter(None, found)) for axis, found in parts.items()}).replace("*", file)


def _worded(value: str) -> str:
    """Return C++ text with words for signs by which values of one axis often differ: ``float*``, ``-1``."""
    return re.sub("-(?=[0-9.])", " minus ", value).replace("*", " ptr ").replace("&", " ref ")


def expand(pattern: str, matrix: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield what a pattern gives with every combination of values; the first axis varies slowest."""
    for values in itertools.product(*matrix.values()):
        yield fill(pattern, dict(zip(matrix, values, strict=True)))


def match(pattern: str, name: str) -> dict[str, str] | None:
    """Return the values with which a pattern gives a name expression, spaces aside; None if there are none."""
    marked = fill(pattern, {placeholder: f"{_MARK}{placeholder}{_MARK}" for placeholder in placeholders(pattern)})
    return _match(re.split(_MARKED, normalize_name(marked)), normalize_name(name), {})


def _match(parts: Sequence[str], text: str, found: dict[str, str]) -> dict[str, str] | None:
    """Match literal text and placeholders, which alternate, against a name."""
    literal, *rest = parts
    if not text.startswith(literal):
        return None
    text = text.removeprefix(literal)
    if not rest:
        return None if text else found
    placeholder, *rest = rest
    for end in _ends(text):
        value = text[:end].strip(" ")
        if found.get(placeholder, value) == value:
            solved = _match(rest, text[end:], {**found, placeholder: value})
            if solved is not None:
                return solved
    return None


def _ends(text: str) -> Iterator[int]:
    """Yield where a template argument at the start of a text may end, longest first."""
    closing: list[str] = []
    ends = []
    for position, character in enumerate(text):
        if closing and character == closing[-1]:
            closing.pop()
        elif not closing and character in ",>)]}":
            break
        elif character in "([{" or (character == "<" and closing[-1:] != [")"]):  # in parentheses it compares
            closing.append(_CLOSERS[character])
        if not closing:
            ends.append(position + 1)
    yield from reversed(ends)
