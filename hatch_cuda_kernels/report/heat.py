"""Heat maps: kernels by architectures, with the shade of each cell."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from math import exp, log
from typing import TYPE_CHECKING, Final, NamedTuple

from hatch_cuda_kernels.report.figures import ABOUT_THE_SAME, MEASURES, columns_of, percent, short

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hatch_cuda_kernels.report.figures import Cell, Column, Comparison, Measure


_SHADES: Final = 7
#: Values further apart than this are shaded by their logarithm.
_LOG_FROM: Final = 20


class _Swatch(NamedTuple):
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


def _legend(measure: Measure, steps: Sequence[float], values: Sequence[float]) -> tuple[_Swatch, ...]:
    swatches = [_Swatch("heat-0", "0")] if 0 in values else []
    for shade in range(1, _SHADES):
        inside = [value for value in values if value > 0 and shade_of(value, steps) == shade]
        if inside:
            ends = short(measure, min(inside)), short(measure, max(inside))
            swatches.append(_Swatch(f"heat-{shade}", " to ".join(dict.fromkeys(ends))))
    return tuple(swatches)


NOT_RECORDED: Final = _Swatch("none", "\N{EN DASH} not recorded")
_NEW: Final = _Swatch("new", "new")
_CHANGE_SWATCHES: Final = (
    _Swatch("better-2", "10 % or more below"),
    _Swatch("better-1", "up to 10 % below"),
    _Swatch("same", "as before, or within 0.5 %"),
    _Swatch("worse-1", "up to 10 % above"),
    _Swatch("worse-2", "up to 25 % above"),
    _Swatch("worse-3", "more than 25 % above, or from 0"),
    _NEW,
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


#: Few people read more, and a page must open at once; the table has every row.
ROWS_SHOWN: Final = 150
#: Pixels: a kernel's row, and the line above a module's kernels.
ROW: Final = 36
MODULE_ROW: Final = 30
#: Length of the lists of largest values.
_LISTED: Final = 5


class Label(NamedTuple):
    """A line at the left of the heat maps: that of a module, or of a kernel if ``kernel`` is set."""

    module: str
    kernel: str
    top: int


@dataclass(frozen=True, slots=True)
class Grid:
    """What all heat maps of a page share: rows and columns, and their positions in pixels."""

    columns: tuple[Column, ...]
    labels: tuple[Label, ...]
    height: int
    left_out: int
    """Number of kernels that only the table shows."""

    def rows(self) -> dict[tuple[str, str], int]:
        """Return the top of each kernel's row."""
        return {(label.module, label.kernel): label.top for label in self.labels if label.kernel}


class Box(NamedTuple):
    """One coloured cell; it spans several rows if the figure is that of an image with several kernels."""

    column: str
    top: int
    bottom: int
    shade: str
    text: str
    about: str
    """The text for a tooltip or a screen reader."""
    flagged: bool
    """Whether it is a regression."""


@dataclass(frozen=True, slots=True)
class Panel:
    """One heat map."""

    measure: Measure
    view: str
    """``value``, or ``change`` since the older wheel."""
    boxes: tuple[Box, ...]
    legend: tuple[_Swatch, ...]
    top: tuple[tuple[str, str], ...]
    """The largest values, or increases, each with the name of its kernel or image."""
    missing: str
    """Why there is nothing to show; empty if there is something."""


def grid_of(cells: Sequence[Cell], comparison: Comparison | None = None) -> Grid:
    """Return the grid of these cells. Of too many kernels it keeps those with regressions, then the largest ones."""
    weight: dict[tuple[str, str], tuple[bool, int]] = {}
    for cell in cells:
        flagged, code = weight.get((cell.module, cell.kernel), (False, 0))
        worse = comparison is not None and comparison.regressed(cell)
        weight[cell.module, cell.kernel] = flagged or worse, max(code, cell.code or 0)
    shown = sorted(sorted(weight, key=lambda kernel: weight[kernel], reverse=True)[:ROWS_SHOWN])
    labels, top = [], 0
    for module, kernels in groupby(shown, key=lambda kernel: kernel[0]):
        labels.append(Label(module, "", top))
        top += MODULE_ROW
        for _, kernel in kernels:
            labels.append(Label(module, kernel, top))
            top += ROW
    return Grid(columns_of(cells), tuple(labels), top, len(weight) - len(shown))


def panels_of(cells: Sequence[Cell], grid: Grid, comparison: Comparison | None = None) -> tuple[Panel, ...]:
    """Return a heat map for each measure, and with an older wheel one more for the change."""
    panels = []
    for measure in MEASURES:
        panels.append(_values(measure, cells, grid, comparison))
        if comparison is not None:
            panels.append(_changes(measure, cells, grid, comparison))
    return tuple(panels)


def _values(measure: Measure, cells: Sequence[Cell], grid: Grid, comparison: Comparison | None) -> Panel:
    recorded = [value for cell in cells if (value := cell.value(measure.name)) is not None]
    steps = thresholds(recorded)
    boxes = []
    for cell, top, bottom in _spans(measure, cells, grid):
        value = cell.value(measure.name)
        change = comparison.of(cell, measure) if comparison is not None else None
        face = _NO_FIGURE
        if value is not None:
            was = (
                f", {_exact_text(measure, change.old)} before" if change is not None and change.old is not None else ""
            )
            face = _Face(f"heat-{shade_of(value, steps)}", short(measure, value), f"{_exact_text(measure, value)}{was}")
        boxes.append(_box(measure, cell, (top, bottom), face, flagged=change is not None and change.regression))
    missing = "" if recorded else _missing_reason(measure)
    swatches = _swatches(_legend(measure, steps, recorded), boxes)
    return Panel(measure, "value", tuple(boxes), swatches, _largest_values(measure, cells), missing)


