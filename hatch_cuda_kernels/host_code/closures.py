"""A closure without its host code."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from hatch_cuda_kernels.host_code.conditions import as_for_nvcc
from hatch_cuda_kernels.host_code.drop import apply, find_changes
from hatch_cuda_kernels.host_code.host_libraries import drop_includes, host_libraries
from hatch_cuda_kernels.host_code.marks import gather_facts
from hatch_cuda_kernels.host_code.own_cccl import own_cccl, own_libcudacxx
from hatch_cuda_kernels.host_code.pragmas import spell_pragmas
from hatch_cuda_kernels.host_code.refused import is_refused, read_suspects, takes_overloads
from hatch_cuda_kernels.host_code.remembered import Trimmed, remembered
from hatch_cuda_kernels.host_code.seen_macros import seen_macros
from hatch_cuda_kernels.names import VIRTUAL_ROOT
from hatch_cuda_kernels.source.clocks import find_clocks
from hatch_cuda_kernels.source.directives import find_directives
from hatch_cuda_kernels.source.dropped import Dropped
from hatch_cuda_kernels.source.library_names import library_macros
from hatch_cuda_kernels.source.macros import parse_define
from hatch_cuda_kernels.source.readings import Readings

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from hatch_cuda_kernels.source.closure import Closure
    from hatch_cuda_kernels.source.directives import Directive
    from hatch_cuda_kernels.source.macros import MacroText

__all__ = ["find_macros", "without_host_code"]


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
    about = (define, start, if_refused, host_only)
    found = remembered(texts, about, lambda: _find(texts, start, define, known, host_only, if_refused=if_refused))
    if not found.dropped:
        return closure
    texts |= found.texts
    return replace(
        closure,
        source=texts[closure.program_name],
        headers=tuple((name, texts.get(name, text)) for name, text in closure.headers if name not in found.unread),
        outside=tuple(_still_named(closure.outside, found.dropped, texts.values(), known)),
        dropped=found.dropped,
        clocks=tuple(find_clocks(texts)) if closure.clocks else (),
    )


def _find(
    texts: Mapping[str, str],
    start: Sequence[str],
    define: Sequence[tuple[str, str | None]],
    readings: Readings,
    host_only: Sequence[str],
    *,
    if_refused: bool,
) -> Trimmed:
    """Return what is to be left out of texts, of which those of the names ``start`` are read first."""
    nothing = Trimmed({}, ())
    macros = cache(lambda: [*find_macros(texts.values(), define, readings)])
    suspects = read_suspects(texts, start, macros, readings) if if_refused else []
    if if_refused and not suspects:
        return nothing
    unread = host_libraries(texts).difference(start)
    left = {name: text for name, text in texts.items() if name not in unread}
    dropped = [*_with_conditions(left, own_cccl(left)), *spell_pragmas(left), *drop_includes(left, unread)]
    facts, outlines = gather_facts(macros(), left, readings)
    facts.host_only.update(host_only)
    if if_refused and not is_refused(suspects, facts):  # where another text has the mark
        return nothing
    if if_refused and takes_overloads(outlines, facts):
        return nothing
    whole = own_libcudacxx(left)
    for name, outline in zip(left, outlines, strict=True):
        if outline is not None and name not in whole:
            left[name], found = apply(name.removeprefix(VIRTUAL_ROOT), outline, find_changes(outline, facts))
            dropped += found
    changed = {name: text for name, text in left.items() if text != texts[name]}
    return Trimmed(changed, tuple(sorted(dropped)), tuple(sorted(unread)))


def _with_conditions(texts: dict[str, str], others: Collection[str]) -> Iterator[Dropped]:
    """Let nvcc's branches of texts hold, but for those of ``others``, and yield what was changed."""
    for name, text in texts.items():
        if name in others:
            continue
        texts[name], held = as_for_nvcc(text)
        yield from (Dropped(name.removeprefix(VIRTUAL_ROOT), line, "condition", macro) for line, macro in held)


def find_macros(
    texts: Collection[str], define: Sequence[tuple[str, str | None]], readings: Readings
) -> Iterator[MacroText]:
    """Yield the macros of texts that NVRTC sees, of options, and of host libraries, as headers of ours define them."""
    found = seen_macros(texts, [name for name, _ in define], readings)
    found += (parse_define(f"{name} {'1' if value is None else value}") for name, value in define)
    own = {macro.name for macro in found}
    yield from found
    yield from (macro for name, macro in library_macros().items() if name not in own)


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
