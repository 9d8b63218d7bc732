"""Which symbols one unit defines for others, and which it takes from them: of an object's ELF file, and of PTX."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from hatch_cuda_kernels.compiler.output.elf import read_elf

__all__ = ["Linkage", "linkage_of_object", "linkage_of_ptx"]

_GLOBAL, _WEAK = 1, 2  # st_bind
#: Types of symbols: functions, and variables as relocatable files mark them.
_LINKED: Final = frozenset({1, 2, 13})
_UNDEFINED: Final = 0  # the section
_KINDS: Final = r"\.(visible|extern|weak) \.(?:entry|global|const|func(?:\s*\(\.param[^)]*\))?)"
_PTX: Final = re.compile(rf"^{_KINDS}[^;={{(\n]*?([A-Za-z_$][\w$]*)(?:\[\d*\])*\s*(?:[;={{(]|$)", re.MULTILINE)


class Linkage(NamedTuple):
    """What a unit has in common with others."""

    defined: frozenset[str]
    """What only one unit may define."""
    undefined: frozenset[str]
    shared: frozenset[str] = frozenset()
    """Definitions that each unit may have, as those of templates."""


def linkage_of_object(data: bytes) -> Linkage:
    """Return the symbols of a relocatable CUBIN. Raises what ``read_elf`` raises."""
    symbols = [row for row in read_elf(data).symbols if row.info & 0xF in _LINKED]
    has = [row for row in symbols if row.section != _UNDEFINED]
    return Linkage(
        frozenset(row.name for row in has if row.info >> 4 == _GLOBAL),
        frozenset(row.name for row in symbols if row.info >> 4 == _GLOBAL and row.section == _UNDEFINED),
        frozenset(row.name for row in has if row.info >> 4 == _WEAK),
    )


def linkage_of_ptx(text: str) -> Linkage:
    """Return the symbols of a PTX text."""
    found = _PTX.findall(text)
    return Linkage(
        frozenset(name for word, name in found if word == "visible"),
        frozenset(name for word, name in found if word == "extern"),
        frozenset(name for word, name in found if word == "weak"),
    )