def _missing_reason(measure: Measure) -> str:
    if measure.name == "seconds":
        return "No compile times are known: a wheel does not record them. Give --timings FILE."
    return "Not recorded: no image here is a CUBIN."


def _changes(measure: Measure, cells: Sequence[Cell], grid: Grid, comparison: Comparison) -> Panel:
    boxes = []
    for cell, top, bottom in _spans(measure, cells, grid):
        change = comparison.of(cell, measure)
        face = _change_face(measure, comparison.old.get(cell.key), cell)
        boxes.append(_box(measure, cell, (top, bottom), face, flagged=change is not None and change.regression))
    missing = "" if any(box.shade != _NO_FIGURE.shade for box in boxes) else "Not recorded on both sides."
    swatches = _swatches(_CHANGE_SWATCHES, boxes)
    return Panel(measure, "change", tuple(boxes), swatches, _largest_increases(measure, cells, comparison), missing)


def _swatches(scale: tuple[_Swatch, ...], boxes: Sequence[Box]) -> tuple[_Swatch, ...]:
    """Return the legend: the whole scale, and the other shades that are in use."""
    shown = {box.shade for box in boxes}
    swatches = [
        swatch for swatch in (*scale, NOT_RECORDED) if swatch.shade in shown or swatch not in {_NEW, NOT_RECORDED}
    ]
    return (*swatches, _REGRESSION) if any(box.flagged for box in boxes) else tuple(swatches)


def _change_face(measure: Measure, before: Cell | None, cell: Cell) -> _Face:
    value = cell.value(measure.name)
    if before is None:
        return _Face("new", "new", "new" if value is None else f"new, {_exact_text(measure, value)}")
    old = before.value(measure.name)
    if old is None or value is None:
        return _NO_FIGURE
    step = f"0 → {short(measure, value)}" if value and not old else percent(old, value)
    told = f"{_exact_text(measure, old)} before, {_exact_text(measure, value)} now"
    return _Face(change_shade(old, value), step, told)


class _Face(NamedTuple):
    """How a box looks and what it says."""

    shade: str
    text: str
    told: str


_NO_FIGURE: Final = _Face("none", "\N{EN DASH}", "not recorded")
_REGRESSION: Final = _Swatch("flag", "▲ regression")


def _box(measure: Measure, cell: Cell, span: tuple[int, int], face: _Face, *, flagged: bool) -> Box:
    what = cell.module if measure.per == "image" else f"{cell.module}: {cell.kernel}"
    about = f"{what}, {cell.column}. {measure.title}: {face.told}{', a regression' if flagged else ''}"
    text = f"▲ {face.text}" if flagged else face.text
    return Box(str(cell.column), *span, face.shade, text, about, flagged)


def _spans(measure: Measure, cells: Sequence[Cell], grid: Grid) -> Iterator[tuple[Cell, int, int]]:
    """Yield cells with the top and bottom of their boxes: one box for each image if the figure is the image's."""
    rows = grid.rows()
    shown = [cell for cell in cells if (cell.module, cell.kernel) in rows]
    if measure.per == "kernel":
        for cell in shown:
            top = rows[cell.module, cell.kernel]
            yield cell, top, top + ROW
        return
    images: dict[tuple[str, Column], list[Cell]] = {}
    for cell in shown:
        images.setdefault((cell.module, cell.column), []).append(cell)
    for held in images.values():
        tops = [rows[cell.module, cell.kernel] for cell in held]
        yield held[0], min(tops), max(tops) + ROW


def _exact_text(measure: Measure, value: float) -> str:
    number = f"{value:.3f}" if measure.name == "seconds" else f"{value:,.0f}"
    return f"{number} {measure.unit}"


def _largest_values(measure: Measure, cells: Sequence[Cell]) -> tuple[tuple[str, str], ...]:
    found = {_subject_of(measure, cell): value for cell in cells if (value := cell.value(measure.name))}
    ordered = sorted(found.items(), key=lambda item: -item[1])
    return tuple((what, short(measure, value)) for what, value in ordered[:_LISTED])


def _largest_increases(measure: Measure, cells: Sequence[Cell], comparison: Comparison) -> tuple[tuple[str, str], ...]:
    changes = {_subject_of(measure, cell): change for cell in cells if (change := comparison.of(cell, measure))}
    steps = {what: (change.old or 0, change.new or 0) for what, change in changes.items()}
    risen = [(what, old, new) for what, (old, new) in steps.items() if new > old and change_shade(old, new) != "same"]
    risen.sort(key=lambda step: step[1] - step[2])
    return tuple((what, f"{short(measure, old)} → {short(measure, new)}") for what, old, new in risen[:_LISTED])


def _subject_of(measure: Measure, cell: Cell) -> str:
    return f"{cell.module if measure.per == 'image' else cell.kernel}, {cell.column}"
