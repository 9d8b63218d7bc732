"""The report as one HTML page: its heat maps, its tree map, and the tables below them."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from hashlib import sha256
from itertools import groupby
from math import exp, log
from typing import Any, Final, NamedTuple

from hatch_cuda_kernels import __version__
from hatch_cuda_kernels.arch import version_text
from hatch_cuda_kernels.compiler.toolchain import PackageRecord
from hatch_cuda_kernels.names import values_text
from hatch_cuda_kernels.report.figures import (
    ABOUT_THE_SAME,
    MEASURES,
    Cell,
    Column,
    Measure,
    asset,
    columns_of,
    figures_of,
    percent,
    short,
)
from hatch_cuda_kernels.report.package import FileSize, PackageFacts, image_shares
from hatch_cuda_kernels.report.verdict import KINDS, Comparison, compare
from hatch_cuda_kernels.store import (
    DETAILS_FILE,
    DIGESTS_FILE,
    INDEX_FILE,
    KERNELS_FILE,
    PROMISES_FILE,
    SOURCE_FOLDER,
    STANDARD_FILE,
    STORE_FOLDER,
    Promises,
)

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


_REGRESSION: Final = _Swatch("flag", "▲ regression")
#: Shade, text and details of a box without a figure.
_NO_FIGURE: Final = ("none", "\N{EN DASH}", "not recorded")
_NO_SECONDS: Final = "No compile times are known: a wheel does not record them. Give --timings FILE."
_NO_CUBINS: Final = "Not recorded: no image here is a CUBIN."


def panels_of(cells: Sequence[Cell], grid: Grid, comparison: Comparison | None = None) -> tuple[Panel, ...]:
    """Return a heat map for each measure, and with an older wheel one more for the change."""
    panels = []
    for measure in MEASURES:
        panels.append(_value_panel(measure, cells, grid, comparison))
        panels += [] if comparison is None else [_change_panel(measure, cells, grid, comparison)]
    return tuple(panels)


def _value_panel(measure: Measure, cells: Sequence[Cell], grid: Grid, comparison: Comparison | None) -> Panel:
    recorded = [value for cell in cells if (value := cell.value(measure.name)) is not None]
    steps, boxes = thresholds(recorded), []
    for cell, top, bottom in _spans(measure, cells, grid):
        value, face = cell.value(measure.name), _NO_FIGURE
        change = None if comparison is None else comparison.of(cell, measure)
        if value is not None:
            before = "" if change is None else f", {_exact_text(measure, change.old)} before"
            exact = f"{_exact_text(measure, value)}{before}"
            face = f"heat-{shade_of(value, steps)}", short(measure, value), exact
        boxes.append(_box(measure, cell, (top, bottom), face, flagged=change is not None and change.regression))
    found = {_subject_of(measure, cell): value for cell in cells if (value := cell.value(measure.name))}
    ordered = sorted(found.items(), key=lambda item: -item[1])
    largest = tuple((what, short(measure, value)) for what, value in ordered[:_LISTED])
    missing = "" if recorded else _NO_SECONDS if measure.name == "seconds" else _NO_CUBINS
    return Panel(measure, "value", tuple(boxes), _swatches(_legend(measure, steps, recorded), boxes), largest, missing)


def _change_panel(measure: Measure, cells: Sequence[Cell], grid: Grid, comparison: Comparison) -> Panel:
    boxes = []
    for cell, top, bottom in _spans(measure, cells, grid):
        before, value, face = comparison.old.get(cell.key), cell.value(measure.name), _NO_FIGURE
        old = None if before is None else before.value(measure.name)
        if before is None:
            face = "new", "new", "new" if value is None else f"new, {_exact_text(measure, value)}"
        elif old is not None and value is not None:
            step = f"0 → {short(measure, value)}" if value and not old else percent(old, value)
            detail = f"{_exact_text(measure, old)} before, {_exact_text(measure, value)} now"
            face = change_shade(old, value), step, detail
        change = comparison.of(cell, measure)
        boxes.append(_box(measure, cell, (top, bottom), face, flagged=change is not None and change.regression))
    changes = {_subject_of(measure, cell): change for cell in cells if (change := comparison.of(cell, measure))}
    risen = [(what, *one[:2]) for what, one in changes.items() if change_shade(*one[:2]).startswith("worse")]
    risen.sort(key=lambda step: step[1] - step[2])
    largest = tuple((what, f"{short(measure, old)} → {short(measure, new)}") for what, old, new in risen[:_LISTED])
    missing = "" if any(box.shade != _NO_FIGURE[0] for box in boxes) else "Not recorded on both sides."
    return Panel(measure, "change", tuple(boxes), _swatches(_CHANGE_SWATCHES, boxes), largest, missing)


def _swatches(scale: tuple[_Swatch, ...], boxes: Sequence[Box]) -> tuple[_Swatch, ...]:
    """Return the legend: the whole scale, and the other shades that are in use."""
    shown = {box.shade for box in boxes}
    swatches = [one for one in (*scale, NOT_RECORDED) if one.shade in shown or one not in {_NEW, NOT_RECORDED}]
    return (*swatches, _REGRESSION) if any(box.flagged for box in boxes) else tuple(swatches)


def _box(measure: Measure, cell: Cell, span: tuple[int, int], face: tuple[str, str, str], *, flagged: bool) -> Box:
    shade, text, detail = face
    what = cell.module if measure.per == "image" else f"{cell.module}: {cell.kernel}"
    about = f"{what}, {cell.column}. {measure.title}: {detail}{', a regression' if flagged else ''}"
    return Box(str(cell.column), *span, shade, f"▲ {text}" if flagged else text, about, flagged)


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


def _subject_of(measure: Measure, cell: Cell) -> str:
    return f"{cell.module if measure.per == 'image' else cell.kernel}, {cell.column}"


#: Kinds of files, and their names in the legend.
_KINDS: Final = {
    "cubin": "CUBIN",
    "ptx": "PTX",
    "ltoir": "LTO-IR",
    "source": "source and headers",
    "index": "index and promises",
    "other": "other files",
}
_OTHER_FILES: Final = "other files"
_WHOLE_STORE: Final = "store"
#: What compiles at run time read, and the names of its boxes.
_SOURCES: Final = {SOURCE_FOLDER: "source", STANDARD_FILE: "standard headers"}


class Leaf(NamedTuple):
    """One box of the tree map."""

    group: str
    """A module, the store as a whole, or all other files."""
    name: str
    sort: str
    """A key of ``KINDS``."""
    bytes: int


def leaves_of(files: Sequence[FileSize], contents: Mapping[str, Any]) -> tuple[Leaf, ...]:
    """Return the boxes, largest first: one for each file, one for all sources, none for empty files.

    A file that packs several images is divided among them (``image_shares``).
    """
    shares = image_shares(files, contents)
    sizes: dict[tuple[str, str, str], int] = {}
    for file in files:
        parts: dict[tuple[str, str, str], int] = {
            (key.module, str(key.arch), key.kind): size for key, size in shares.get(file.path, {}).items()
        }
        for leaf, size in (parts or {_classify(file.path): file.bytes}).items():
            sizes[leaf] = sizes.get(leaf, 0) + size
    leaves = (Leaf(*leaf, size) for leaf, size in sizes.items() if size)
    return tuple(sorted(leaves, key=lambda leaf: (-leaf.bytes, leaf)))


def _classify(path: str) -> tuple[str, str, str]:
    """Return a file's group, name and sort."""
    _, inside, rest = f"/{path}".rpartition(f"/{STORE_FOLDER}/")
    if not inside:
        return _OTHER_FILES, path, "other"
    module, _, name = rest.partition("/")
    if module in _SOURCES:
        return _WHOLE_STORE, _SOURCES[module], "source"
    if not name:
        return _WHOLE_STORE, rest, "index" if rest in {KERNELS_FILE, PROMISES_FILE, DIGESTS_FILE} else "other"
    if name in {INDEX_FILE, DETAILS_FILE}:
        return module, name, "index"
    suffix = name.rpartition(".")[2]
    if suffix not in _KINDS:
        return module, name, "other"
    return module, name.removeprefix(f"{module}.").removesuffix(f".{suffix}"), suffix


