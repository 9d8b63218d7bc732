"""The report as one HTML page: its charts, and the tables below them."""

from __future__ import annotations

import base64
import json
import re
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from hatch_cuda_kernels import __version__
from hatch_cuda_kernels.report.figures import (
    MEASURES,
    Cell,
    Comparison,
    columns_of,
    compare,
    figures_of,
    percent,
    short,
)
from hatch_cuda_kernels.report.heat import MODULE_ROW, ROW, grid_of, panels_of
from hatch_cuda_kernels.report.package import image_shares
from hatch_cuda_kernels.store import (
    DETAILS_FILE,
    DIGESTS_FILE,
    INDEX_FILE,
    KERNELS_FILE,
    PROMISES_FILE,
    SOURCE_FOLDER,
    STANDARD_FILE,
    STORE_FOLDER,
)
from hatch_cuda_kernels.versions import version_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from hatch_cuda_kernels.report.figures import Change
    from hatch_cuda_kernels.report.heat import Grid, Panel
    from hatch_cuda_kernels.report.package import FileSize, PackageFacts
    from hatch_cuda_kernels.store import Promises


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


def _asset(name: str) -> str:
    return (files(__package__) / "assets" / name).read_text(encoding="utf-8")


def _draw_heat(panel: Panel, grid: Grid) -> str:
    """Return a heat map as SVG, without the rows' names, which the page keeps in view while the picture scrolls."""
    import vl_convert  # starts a JavaScript engine

    columns = [str(column) for column in grid.columns]
    spec = json.loads(_asset("heat.vl.json"))
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
        for box in sorted(
            panel.boxes, key=lambda box: box.flagged
        )  # the edges of flagged boxes are drawn over their neighbours'
    ]
    return _with_title(vl_convert.vegalite_to_svg(spec, allowed_base_urls=[]), f"Heat map: {panel.measure.title}")


def _draw_tree(leaves: Sequence[Leaf], *, width: int, height: int) -> str:
    import vl_convert  # starts a JavaScript engine

    total = sum(leaf.bytes for leaf in leaves)
    spec = json.loads(_asset("tree.vg.json"))
    spec["width"], spec["height"] = width, height
    spec["data"][0]["values"] = _nodes(leaves, total)
    return _with_title(
        vl_convert.vega_to_svg(spec, allowed_base_urls=[]), f"Tree map of {total:,} bytes by module and file"
    )


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
            "about": (
                f"{leaf.group}, {leaf.name}{kinds.get(leaf.sort, '')}: {leaf.bytes:,} bytes, {leaf.bytes / total:.1%}"
            ),
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
    environment.filters["describe"] = describe_change
    # A long name may break after a bracket, not within a word.
    environment.filters["breakable"] = lambda name: Markup(str(escape(name)).replace("&lt;", "&lt;<wbr>"))  # noqa: S704
    package, cells = report.package, report.cells
    grid = grid_of(cells, report.comparison)
    panels = panels_of(cells, grid, report.comparison)
    leaves = leaves_of(package.files, package.contents)
    style, script = _asset("page.css"), _asset("page.js")
    html: str = environment.from_string(_asset("page.html.jinja")).render(
        generator=f"hatch-cuda-kernels {__version__}",
        report=report,
        package=package,
        cells=cells,
        comparison=report.comparison,
        promised=list(_promise_lines(package.promises)),
        images=[image for module in package.contents["modules"].values() for image in module["images"]],
        columns=columns_of(cells),
        measures=MEASURES,
        by_name=_BY_NAME,
        percent=percent,
        nbsp="\N{NO-BREAK SPACE}",
        grid=grid,
        sizes={"row": ROW, "module": MODULE_ROW, "heading": _HEADING},
        panels=[(panel, Markup(_draw_heat(panel, grid))) for panel in panels],  # noqa: S704 - Vega's, escaped by it
        trees={name: Markup(_draw_tree(leaves, width=w, height=h)) for name, (w, h) in _TREE_SIZES.items()},  # noqa: S704
        shown=_most_regressed(report.comparison),
        sorts={sort: text for sort, text in _KINDS.items() if any(leaf.sort == sort for leaf in leaves)},
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


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(sha256(text.encode()).digest()).decode()}"


def describe_change(change: Change) -> str:
    """Return which kernel, module or architecture a change is about, in words."""
    arch = f"{change.arch} {change.kind.upper()}" if change.kind not in {"", "cubin"} else change.arch
    if change.kernel:
        return f"{change.kernel} ({change.module})" + (f", {arch}" if arch else "")
    return ", ".join(part for part in (change.module, arch) if part) or "all files"
