"""The figures of a package by kernel and architecture, and which increase of one is a regression."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from hatch_cuda_kernels.arch import SmArch
from hatch_cuda_kernels.names import listed_module
from hatch_cuda_kernels.report.package import PackageFacts, image_id

_KIB: Final = 1024
#: Relative; below it a change is noise.
ABOUT_THE_SAME: Final = 0.005


@dataclass(frozen=True, slots=True)
class _Limit:
    """Which increase is a regression: at least ``absolute``, and more than ``relative`` of the old value."""

    absolute: int
    relative: float = 0.0

    def passed(self, old: float, new: float) -> bool:
        """Return whether the step from old to new is a regression."""
        return new - old >= self.absolute and new - old > self.relative * old


@dataclass(frozen=True, slots=True)
class Measure:
    """One figure of a kernel on an architecture, or of the image that holds it."""

    name: str
    title: str
    unit: str
    per: Literal["kernel", "image"]
    about: str
    limit: _Limit | None = None
    """None if no increase is a regression."""
    rule: str = ""


def asset(name: str) -> str:
    """Return the text of a file of the page."""
    return (files(__package__) / "assets" / name).read_text(encoding="utf-8")


MEASURES: Final = tuple(
    Measure(**facts | {"limit": _Limit(**facts["limit"]) if "limit" in facts else None})
    for facts in tomllib.loads(asset("measures.toml"))["measure"]
)


def short(measure: Measure, value: float) -> str:
    """Return a value as short as a chart's cell needs it."""
    if measure.name == "seconds":
        return f"{value * 1000:.0f} ms" if value < 1 else f"{value:.1f} s"
    if not measure.unit.startswith("bytes") or value < _KIB:
        return f"{value:,.0f}"
    value, unit = (value / _KIB, "KiB") if value < _KIB**2 else (value / _KIB**2, "MiB")
    return f"{value:.1f} {unit}" if value < 100 else f"{value:,.0f} {unit}"


def percent(old: float, new: float) -> str:
    """Return a relative change, such as ``+12 %``; a change below half a percent is shown as about the same."""
    if old == 0:
        return "was 0" if new else "="
    change = (new - old) / old
    if abs(change) < ABOUT_THE_SAME:
        return "=" if old == new else "≈"
    return f"{change:+.0%}".replace("%", " %").replace("-", "\N{MINUS SIGN}")


_KINDS: Final = ("cubin", "ptx", "ltoir")


class Column(NamedTuple):
    """An architecture and the kind of its image."""

    arch: str
    kind: str

    def order(self) -> tuple[int, SmArch]:
        """Return the sort key: CUBINs first, then PTX and LTO-IR, each by ascending architecture."""
        return _KINDS.index(self.kind), SmArch.parse(self.arch)

    def __str__(self) -> str:
        return self.arch if self.kind == "cubin" else f"{self.arch} {self.kind.upper()}"


#: What identifies a kernel on an architecture: module, kernel, architecture, kind.
CellKey: TypeAlias = tuple[str, str, str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One kernel in one image. A figure that is not recorded is None."""

    module: str
    kernel: str
    arch: str
    kind: str
    bytes: int
    """Of the whole image."""
    packed: int | None
    """How many bytes of the wheel, or on disk, the image takes."""
    code: int | None
    seconds: float | None
    registers: int | None
    shared: int | None
    stack: int | None
    spills: int | None
    """Bytes of spill stores and loads together."""

    @property
    def key(self) -> CellKey:
        """What identifies the cell, in whichever chunk of its module the kernel is."""
        return listed_module(self.module), self.kernel, self.arch, self.kind

    @property
    def column(self) -> Column:
        """The column that the cell is in."""
        return Column(self.arch, self.kind)

    def value(self, measure: str) -> float | None:
        """Return one of the figures by its name."""
        found: float | None = getattr(self, measure)
        return found


def figures_of(package: PackageFacts) -> tuple[Cell, ...]:
    """Return a cell for each kernel in each image that has it, sorted by module, kernel and column."""
    cells = [
        cell
        for name, module in package.contents["modules"].items()
        for image in module["images"]
        for cell in _cells(package, name, module["kernels"], image)
    ]
    return tuple(sorted(cells, key=lambda cell: (cell.module, cell.kernel, cell.column.order())))


def _cells(package: PackageFacts, module: str, kernels: dict[str, Any], image: dict[str, Any]) -> Iterator[Cell]:
    key = image_id(module, image)
    code = package.code.get(key, {})
    for kernel, symbol in kernels.items():
        lowered = symbol["lowered"]
        if lowered in image.get("lacks", ()):
            continue
        used = image.get("resources", {}).get(lowered, {})
        spills = used.get("spill_stores"), used.get("spill_loads")
        yield Cell(
            module=module,
            kernel=kernel,
            arch=str(key.arch),
            kind=key.kind,
            bytes=image["bytes"],
            packed=image.get("packed"),
            code=code.get(lowered),
            seconds=package.seconds.get(key),
            registers=used.get("registers"),
            shared=used.get("shared"),
            stack=used.get("stack"),
            spills=None if None in spills else sum(spills),
        )


def columns_of(cells: Sequence[Cell]) -> tuple[Column, ...]:
    """Return every column that has a cell, once, in order."""
    return tuple(sorted({cell.column for cell in cells}, key=Column.order))


#: The whole wheel, or folder.
WHEEL_LIMIT: Final = _Limit(1024, 0.10)


class Step(NamedTuple):
    """How one figure changed."""

    old: float
    new: float
    regression: bool


def step_of(before: Cell | None, cell: Cell, measure: Measure) -> Step | None:
    """Return how a cell's figure changed; None if it is new, not recorded on both sides, or the same."""
    if before is None or (measure.per == "image" and before.module != cell.module):  # another chunk
        return None
    old, new = before.value(measure.name), cell.value(measure.name)
    if old is None or new is None or old == new:
        return None
    return Step(old, new, measure.limit is not None and measure.limit.passed(old, new))
