"""Which of a module's units declares a name: a name expression is compiled in the one that has its template.

This reads text, as ``declarations`` does: where it tells nothing, the compiler says what is wrong with the name.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.names import VIRTUAL_ROOT, base_name

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hatch_cuda_kernels.source.closure import Closure

__all__ = ["Owners"]

#: Texts whose declarations are remembered.
_MOST: Final = 4096
_WORD: Final = re.compile(r"[A-Za-z_]\w*")
_VARIABLE: Final = re.compile(r"__(?:device|constant|managed)__\b([^;{}()=]*)")


class Owners:
    """The units of a module, asked for the one that a name belongs to."""

    def __init__(self, units: Sequence[Closure]) -> None:
        self._units = [_texts(unit) for unit in units] if len(units) > 1 else []

    def of_kernel(self, name: str) -> int:
        """Return the position of the unit that declares a kernel; of one that declares a similar one, if none does."""
        wanted = base_name(name).rpartition("::")[2]
        every = {kernel for texts in self._units for text in texts for kernel in _kernels(text)}
        if wanted not in every:
            import difflib  # for a name that is wrong

            wanted = next(iter(difflib.get_close_matches(wanted, sorted(every), n=1)), wanted)
        return self._best(name, wanted, _kernels)

    def of_variable(self, name: str) -> int:
        """Return the position of the unit that declares a variable."""
        return self._best(name, base_name(name).rpartition("::")[2], _variables)

    def _best(self, name: str, wanted: str, declared: Callable[[str], frozenset[str]]) -> int:
        """Return the first unit that declares a name itself, or else by a header, and has most of the other words."""
        words = frozenset(_WORD.findall(name))
        scores = [
            (
                wanted in declared(own),
                any(wanted in declared(text) for text in (own, *headers)),
                len(words & frozenset().union(*map(_words, (own, *headers)))),
            )
            for own, *headers in self._units
        ]
        return scores.index(max(scores)) if scores else 0


def _texts(unit: Closure) -> list[str]:
    """Return a unit's source, and the headers that are the project's."""
    return [unit.source, *(text for name, text in unit.headers if name.startswith(VIRTUAL_ROOT))]


@lru_cache(_MOST)
def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(_blank(text)))


@lru_cache(_MOST)
def _kernels(text: str) -> frozenset[str]:
    """Return the kernels that a text declares; units share headers."""
    if "__global__" not in text:
        return frozenset()
    from hatch_cuda_kernels.source.declarations import find_declarations  # most modules have one unit

    return frozenset(find_declarations(text))


@lru_cache(_MOST)
def _variables(text: str) -> frozenset[str]:
    """Return every word in the declarations of device variables, which has their names among it."""
    return frozenset(word for found in _VARIABLE.findall(_blank(text)) for word in _WORD.findall(found))


def _blank(text: str) -> str:
    from hatch_cuda_kernels.source.lexer import blank_literals  # as above

    return blank_literals(text)
