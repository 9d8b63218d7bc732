"""What is left out of a closure's texts for NVRTC: what nvcc compiles for the host."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hatch_cuda_kernels.host_code.conditions import as_for_nvcc
from hatch_cuda_kernels.host_code.drop import apply, find_changes
from hatch_cuda_kernels.host_code.host_libraries import drop_includes, host_libraries
from hatch_cuda_kernels.host_code.marks import gather_facts
from hatch_cuda_kernels.host_code.own_cccl import own_cccl, own_libcudacxx
from hatch_cuda_kernels.host_code.pragmas import spell_pragmas
from hatch_cuda_kernels.host_code.refused import is_refused, read_suspects, takes_overloads
from hatch_cuda_kernels.host_code.seen_macros import seen_macros
from hatch_cuda_kernels.names import VIRTUAL_ROOT
from hatch_cuda_kernels.source.dropped import Dropped
from hatch_cuda_kernels.source.library_names import library_macros
from hatch_cuda_kernels.source.macros import parse_define

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from hatch_cuda_kernels.host_code.glance import Glance
    from hatch_cuda_kernels.source.macros import MacroText
    from hatch_cuda_kernels.source.readings import Readings

__all__ = ["Trimmed", "find_macros", "trim"]


class Trimmed(NamedTuple):
    """The texts that change, and what is left out of them."""

    texts: Mapping[str, str]
    dropped: tuple[Dropped, ...]
    unread: tuple[str, ...]
    """The names of texts that nothing reads any more."""


def trim(
    texts: Mapping[str, str],
    start: Sequence[str],
    define: Sequence[tuple[str, str | None]],
    readings: Readings,
    host_only: Sequence[str],
    looked: Mapping[str, Glance] | None,
) -> Trimmed | None:
    """Return what is to be left out of texts, of which those of the names ``start`` are read first.

    With what was ``looked`` at in them, that is nothing unless NVRTC certainly refuses them for their host code, and no
    call can mean another function without that.
    """
    macros = [*find_macros(texts.values(), define, readings)]
    if_refused = looked is not None
    suspects = [] if looked is None else read_suspects(texts, start, looked, macros, readings)
    if if_refused and not suspects:
        return None
    unread = host_libraries(texts).difference(start)
    left = {name: text for name, text in texts.items() if name not in unread}
    dropped = [*_with_conditions(left, own_cccl(left)), *spell_pragmas(left), *drop_includes(left, unread)]
    facts, outlines = gather_facts(macros, left, readings)
    facts.host_only.update(host_only)
    if if_refused and not is_refused(suspects, facts):  # where another text has the mark
        return None
    if if_refused and takes_overloads(outlines, facts):
        return None
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
