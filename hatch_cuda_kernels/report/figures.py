"""The figures of every kernel on every architecture, taken from what ``inspect --json`` prints."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from hatch_cuda_kernels.arch import SmArch
from hatch_cuda_kernels.report.sizes import image_id

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hatch_cuda_kernels.report.package import PackageFacts

__all__ = ["Cell", "CellKey", "Column", "columns_of", "figures_of"]

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


class CellKey(NamedTuple):
    """What identifies a kernel on an architecture."""

    module: str
    kernel: str
    arch: str
    kind: str


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
        """What identifies the cell."""
        return CellKey(self.module, self.kernel, self.arch, self.kind)

    @property
    def column(self) -> Column:
        """The column that the cell is in."""
        return Column(self.arch, self.kind)

    def value(self, measure: str) -> float | None:
        """Return one of the figures by its name."""
        found: float | None = getattr(self, measure)
        return found

    def to_json(self) -> dict[str, Any]:
        """Return the figures by name."""
        return asdict(self)


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
