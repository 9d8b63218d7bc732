"""What a build made, and how it is shown: one line for each image, and the totals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hatch_cuda_kernels.table import counted, fitted, text_table

if TYPE_CHECKING:
    from hatch_cuda_kernels.cache import Entry
    from hatch_cuda_kernels.store.module import BuiltModule

__all__ = ["BuildReport", "render_report"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildReport:
    """What a build made: every module with its images, which of them were compiled now, and how long it took."""

    modules: tuple[BuiltModule, ...]
    compiled: frozenset[str]
    """Keys compiled in this build; the rest came from the disk cache."""
    warnings: tuple[str, ...]
    seconds: float

    def __str__(self) -> str:
        return "\n".join((*self.warnings, render_report(self)))


def render_report(report: BuildReport) -> str:
    """Return the table of a build as text: one line for each image, and the totals."""
    entries = [entry for built in report.modules for entry in built.entries]
    headings = ("module", "arch", "kind", "bytes", "registers", "spills", "ms")
    rows = [(*_describe(entry), _took(entry, report)) for entry in entries]
    cached = sum(entry.key not in report.compiled for entry in entries)
    total = sum(len(entry.image) for entry in entries)
    summary = (
        f"{counted(len(entries), 'image')} of {counted(len(report.modules), 'module')}, {total:,} bytes: "
        f"{len(entries) - cached} compiled, {cached} from the cache, in {report.seconds:.2f} s"
    )
    cut = dict.fromkeys(filter(None, (built.recipe.cut_sentence(built.sources) for built in report.modules)))
    return "\n".join((text_table(headings, rows, right=headings[3:]), *(fitted(line, 2) for line in cut), summary))


def _describe(entry: Entry) -> tuple[str, ...]:
    registers = spills = ""
    if entry.kind == "cubin":
        found = entry.resources.values()
        registers = str(max((kernel.get("registers", 0) for kernel in found), default=""))
        spills = str(
            max((kernel.get("spill_stores", 0) + kernel.get("spill_loads", 0) for kernel in found), default="")
        )
    return entry.module, str(entry.arch), entry.kind, f"{len(entry.image):,}", registers, spills


def _took(entry: Entry, report: BuildReport) -> str:
    return f"{entry.seconds * 1000:.0f}" if entry.key in report.compiled else "cached"
