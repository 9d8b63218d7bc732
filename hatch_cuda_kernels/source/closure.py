"""The header closure: a source with every project file it can see, each under one virtual name that no disk has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hatch_cuda_kernels.source.dropped import Dropped

__all__ = ["Closure"]


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
    clocks: tuple[str, ...] = ()
    """Uses of ``__DATE__`` and its kin; no such source is compiled."""
