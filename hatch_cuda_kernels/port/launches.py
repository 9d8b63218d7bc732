"""Kernel launches in host code: which kernel, with which template arguments, configuration and arguments."""

from __future__ import annotations

import re
from bisect import bisect_left
from itertools import pairwise, takewhile
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.host_code.tokens import tokens_of
from hatch_cuda_kernels.port.dispatch import cuda_spelling, dispatched_types, is_made_of_types
from hatch_cuda_kernels.port.model import SeenLaunch
from hatch_cuda_kernels.port.scopes import settled
from hatch_cuda_kernels.port.spelled import deduce
from hatch_cuda_kernels.port.template_head import template_parameters
from hatch_cuda_kernels.source.lexer import UnclearTextError, without_comments

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hatch_cuda_kernels.host_code.items import Outline, OutlineItem
    from hatch_cuda_kernels.host_code.tokens import Token
    from hatch_cuda_kernels.port.bindings import Bindings
    from hatch_cuda_kernels.port.model import Template

__all__ = ["find_launches", "resolved"]

_OPENING: Final = {"(": ")", "[": "]", "{": "}"}
_WORD: Final = re.compile(r"[A-Za-z_]\w*")


def find_launches(path: str, outline: Outline) -> list[SeenLaunch]:
    """Return the launches of a text in order; those that cannot be read are left out."""
    text = outline.source.text
    try:
        tokens = tokens_of(text) if "<<<" in text else ()
    except UnclearTextError:
        return []
    ends = [item.end for item in outline.items]
    found = []
    for at in range(1, len(tokens) - 3):
        if text[tokens[at].start : tokens[at].start + 3] != "<<<" or tokens[at - 1].text == "<":
            continue
        launch = _launch(path, text, tokens, at)
        if launch is not None:
            here = bisect_left(ends, tokens[at].start)
            around = next((item for item in outline.items[here:] if item.start <= tokens[at].start), None)
            if launch.template and around is not None:
                launch = launch._replace(template=settled(text[around.start : tokens[at].start], launch.template))
            axes = _axes(launch, text, tokens, at, around)
            line = outline.source.original.count("\n", 0, outline.source.place(tokens[at].start)) + 1
            found.append(launch._replace(line=line, axes=axes, place=tokens[at].start))
    return found


def _launch(path: str, text: str, tokens: Sequence[Token], at: int) -> SeenLaunch | None:
    """Return the launch whose ``<<<`` begins at a token."""
    last = at - 1
    template: tuple[str, ...] | None = None
    if tokens[last].text == ">":
        first = _opening(tokens, last)
        if first is None:
            return None
        template = _parts(text, tokens, first + 1, last)
        last = first - 1
    begin = last
    while begin >= 2 and tokens[begin - 1].text == "::" and _WORD.fullmatch(tokens[begin - 2].text):
        begin -= 2
    close = next((i for i in range(at + 3, len(tokens)) if text[tokens[i].start : tokens[i].start + 3] == ">>>"), None)
    if close is None or not _WORD.fullmatch(tokens[last].text) or tokens[min(close + 3, len(tokens) - 1)].text != "(":
        return None
    end = _closing(tokens, close + 3)
    kernel = "".join(token.text for token in tokens[begin : last + 1])
    configuration = _parts(text, tokens, at + 3, close)
    return SeenLaunch(path, 0, kernel, template, configuration, _parts(text, tokens, close + 4, end))


def _opening(tokens: Sequence[Token], last: int) -> int | None:
    """Return where the ``<`` is that a ``>`` closes."""
    depth = 0
    for at in range(last, -1, -1):
        if tokens[at].text in {";", "{", "}"}:
            return None
        depth += (tokens[at].text == ">") - (tokens[at].text == "<")
        if not depth:
            return at
    return None


def _closing(tokens: Sequence[Token], at: int) -> int:
    depth = 0
    for place in range(at, len(tokens)):
        depth += (tokens[place].text == "(") - (tokens[place].text == ")")
        if not depth:
            return place
    return len(tokens)


def _parts(text: str, tokens: Sequence[Token], begin: int, end: int) -> tuple[str, ...]:
    """Return what commas separate between two tokens, as spelled, with one space where there are some."""
    if begin >= end:
        return ()
    cuts = [tokens[begin - 1].end]
    depth = 0
    for token in tokens[begin:end]:
        depth += (token.text in {*_OPENING, "<"}) - (token.text in {*_OPENING.values(), ">"})
        if token.text == "," and depth <= 0:
            cuts.append(token.end)
    cuts.append(tokens[end].start + 1 if end < len(tokens) else len(text) + 1)
    return tuple(" ".join(without_comments(text[first : last - 1]).split()) for first, last in pairwise(cuts))


def _axes(
    launch: SeenLaunch, text: str, tokens: Sequence[Token], at: int, around: OutlineItem | None
) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return the names among the template arguments that stand for several types."""
    words = dict.fromkeys(word for part in launch.template or () for word in _WORD.findall(part))
    start = around.start if around else 0
    types = dispatched_types([token for token in tokens[:at] if token.start >= start], text)
    found = {name: types[name] for name in words if name in types}
    if around is not None and around.declaration.form == "template":
        own = template_parameters(text[around.start : around.declaration.first])
        found |= {name: () for name in words if name in own and name not in found}
    return tuple(found.items())


def resolved(launch: SeenLaunch, template: Template, bindings: Bindings) -> SeenLaunch:
    """Return the launch of a template with what its template arguments stand for, by the uses of what is around it."""
    spelled = _completed(launch, template, bindings)
    if len(spelled) < template.required:
        return launch
    meanings = bindings.meanings(launch.path, launch.place, spelled)
    launch = launch._replace(meanings=tuple(tuple(map(cuda_spelling, each)) for each in meanings))
    made_of_types = any(map(is_made_of_types, spelled))  # which are others for each
    if launch.axes and all(values for _, values in launch.axes) and (made_of_types or spelled != launch.template):
        launch = launch._replace(axes=())
    return launch


def _completed(launch: SeenLaunch, template: Template, bindings: Bindings) -> tuple[str, ...]:
    """Return a launch's template arguments with those that its arguments imply behind them, as far as these are known.

    A default stands where nothing is implied.
    """
    spelled = launch.template or ()
    if len(spelled) >= len(template.parameters):
        return spelled
    bound = dict(zip(template.parameters, spelled, strict=False))
    for pattern, argument in zip(template.types, launch.arguments, strict=False):
        given = bindings.type_of(argument, launch.path, launch.place)
        for name, meaning in (deduce(pattern, given, template.parameters) if given else {}).items():
            bound.setdefault(name, meaning)
    return tuple(bound[name] for name in takewhile(bound.__contains__, template.parameters))
