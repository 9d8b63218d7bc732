"""Kernels that are named in what macros stand for: a launch that a project's own dispatch macro makes for each type."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hatch_cuda_kernels.host_code.tokens import tokens_of
from hatch_cuda_kernels.port.dispatch import dispatched_types
from hatch_cuda_kernels.port.model import SeenLaunch
from hatch_cuda_kernels.port.scopes import settled
from hatch_cuda_kernels.port.spelled import template_arguments, words
from hatch_cuda_kernels.source.lexer import UnclearTextError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from hatch_cuda_kernels.host_code.items import Outline
    from hatch_cuda_kernels.source.expansion import Macros, MacroUse

__all__ = ["made_by_macros", "with_hidden", "without_directives"]


def without_directives(outline: Outline) -> str:
    """Return a text, with its lines joined, with blanks in place of directives."""
    text, done = outline.source.text, 0
    pieces: list[str] = []
    for line in outline.directives:
        pieces += text[done : line.start], " " * (line.end - line.start)
        done = line.end
    return "".join((*pieces, text[done:]))


def made_by_macros(outline: Outline, macros: Macros, names: Collection[str]) -> Iterator[MacroUse]:
    """Yield the uses of macros, in functions and outside of them, whose meaning has to do with names."""
    text = without_directives(outline)
    naming = macros.naming(names)
    for item in outline.items:
        is_code = item.declaration.kind == "call" or item.declaration.ending == "{}"
        if is_code and not naming.isdisjoint(words(text[item.start : item.end])):
            yield from macros.uses(text, item.start, item.end, naming)


def with_hidden(
    path: str, outline: Outline, launches: list[SeenLaunch], macros: Macros, kernels: Collection[str]
) -> list[SeenLaunch]:
    """Return a text's launches with those that its macros hide, in place of what these are given as arguments.

    ``kernels`` are the names of those that are templates.
    """
    found = [
        (use, launch) for use, before in _uses(outline, macros, kernels) for launch in _named(use, before, kernels)
    ]
    if not found:
        return launches
    spans = {(use.start, use.end, launch.kernel) for use, launch in found}
    kept = [
        one for one in launches if not any(_plain(one) == name and at <= one.place < end for at, end, name in spans)
    ]
    original = outline.source
    made = []
    for use, launch in found:
        line = original.original.count("\n", 0, original.place(use.start)) + 1
        made.append(launch._replace(path=path, line=line, place=use.start))
    return [*kept, *dict.fromkeys(made)]


def _plain(launch: SeenLaunch) -> str:
    return launch.kernel.rpartition("::")[2]


def _uses(outline: Outline, macros: Macros, kernels: Collection[str]) -> Iterator[tuple[MacroUse, str]]:
    """Yield the uses of macros in functions that name kernels, with what of the function is before."""
    text = without_directives(outline)
    naming = macros.naming(kernels)
    for item in outline.items:
        if item.declaration.kind in {"function", "call"} and item.declaration.ending == "{}":
            for use in macros.uses(text, item.start, item.end, naming):
                yield use, text[item.start : use.start]


def _named(use: MacroUse, before: str, kernels: Collection[str]) -> Iterator[SeenLaunch]:
    for found in re.finditer(rf"\b({'|'.join(map(re.escape, kernels))})\s*<(?!<)", use.text) if kernels else ():
        given = template_arguments(use.text, found.end() - 1)
        if given:
            context = before + use.text[: found.start()]
            spelled = settled(context, given)
            yield SeenLaunch("", 0, found[1], spelled, (), (), axes=_axes(context, spelled))


def _axes(before: str, spelled: tuple[str, ...]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    if "DISPATCH" not in before:
        return ()
    try:
        types = dispatched_types(tokens_of(before), before)
    except UnclearTextError:
        return ()
    used = {word for part in spelled for word in words(part)}
    return tuple((name, values) for name, values in types.items() if name in used)
