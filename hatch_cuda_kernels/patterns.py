"""Instance patterns: ``gemm<{T}, {M}>`` with a value for each placeholder. Other braces are C++ and stay."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.names import normalize_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_PLACEHOLDER: Final = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")
#: Stands around a placeholder's name while spaces are made alike: a letter, as arguments mostly are, of no C++ name.
_MARK: Final = "\N{LATIN LETTER BILABIAL PERCUSSIVE}"
_MARKED: Final = re.compile(f"{_MARK}(.*?){_MARK}")
_BRACKETS: Final = {"<": ">", "(": ")", "[": "]", "{": "}"}


def placeholders(pattern: str) -> tuple[str, ...]:
    """Return the names of a pattern's placeholders, each once, in order."""
    return tuple(dict.fromkeys(_PLACEHOLDER.findall(pattern)))


def fill(pattern: str, values: Mapping[str, object]) -> str:
    """Return the pattern with its placeholders replaced. Raises KeyError for one without a value."""
    return _PLACEHOLDER.sub(lambda match: str(values[match[1]]), pattern)


def expand(pattern: str, matrix: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield what a pattern gives with every combination of values; the first axis varies slowest."""
    for values in itertools.product(*matrix.values()):
        yield fill(pattern, dict(zip(matrix, values, strict=True)))


def match(pattern: str, name: str) -> dict[str, str] | None:
    """Return the values with which a pattern gives a name expression, spaces aside; None if there are none."""
    marked = fill(pattern, {placeholder: f"{_MARK}{placeholder}{_MARK}" for placeholder in placeholders(pattern)})
    return _match(_MARKED.split(normalize_name(marked)), normalize_name(name), {})


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
            closing.append(_BRACKETS[character])
        if not closing:
            ends.append(position + 1)
    yield from reversed(ends)