#: Pixels above the cells, for the architectures' names.
_HEADING: Final = 46
_COLUMN_WIDTH: Final = 90
_ROOT: Final = re.compile(r'^<svg [^>]*?width="(\d+)" height="(\d+)"[^>]*>')


def _draw_heat(panel: Panel, grid: Grid) -> str:
    """Return a heat map as SVG, without the rows' names, which the page keeps in view while the picture scrolls."""
    import vl_convert  # starts a JavaScript engine

    columns = [str(column) for column in grid.columns]
    spec = json.loads(asset("heat.vl.json"))
    spec["width"] = len(columns) * _COLUMN_WIDTH
    spec["height"] = grid.height
    spec["padding"]["top"] = _HEADING
    spec["encoding"]["x"]["sort"] = spec["encoding"]["x"]["scale"]["domain"] = columns
    spec["encoding"]["y"]["scale"]["domain"] = [grid.height, 0]
    spec["data"]["values"] = [
        {
            "column": box.column,
            "top": box.top,
            "bottom": box.bottom,
            "middle": (box.top + box.bottom) / 2,
            "fill": f"var(--{box.shade})",
            "ink": f"var(--on-{box.shade})",
            "text": box.text,
            "about": box.about,
            "edge": "var(--flag)" if box.flagged else "var(--page)",
            "order": int(box.flagged),
        }
        # The edges of flagged boxes are drawn over their neighbours'.
        for box in sorted(panel.boxes, key=lambda box: box.flagged)
    ]
    return _with_title(vl_convert.vegalite_to_svg(spec, allowed_base_urls=[]), f"Heat map: {panel.measure.title}")


