"""Which of a module's units declares a name: a name expression is compiled in the one that has its template.

This reads text, as ``declarations`` does: where it tells nothing, the compiler says what is wrong with the name.
"""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.names import VIRTUAL_ROOT, base_name
from hatch_cuda_kernels.source.declarations import find_declarations
from hatch_cuda_kernels.source.lexer import blank_literals

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Sequence

    from hatch_cuda_kernels.source.closure import Closure

__all__ = ["Owners"]

_WORD: Final = re.compile(r"[A-Za-z_]\w*")
_VARIABLE: Final = re.compile(r"__(?:device|constant|managed)__\b([^;{}()=]*)")


class Owners:
    """The units of a module, asked for the one that a name belongs to."""

    def __init__(self, units: Sequence[Closure]) -> None:
        self._units = [_Declared(unit) for unit in units] if len(units) > 1 else []

    def of_kernel(self, name: str) -> int:
        """Return the position of the unit that declares a kernel; of one that declares a similar one, if none does."""
        wanted = base_name(name).rpartition("::")[2]
        if not any(wanted in unit.kernels for unit in self._units):
            every = [kernel for unit in self._units for kernel in unit.kernels]
            wanted = next(iter(difflib.get_close_matches(wanted, every, n=1)), wanted)
        return self._best(name, wanted, [(unit.own_kernels, unit.kernels) for unit in self._units])

    def of_variable(self, name: str) -> int:
        """Return the position of the unit that declares a variable."""
        wanted = base_name(name).rpartition("::")[2]
        return self._best(name, wanted, [(unit.own_variables, unit.variables) for unit in self._units])

    def _best(self, name: str, wanted: str, declared: Iterable[tuple[Container[str], Container[str]]]) -> int:
        """Return the first unit that declares a name itself, or else by a header, and has most of the other words."""
        words = set(_WORD.findall(name))
        scores = [
            (wanted in own, wanted in every, len(words & unit.words))
            for unit, (own, every) in zip(self._units, declared, strict=True)
        ]
        return scores.index(max(scores)) if scores else 0


class _Declared:
    """What a unit declares."""

    def __init__(self, unit: Closure) -> None:
        own = blank_literals(unit.source)
        headers = [blank_literals(text) for name, text in unit.headers if name.startswith(VIRTUAL_ROOT)]
        self.words = {word for text in (own, *headers) for word in _WORD.findall(text)}
        self.own_kernels = set(find_declarations(own))
        self.kernels = self.own_kernels.union(*map(find_declarations, headers))
        self.own_variables = _variables(own)
        self.variables = self.own_variables.union(*map(_variables, headers))


def _variables(text: str) -> set[str]:
    """Return every word in the declarations of device variables, which has their names among it."""
    return {word for found in _VARIABLE.findall(text) for word in _WORD.findall(found)}
