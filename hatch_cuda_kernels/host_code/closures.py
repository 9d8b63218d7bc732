"""A closure without its host code."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hatch_cuda_kernels.host_code.glance import glances
from hatch_cuda_kernels.names import VIRTUAL_ROOT
from hatch_cuda_kernels.source.clocks import find_clocks
from hatch_cuda_kernels.source.directives import find_directives
from hatch_cuda_kernels.source.readings import Readings

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from hatch_cuda_kernels.host_code.trim import Trimmed
    from hatch_cuda_kernels.source.closure import Closure
    from hatch_cuda_kernels.source.directives import Directive
    from hatch_cuda_kernels.source.dropped import Dropped

__all__ = ["without_host_code"]


def without_host_code(
    closure: Closure,
    define: Sequence[tuple[str, str | None]] = (),
    *,
    if_refused: bool = False,
    host_only: Sequence[str] = (),
    readings: Readings | None = None,
) -> Closure:
    """Return a closure whose project files have blanks in place of host code. ``define`` are the options' macros.

    Nothing but these texts has a part in it; ``readings`` are of any project. A file that cannot be parsed stays as it
    is. With ``if_refused``, the closure is returned as it is unless NVRTC certainly refuses it for its host code, and
    no call can mean another function without that. What has one of the names ``host_only`` goes, too.
    """
    texts = {closure.program_name: closure.source}
    texts |= {name: text for name, text in closure.headers if name.startswith(VIRTUAL_ROOT)}
    start = (closure.program_name, *closure.pre_include)
    known = readings or Readings()
    found = _find(texts, start, define, known, host_only, if_refused=if_refused)
    if found is None or not found.dropped:
        return closure
    texts |= found.texts
    return replace(
        closure,
        source=texts[closure.program_name],
        headers=tuple((name, texts.get(name, text)) for name, text in closure.headers if name not in found.unread),
        outside=tuple(_still_named(closure.outside, found.dropped, texts.values(), known)),
        dropped=found.dropped,
        clocks=tuple(find_clocks(texts, known)) if closure.clocks else (),
    )


def _find(
    texts: Mapping[str, str],
    start: Sequence[str],
    define: Sequence[tuple[str, str | None]],
    readings: Readings,
    host_only: Sequence[str],
    *,
    if_refused: bool,
) -> Trimmed | None:
    """Return what is to be left out of texts, of which those of the names ``start`` are read first, if anything is."""
    looked = glances(texts, start) if if_refused else None
    if looked == {}:
        return None
    from hatch_cuda_kernels.host_code.trim import trim  # most sources need none of it

    return trim(texts, start, define, readings, host_only, looked)


def _still_named(
    outside: Iterable[str], dropped: Iterable[Dropped], texts: Iterable[str], readings: Readings
) -> Iterator[str]:
    """Yield the headers that are not the project's and that something still names."""
    gone = {found.name for found in dropped if found.kind == "include"}
    if gone:
        gone -= {directive.spelling[1:-1] for text in texts for directive in readings.of(_directives, text)}
    return (name for name in outside if name not in gone)


def _directives(text: str) -> tuple[Directive, ...]:
    return tuple(find_directives(text))
