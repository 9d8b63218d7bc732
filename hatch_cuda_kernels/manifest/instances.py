"""Instances of templates: patterns with ``{NAME}`` placeholders, filled in from a module's matrix."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.manifest.kinds import IDENTIFIER, Item
from hatch_cuda_kernels.manifest.model import Named, Pattern
from hatch_cuda_kernels.manifest.spot import suggest
from hatch_cuda_kernels.manifest.yaml_tree import shorten
from hatch_cuda_kernels.patterns import expand, placeholders

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = ["MOST_INSTANCES", "expand_instances", "too_many"]

#: Of all modules together: far beyond what NVRTC compiles in a day, and few enough to list.
MOST_INSTANCES: Final = 100_000


def expand_instances(
    instances: Sequence[Item], matrix: Mapping[str, Item], kernels: Sequence[Item], *, counted_only: bool = False
) -> tuple[tuple[Named, ...], tuple[Pattern, ...]]:
    """Return a module's name expressions and its patterns, in the order written; the first axis varies slowest.

    Notes unknown placeholders, unused axes and duplicate names as problems. With ``counted_only``, where there are too
    many, nothing is expanded.
    """
    patterns = [(item, _pattern(item, matrix)) for item in instances if _placeholders_known(item, matrix)]
    _report_unused(instances, matrix)
    seen = {kernel.value: kernel.spot.path for kernel in kernels}
    expanded: list[Named] = []
    for item, pattern in () if counted_only else patterns:
        expanded += _expand(item, pattern, seen)
    return tuple(expanded), tuple(pattern for _, pattern in patterns if pattern.matrix)


def too_many(modules: Iterable[tuple[Sequence[Item], Mapping[str, Item]]]) -> bool:
    """Return whether modules, each with its instances and matrix, have too many instances together.

    Then that is noted as a problem of the instances that exceed the limit. Nothing is expanded.
    """
    count = 0
    for instances, matrix in modules:
        for item in instances:
            axes = (matrix[name].value for name in placeholders(item.value) if name in matrix)
            count += math.prod(len(values or ()) for values in axes)
            if count > MOST_INSTANCES:
                advice = "shorten a matrix, or split the modules between packages"
                item.spot.report(f"with these, the manifest has more than {MOST_INSTANCES} instances; {advice}")
                return True
    return False


def _placeholders_known(item: Item, matrix: Mapping[str, Item]) -> bool:
    """Return whether a pattern can be expanded: each placeholder is an axis, and no axis was refused."""
    names = placeholders(item.value)
    for name in names:
        if name not in matrix:
            item.spot.report(f"unknown placeholder {{{name}}}{suggest(name, matrix, '; add it to the matrix')}")
    return all(name in matrix and matrix[name].value for name in names)


def _pattern(item: Item, matrix: Mapping[str, Item]) -> Pattern:
    used = set(placeholders(item.value))
    return Pattern(text=item.value, matrix=tuple((name, axis.value) for name, axis in matrix.items() if name in used))


def _report_unused(instances: Sequence[Item], matrix: Mapping[str, Item]) -> None:
    used = {name for item in instances for name in placeholders(item.value)}
    for name, axis in matrix.items():
        if name not in used and IDENTIFIER.fullmatch(name):
            axis.spot.report(f"no instance uses {{{name}}}; remove it or write an instance with it")


def _expand(item: Item, pattern: Pattern, seen: dict[str, str]) -> list[Named]:
    """Return a pattern's names. Only the first duplicate is reported: the others tend to have the same cause."""
    texts = list(expand(pattern.text, dict(pattern.matrix)))
    repeated = None
    for text in texts:
        repeated = repeated or (text if text in seen else None)
        seen.setdefault(text, item.spot.path)
    if repeated is not None:
        item.spot.report(f"{shorten(repeated)} is listed twice (first by {seen[repeated]})")
    where = item.spot.where
    return [Named(text=text, where=where) for text in texts]
