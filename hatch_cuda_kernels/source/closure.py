"""The header closure: a source with every project file it can see, each under one virtual name that no disk has."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from hatch_cuda_kernels.digest import sha256
from hatch_cuda_kernels.execution_space.kernels import NOTHING_DECLARED, Declared

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hatch_cuda_kernels.source.dropped import Dropped

__all__ = ["NOT_CUT", "Closure", "ClosureCut"]


class ClosureCut(NamedTuple):
    """What was cut of a closure's texts, which are as they are without it."""

    edits: tuple[tuple[str, int, int, str, bool], ...] = ()
    """In-memory name, start, end and new text of each change, and whether pragmas inside go with it."""
    default_device: bool = False
    """Whether something without a mark stays, which NVRTC takes under ``-default-device`` only."""
    variables: tuple[str, ...] = ()
    """Qualified names of variables that lost their values: no code may use them."""
    loses_constants: bool = False
    """Whether one of these is const: of its use, only relocatable code shows a symbol."""
    host_headers: tuple[str, ...] = ()
    """Headers that are no longer included."""
    unread: str = ""
    """Why the texts could not be read as C++, with the place: then nothing is cut, and NVRTC has to refuse them."""
    declared: Declared = NOTHING_DECLARED
    """The kernels and variables that the texts declare."""

    def to_json(self) -> dict[str, Any]:
        """Return JSON data that ``from_json`` reads."""
        return {**self._asdict(), "declared": self.declared.to_json(), "sha256": self._digest()}

    def _digest(self) -> str:
        return sha256(json.dumps(self, separators=(",", ":")).encode()).hexdigest()

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> ClosureCut:
        """Read what ``to_json`` wrote. Raises KeyError, TypeError or ValueError on other data."""
        found = cls(
            tuple((name, start, end, text, drops) for name, start, end, text, drops in data["edits"]),
            data["default_device"],
            tuple(data["variables"]),
            data["loses_constants"],
            tuple(data["host_headers"]),
            data["unread"],
            Declared.from_json(data["declared"]),
        )
        if data["sha256"] != found._digest():
            message = "what was cut of a source is damaged"
            raise ValueError(message)
        return found


NOT_CUT: Final = ClosureCut()


@dataclass(frozen=True, slots=True)
class Closure:
    """A source with every project header it can see. Paths are project-relative and posix."""

    source: str
    """The source's rewritten text."""
    program_name: str
    """The source's virtual name."""
    headers: tuple[tuple[str, str], ...]
    """(in-memory name, text), by name. Another spelling of a project header only includes the real one."""
    files: tuple[tuple[str, str], ...]
    """(path, sha256 of the bytes on disk in hex), by path; the source is among them."""
    pre_include: tuple[str, ...]
    """Virtual names of project headers; other headers as they were spelled."""
    outside: tuple[str, ...]
    """Spellings no project file answers to: toolkit headers, files that are missing, names that only macros spell."""
    computed: tuple[str, ...]
    """``path:line`` of each ``#include MACRO``; only declared headers and the toolkit's can satisfy one."""
    probes: tuple[str, ...] = ()
    """``path:line`` of each ``__has_include(MACRO)``; it is true for declared headers and the toolkit's."""
    standard: tuple[str, ...] = ()
    """Names in memory of standard headers."""
    named: tuple[str, ...] = ()
    """Those of the standard headers that project files name."""
    asked: tuple[str, ...] = ()
    """Names in memory, of project files or standard headers, that the toolkit's headers ask for."""
    dropped: tuple[Dropped, ...] = ()
    """What of the project's texts was left out as host code, by place."""
    cut: ClosureCut = NOT_CUT
    """What was cut of the texts."""
    clocks: tuple[str, ...] = ()
    """Uses of ``__DATE__`` and its kin; no such source is compiled."""