def _draw_tree(leaves: Sequence[Leaf], *, width: int, height: int) -> str:
    import vl_convert  # starts a JavaScript engine

    total = sum(leaf.bytes for leaf in leaves)
    spec = json.loads(asset("tree.vg.json"))
    spec["width"], spec["height"] = width, height
    spec["data"][0]["values"] = _nodes(leaves, total)
    svg = vl_convert.vega_to_svg(spec, allowed_base_urls=[])
    return _with_title(svg, f"Tree map of {total:,} bytes by module and file")


def _nodes(leaves: Sequence[Leaf], total: int) -> list[dict[str, Any]]:
    groups: dict[str, int] = {}
    for leaf in leaves:
        groups[leaf.group] = groups.get(leaf.group, 0) + leaf.bytes
    share = {name: f"{size:,} bytes, {size / total:.1%}" for name, size in groups.items()}
    kinds = {sort: f" ({text})" for sort, text in _KINDS.items() if sort not in {"other", "index"}}
    inner = [{"id": f"/{name}", "up": "all", "name": name, "about": f"{name}: {share[name]}"} for name in groups]
    outer = [
        {
            "id": f"/{leaf.group}/{leaf.name}.{leaf.sort}",
            "up": f"/{leaf.group}",
            "name": leaf.name.rpartition("/")[2],
            "bytes": leaf.bytes,
            "size": f"{leaf.bytes:,}",
            "fill": f"var(--sort-{leaf.sort})",
            "about": f"{leaf.group}, {leaf.name}{kinds.get(leaf.sort, '')}: "
            f"{leaf.bytes:,} bytes, {leaf.bytes / total:.1%}",
        }
        for leaf in leaves
    ]
    return [{"id": "all", "name": "all"}, *inner, *outer]


def _with_title(svg: str, title: str) -> str:
    """Give the picture a role and a name; the style sheet decides its size."""
    width, height = _ROOT.match(svg).groups()  # type: ignore[union-attr]
    root = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'role="graphics-document" aria-label="{title}">'
    )
    return _ROOT.sub(lambda _: root, svg)


#: Width and height of the tree map's two drawings: two, because text must not shrink with the screen.
_TREE_SIZES: Final = {"wide": (1120, 400), "narrow": (340, 560)}
_BY_NAME: Final = {measure.name: measure for measure in MEASURES}


