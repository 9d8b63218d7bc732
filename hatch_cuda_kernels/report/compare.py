"""What changed from an older wheel to this one, and which changes are regressions."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from hatch_cuda_kernels.report.figures import CellKey, Column, columns_of, figures_of
from hatch_cuda_kernels.report.measures import MEASURES, Limit, Measure

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hatch_cuda_kernels.report.figures import Cell
    from hatch_cuda_kernels.report.package import PackageFacts

__all__ = ["Change", "Comparison", "compare"]

#: The whole wheel, or folder.
_WHEEL_LIMIT: Final = Limit(1024, 0.10)
#: Compile times are left out: they vary from run to run, whatever is in the wheel.
_LISTED: Final = tuple(measure for measure in MEASURES if measure.limit is not None)
#: The order of changes: added and removed, the total, then from a kernel's spills to its image's size.
_RANK: Final = ("", "total", *(measure.name for measure in reversed(_LISTED)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One difference. A text is empty if the difference concerns several modules, kernels or architectures."""

    state: Literal["added", "removed", "changed"]
    module: str = ""
    kernel: str = ""
    arch: str = ""
    kind: str = ""
    measure: str = ""
    """The figure that changed; ``total`` is the whole wheel's bytes. Empty for what was added or removed."""
    old: float | None = None
    new: float | None = None
    regression: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return the change by field name."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Every difference between two wheels."""

    changes: tuple[Change, ...]
    """Regressions first, then by figure."""
    old: dict[CellKey, Cell]
    """The older figures."""

    @property
    def regressions(self) -> tuple[Change, ...]:
        """The changes for the worse."""
        return tuple(change for change in self.changes if change.regression)

    def of(self, cell: Cell, measure: Measure) -> Change | None:
        """Return how a cell's figure changed; None if it is new, not recorded on both sides, or the same."""
        before = self.old.get(cell.key)
        return None if before is None else _changed(before, cell, measure)

    def regressed(self, cell: Cell) -> bool:
        """Return whether any figure of a cell is a regression."""
        found = (self.of(cell, measure) for measure in MEASURES)
        return any(change.regression for change in found if change is not None)


def compare(old: PackageFacts, new: PackageFacts) -> Comparison:
    """Return what changed from ``old`` to ``new``."""
    before, after = figures_of(old), figures_of(new)
    known = {cell.key: cell for cell in before}
    changes = [
        *_total(old, new),
        *_columns(columns_of(before), columns_of(after)),
        *_kernels(before, after),
        *_images(before, after),
        *_figures(known, after),
    ]
    ranked = sorted(changes, key=lambda change: (not change.regression, _RANK.index(change.measure)))
    return Comparison(tuple(ranked), known)


def _total(old: PackageFacts, new: PackageFacts) -> Iterator[Change]:
    if old.bytes != new.bytes:
        worse = _WHEEL_LIMIT.passed(old.bytes, new.bytes)
        yield Change(state="changed", measure="total", old=old.bytes, new=new.bytes, regression=worse)


def _columns(before: Sequence[Column], after: Sequence[Column]) -> Iterator[Change]:
    for column in before:
        if column not in after:
            yield Change(state="removed", arch=column.arch, kind=column.kind, regression=True)
    for column in after:
        if column not in before:
            yield Change(state="added", arch=column.arch, kind=column.kind)


def _kernels(before: Sequence[Cell], after: Sequence[Cell]) -> Iterator[Change]:
    old, new = (dict.fromkeys((cell.module, cell.kernel) for cell in cells) for cells in (before, after))
    for module, kernel in old:
        if (module, kernel) not in new:
            yield Change(state="removed", module=module, kernel=kernel, regression=True)
    for module, kernel in new:
        if (module, kernel) not in old:
            yield Change(state="added", module=module, kernel=kernel)


def _images(before: Sequence[Cell], after: Sequence[Cell]) -> Iterator[Change]:
    """Yield kernels added to or removed from an architecture, when both wheels have the kernel and the architecture."""
    old, new = ({cell.key for cell in cells} for cells in (before, after))
    for here, there, state in ((before, new, "removed"), (after, old, "added")):
        kernels = {key[:2] for key in there}
        columns = {key[2:] for key in there}
        for cell in here:
            if cell.key not in there and cell.key[:2] in kernels and cell.key[2:] in columns:
                yield Change(state=state, **cell.key._asdict(), regression=state == "removed")  # type: ignore[arg-type]


def _figures(known: dict[CellKey, Cell], after: Sequence[Cell]) -> Iterator[Change]:
    told: set[Change] = set()
    for cell in after:
        if cell.key not in known:
            continue
        for measure in _LISTED:
            change = _changed(known[cell.key], cell, measure)
            if change is not None and change not in told:  # the figure of an image is in the cells of all its kernels
                told.add(change)
                yield change


def _changed(before: Cell, cell: Cell, measure: Measure) -> Change | None:
    old, new = before.value(measure.name), cell.value(measure.name)
    if old is None or new is None or old == new:
        return None
    return Change(
        state="changed",
        module=cell.module,
        kernel=cell.kernel if measure.per == "kernel" else "",
        arch=cell.arch,
        kind=cell.kind,
        measure=measure.name,
        old=old,
        new=new,
        regression=measure.limit is not None and measure.limit.passed(old, new),
    )
