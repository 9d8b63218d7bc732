"""Draws the charts: Vega, in vl-convert, turns the specifications in ``assets`` into SVG.

Colours are CSS variables, so that one picture works in light mode, in dark mode and on paper, and each mark has an
``aria-label``. The page contains no script of Vega's.
"""

from __future__ import annotations

import json
import re
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

from hatch_cuda_kernels.report.tree import KINDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hatch_cuda_kernels.report.heat import Grid, Panel
    from hatch_cuda_kernels.report.tree import Leaf

__all__ = ["HEADING", "asset", "draw_heat", "draw_tree"]

#: Pixels above the cells, for the architectures' names.
HEADING: Final = 46
_COLUMN_WIDTH: Final = 90
_ROOT: Final = re.compile(r'^<svg [^>]*?width="(\d+)" height="(\d+)"[^>]*>')


def asset(name: str) -> str:
    """Return the text of a file in ``assets``."""
    return (files(__package__) / "assets" / name).read_text(encoding="utf-8")


def draw_heat(panel: Panel, grid: Grid) -> str:
    """Return a heat map as SVG, without the rows' names, which the page keeps in view while the picture scrolls."""
    import vl_convert  # starts a JavaScript engine

    columns = [str(column) for column in grid.columns]
    spec = json.loads(asset("heat.vl.json"))
    spec["width"] = len(columns) * _COLUMN_WIDTH
    spec["height"] = grid.height
    spec["padding"]["top"] = HEADING
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
        for box in sorted(
            panel.boxes, key=lambda box: box.flagged
        )  # the edges of flagged boxes are drawn over their neighbours'
    ]
    return _titled(vl_convert.vegalite_to_svg(spec, allowed_base_urls=[]), f"Heat map: {panel.measure.title}")


def draw_tree(leaves: Sequence[Leaf], *, width: int, height: int) -> str:
    """Return the tree map of a wheel's bytes as SVG."""
    import vl_convert  # starts a JavaScript engine

    total = sum(leaf.bytes for leaf in leaves)
    spec = json.loads(asset("tree.vg.json"))
    spec["width"], spec["height"] = width, height
    spec["data"][0]["values"] = _nodes(leaves, total)
    return _titled(
        vl_convert.vega_to_svg(spec, allowed_base_urls=[]), f"Tree map of {total:,} bytes by module and file"
    )


def _nodes(leaves: Sequence[Leaf], total: int) -> list[dict[str, Any]]:
    groups: dict[str, int] = {}
    for leaf in leaves:
        groups[leaf.group] = groups.get(leaf.group, 0) + leaf.bytes
    share = {name: f"{size:,} bytes, {size / total:.1%}" for name, size in groups.items()}
    inner = [{"id": f"/{name}", "up": "all", "name": name, "about": f"{name}: {share[name]}"} for name in groups]
    outer = [
        {
            "id": f"/{leaf.group}/{leaf.name}.{leaf.sort}",
            "up": f"/{leaf.group}",
            "name": leaf.name.rpartition("/")[2],
            "bytes": leaf.bytes,
            "size": f"{leaf.bytes:,}",
            "fill": f"var(--sort-{leaf.sort})",
            "about": f"{leaf.group}, {leaf.name}{_sort(leaf)}: {leaf.bytes:,} bytes, {leaf.bytes / total:.1%}",
        }
        for leaf in leaves
    ]
    return [{"id": "all", "name": "all"}, *inner, *outer]


def _sort(leaf: Leaf) -> str:
    return "" if leaf.sort in {"other", "index"} else f" ({KINDS[leaf.sort]})"


def _titled(svg: str, title: str) -> str:
    """Give the picture a role and a name; the style sheet decides its size."""
    width, height = _ROOT.match(svg).groups()  # type: ignore[union-attr]
    root = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'role="graphics-document" aria-label="{title}">'
    )
    return _ROOT.sub(lambda _: root, svg)
