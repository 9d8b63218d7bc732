"""Shades of the heat maps: which value or change gets which, and the legends. Shades are names in page.css."""

from __future__ import annotations

from math import exp, log
from typing import TYPE_CHECKING, Final, NamedTuple

from hatch_cuda_kernels.report.measures import ABOUT_THE_SAME, short

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hatch_cuda_kernels.report.measures import Measure

__all__ = [
    "CHANGE_SWATCHES",
    "NEW",
    "NOT_RECORDED",
    "Swatch",
    "change_shade",
    "legend",
    "shade_of",
    "thresholds",
]

_SHADES: Final = 7
#: Values further apart than this are shaded by their logarithm.
_LOG_FROM: Final = 20


class Swatch(NamedTuple):
    """One line of a legend."""

    shade: str
    text: str


def thresholds(values: Sequence[float]) -> tuple[float, ...]:
    """Return the values at which one shade ends and the next begins, ascending; the first shade is for zero.

    The steps are even, or even factors if the values are far apart.
    """
    positive = [value for value in values if value > 0]
    if not positive:
        return ()
    low, high = min(positive), max(positive)
    count = min(_SHADES - 1, len(set(positive)))
    parts = [step / count for step in range(1, count)]
    if high / low > _LOG_FROM:
        between = [exp(log(low) + part * log(high / low)) for part in parts]
    else:
        between = [low + part * (high - low) for part in parts]
    return low, *between


def shade_of(value: float, steps: Sequence[float]) -> int:
    """Return the shade of a value, 0 for zero; few steps are spread over all shades."""
    passed = sum(value >= step * (1 - 1e-9) for step in steps)
    return round(passed * (_SHADES - 1) / len(steps)) if steps else 0


def legend(measure: Measure, steps: Sequence[float], values: Sequence[float]) -> tuple[Swatch, ...]:
    """Return the range of values of each shade in use."""
    swatches = [Swatch("heat-0", "0")] if 0 in values else []
    for shade in range(1, _SHADES):
        inside = [value for value in values if value > 0 and shade_of(value, steps) == shade]
        if inside:
            ends = short(measure, min(inside)), short(measure, max(inside))
            swatches.append(Swatch(f"heat-{shade}", " to ".join(dict.fromkeys(ends))))
    return tuple(swatches)


NOT_RECORDED: Final = Swatch("none", "\N{EN DASH} not recorded")
NEW: Final = Swatch("new", "new")
CHANGE_SWATCHES: Final = (
    Swatch("better-2", "10 % or more below"),
    Swatch("better-1", "up to 10 % below"),
    Swatch("same", "as before, or within 0.5 %"),
    Swatch("worse-1", "up to 10 % above"),
    Swatch("worse-2", "up to 25 % above"),
    Swatch("worse-3", "more than 25 % above, or from 0"),
    NEW,
)


def change_shade(old: float, new: float) -> str:
    """Return the shade of a change; any increase from zero is the worst."""
    if old == new:
        return "same"
    change = (new - old) / old if old else float("inf")
    if abs(change) < ABOUT_THE_SAME:
        return "same"
    if change < 0:
        return "better-2" if change <= -0.10 else "better-1"
    return "worse-1" if change <= 0.10 else "worse-2" if change <= 0.25 else "worse-3"