@dataclass(frozen=True)
class Report:
    """Everything a report says, as data; ``old`` is the wheel to compare with."""

    package: PackageFacts
    old: PackageFacts | None = None

    @cached_property
    def cells(self) -> tuple[Cell, ...]:
        """The figures of every kernel in every image."""
        return figures_of(self.package)

    @cached_property
    def comparison(self) -> Comparison | None:
        """What changed; None without an older wheel."""
        return None if self.old is None else compare(self.old, self.package)

    @property
    def toolchain(self) -> dict[str, list[str]]:
        """What compiled the modules: the versions of each part, several if the modules differ."""
        found: dict[str, set[str]] = {}
        for module in self.package.contents["modules"].values():
            for part, version in module["toolchain"].items():
                found.setdefault(part, set()).update({version} - {""})
            for one in map(PackageRecord.from_json, module.get("packages", ())):
                found.setdefault(f"headers of {one.package}", set()).add(f"{one.distribution} {one.version}".strip())
        return {part: sorted(found[part]) for part in sorted(found, reverse=True)}  # NVRTC first

    def to_json(self) -> dict[str, Any]:
        """Return what ``report --json`` prints."""
        package, comparison = self.package, self.comparison
        return {
            "package": package.name,
            "version": package.version,
            "bytes": package.bytes,
            "toolchain": self.toolchain,
            "supports": package.promises.to_json().get("supports"),
            "seconds_from": package.seconds_from,
            "rows": [asdict(cell) for cell in self.cells],
            "files": [{"path": file.path, "bytes": file.bytes} for file in package.files],
            "verdict": None if comparison is None else comparison.verdict,
            "changes": None if comparison is None else [change.to_json() for change in comparison.changes],
            "regressions": None if comparison is None else len(comparison.regressions),
        }


def render_page(report: Report) -> str:
    """Return the HTML. Raises ModuleNotFoundError if the ``report`` extra is not installed."""
    from jinja2 import Environment, StrictUndefined  # in the report extra
    from markupsafe import Markup, escape

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters["short"] = lambda value, name: short(_BY_NAME[name], value)
    # A long name may break after a bracket, not within a word.
    environment.filters["breakable"] = lambda name: Markup(str(escape(name)).replace("&lt;", "&lt;<wbr>"))  # noqa: S704
    package, cells = report.package, report.cells
    families = {name: one for name, one in package.contents["modules"].items() if "family" in one}
    named = {name: f"{one['family']}: {values_text(one['axes'])}" for name, one in families.items()}
    environment.filters["described"] = lambda module: named.get(module, module)
    grid = grid_of(cells, report.comparison)
    panels = panels_of(cells, grid, report.comparison)
    leaves = leaves_of(package.files, package.contents)
    style, script = asset("page.css"), asset("page.js")
    regressions = () if report.comparison is None else report.comparison.regressions
    worse = [change.kind.removesuffix("-rose") for change in regressions]
    ordered = tuple(reversed(_BY_NAME)) if set(worse) & _BY_NAME.keys() else tuple(_BY_NAME)
    html: str = environment.from_string(asset("page.html.jinja")).render(
        generator=f"hatch-cuda-kernels {__version__}",
        report=report,
        package=package,
        cells=cells,
        comparison=report.comparison,
        promised=list(_promise_lines(package.promises)),
        images=[image for module in package.contents["modules"].values() for image in module["images"]],
        columns=columns_of(cells),
        measures=MEASURES,
        kinds=[row for row in KINDS.values() if row.regression],
        by_name=_BY_NAME,
        percent=percent,
        nbsp="\N{NO-BREAK SPACE}",
        grid=grid,
        sizes={"row": ROW, "module": MODULE_ROW, "heading": _HEADING},
        panels=[(panel, Markup(_draw_heat(panel, grid))) for panel in panels],  # noqa: S704 - Vega's, escaped by it
        trees={name: Markup(_draw_tree(leaves, width=w, height=h)) for name, (w, h) in _TREE_SIZES.items()},  # noqa: S704
        shown=max(ordered, key=worse.count),  # first
        sorts={sort: text for sort, text in _KINDS.items() if any(leaf.sort == sort for leaf in leaves)},
        style=Markup(style),  # noqa: S704 - our own file
        script=Markup(script),  # noqa: S704
        script_hash=f"sha256-{base64.b64encode(sha256(script.encode()).digest()).decode()}",
    )
    return html


def _promise_lines(promises: Promises) -> Iterator[str]:
    supports = promises.supports
    if supports is not None:
        yield f"devices {', '.join(map(str, supports.devices))}"
        if supports.driver is not None:
            yield f"driver for CUDA {version_text(supports.driver)} or newer, without JIT"
    if promises.max_wheel_size is not None:
        yield f"wheel of at most {promises.max_wheel_size:,} bytes"
    for module, limit in promises.max_spill_bytes.items():
        yield f"{module}: spills of at most {limit:,} bytes per thread"
