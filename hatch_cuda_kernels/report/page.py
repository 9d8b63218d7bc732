"""Assembles the page: template, styles and script from ``assets``, charts from ``charts``. One file, no network."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from hatch_cuda_kernels import __version__
from hatch_cuda_kernels.report import charts, heat, tree
from hatch_cuda_kernels.report.compare import Comparison, compare
from hatch_cuda_kernels.report.figures import Cell, columns_of, figures_of
from hatch_cuda_kernels.report.measures import MEASURES, percent, short
from hatch_cuda_kernels.versions import version_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hatch_cuda_kernels.report.compare import Change
    from hatch_cuda_kernels.report.package import PackageFacts
    from hatch_cuda_kernels.store.promises import Promises

__all__ = ["Report", "describe", "render_page"]

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
            "rows": [cell.to_json() for cell in self.cells],
            "files": [{"path": file.path, "bytes": file.bytes} for file in package.files],
            "changes": None if comparison is None else [change.to_json() for change in comparison.changes],
            "regressions": None if comparison is None else len(comparison.regressions),
        }


def render_page(report: Report) -> str:
    """Return the HTML. Raises ModuleNotFoundError if the ``report`` extra is not installed."""
    from jinja2 import Environment, StrictUndefined  # in the report extra
    from markupsafe import Markup, escape

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters["short"] = lambda value, name: short(_BY_NAME[name], value)
    environment.filters["describe"] = describe
    # A long name may break after a bracket, not within a word.
    environment.filters["breakable"] = lambda name: Markup(str(escape(name)).replace("&lt;", "&lt;<wbr>"))  # noqa: S704
    package, cells = report.package, report.cells
    grid = heat.grid_of(cells, report.comparison)
    panels = heat.panels_of(cells, grid, report.comparison)
    leaves = tree.leaves_of(package.files, package.contents)
    style, script = charts.asset("page.css"), charts.asset("page.js")
    html: str = environment.from_string(charts.asset("page.html.jinja")).render(
        generator=f"hatch-cuda-kernels {__version__}",
        report=report,
        package=package,
        cells=cells,
        comparison=report.comparison,
        promised=list(_promised(package.promises)),
        images=[image for module in package.contents["modules"].values() for image in module["images"]],
        columns=columns_of(cells),
        measures=MEASURES,
        by_name=_BY_NAME,
        percent=percent,
        nbsp="\N{NO-BREAK SPACE}",
        grid=grid,
        sizes={"row": heat.ROW, "module": heat.MODULE_ROW, "heading": charts.HEADING},
        panels=[(panel, Markup(charts.draw_heat(panel, grid))) for panel in panels],  # noqa: S704 - Vega's, escaped by it
        trees={name: Markup(charts.draw_tree(leaves, width=w, height=h)) for name, (w, h) in _TREE_SIZES.items()},  # noqa: S704
        shown=_most_regressed(report.comparison),
        sorts={sort: text for sort, text in tree.KINDS.items() if any(leaf.sort == sort for leaf in leaves)},
        style=Markup(style),  # noqa: S704 - our own file
        script=Markup(script),  # noqa: S704
        script_hash=_hash(script),
    )
    return html


def _most_regressed(comparison: Comparison | None) -> str:
    """Return the measure to show first."""
    found = [change.measure for change in comparison.regressions] if comparison is not None else []
    ordered = tuple(reversed(_BY_NAME)) if set(found) & _BY_NAME.keys() else tuple(_BY_NAME)
    return max(ordered, key=found.count)


def _promised(promises: Promises) -> Iterator[str]:
    """Yield what the manifest promised, in words."""
    supports = promises.supports
    if supports is not None:
        yield f"devices {', '.join(map(str, supports.devices))}"
        if supports.driver is not None:
            yield f"driver for CUDA {version_text(supports.driver)} or newer, without JIT"
    if promises.max_wheel_size is not None:
        yield f"wheel of at most {promises.max_wheel_size:,} bytes"
    for module, limit in promises.max_spill_bytes.items():
        yield f"{module}: spills of at most {limit:,} bytes per thread"


def _hash(text: str) -> str:
    """Return an inline script's name in a Content-Security-Policy."""
    return f"sha256-{base64.b64encode(sha256(text.encode()).digest()).decode()}"


def describe(change: Change) -> str:
    """Return which kernel, module or architecture a change is about, in words."""
    arch = f"{change.arch} {change.kind.upper()}" if change.kind not in {"", "cubin"} else change.arch
    if change.kernel:
        return f"{change.kernel} ({change.module})" + (f", {arch}" if arch else "")
    return ", ".join(part for part in (change.module, arch) if part) or "all files"
