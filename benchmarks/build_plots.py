"""The pictures of a run of build.py."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Any, Final

import matplotlib as mpl

mpl.use("agg")

import matplotlib.pyplot as plt
from build_contenders import FLOOR, NVCC_PARALLEL, NVCC_THREADS
from build_report import busy, middle
from matplotlib.ticker import LogLocator

if TYPE_CHECKING:
    from pathlib import Path

_OURS: Final = "#2a6f97"
_THEIRS: Final = "#b0b0b0"
_BOUND: Final = "#d08c00"
_SHORT: Final = {
    NVCC_THREADS: "nvcc --threads",
    NVCC_PARALLEL: "nvcc, one a core",
    FLOOR: "NVRTC CPU / cores",
    "nvcc -Xfatbin=-compress-all": "nvcc -compress-all",
}


def draw(results: dict[str, Any], folder: Path) -> None:
    """Write build-time.png, wheel-size.png and scaling.png."""
    folder.mkdir(parents=True, exist_ok=True)
    plt.rcParams |= {"font.size": 10, "axes.spines.top": False, "axes.spines.right": False}
    _bars(_build_times(results), "seconds of wall time", folder / "build-time.png", results)
    _bars(_wheel_sizes(results), "kilobytes of the wheel", folder / "wheel-size.png", results)
    if results.get("scaling"):
        _scaling(results, folder / "scaling.png")


def _build_times(results: dict[str, Any]) -> dict[str, dict[str, float]]:
    cores = results["machine"]["cores"]
    times = {}
    for matrix, contenders in results["matrices"].items():
        walls = {name: middle(runs, "wall") or 0.0 for name, runs in contenders.items()}
        walls[FLOOR] = (middle(contenders[FLOOR], "compiling") or 0.0) / cores
        times[matrix] = walls
    return times


def _wheel_sizes(results: dict[str, Any]) -> dict[str, dict[str, float]]:
    return {
        matrix: {name: size["wheel"] / 1000 for name, size in made.items()}
        for matrix, made in results["wheels"].items()
    }


def _bars(groups: dict[str, dict[str, float]], label: str, path: Path, results: dict[str, Any]) -> None:
    """Draw one panel a matrix, each with a scale of its own: they differ by two orders of magnitude."""
    rows = max(map(len, groups.values()))
    figure, panels = plt.subplots(1, len(groups), figsize=(4.6 * len(groups), 0.45 * rows + 1.2), squeeze=False)
    for panel, (matrix, values) in zip(panels[0], groups.items(), strict=True):
        names = [_SHORT.get(name, name) for name in values]
        colors = [_OURS if name.startswith("ours") else _BOUND if name == FLOOR else _THEIRS for name in values]
        bars = panel.barh(names, list(values.values()), color=colors)
        panel.bar_label(bars, fmt=lambda value: f"{value:,.0f}" if value >= 100 else f"{value:.3g}", padding=3)
        panel.margins(x=0.18)
        panel.invert_yaxis()
        panel.set_title(matrix, loc="left")
        panel.set_xlabel(label)
    _finish(figure, path, results)


def _scaling(results: dict[str, Any], path: Path) -> None:
    """Draw what the model says of a large build by cores, for one host and more, and how it met the builds it saw."""
    scaling = results["scaling"]
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4))
    styles = ["-", "--", ":"]
    likes = list(dict.fromkeys(row["like"] for row in scaling["predictions"]))
    for number, row in enumerate(scaling["predictions"]):
        points = sorted(
            (int(hosts) * int(cores), seconds)
            for key, seconds in row["seconds"].items()
            for hosts, cores in [key.split("x")]
        )
        fastest: dict[int, float] = {}
        for cores, seconds in points:  # the same number of cores in one host or several
            fastest[cores] = min(seconds, fastest.get(cores, seconds))
        style = styles[likes.index(row["like"]) % len(styles)]
        label = f"like {row['like']}, {row['front_end']}"
        left.plot(list(fastest), list(fastest.values()), style, marker="o", color=f"C{number}", label=label)
    left.set(xscale="log", yscale="log", xlabel="cores of all hosts", ylabel="seconds", title="1,000 sources x 8")
    left.legend(fontsize=8)
    _plain(left)
    measured = [check["measured"] for check in scaling["checks"]]
    predicted = [check["predicted"] for check in scaling["checks"]]
    ends = [0.8 * min(measured + predicted), 1.25 * max(measured + predicted)]
    right.plot(ends, ends, color=_THEIRS)
    for workers in dict.fromkeys(check["workers"] for check in scaling["checks"]):
        chosen = [check for check in scaling["checks"] if check["workers"] == workers]
        xs, ys = [check["measured"] for check in chosen], [check["predicted"] for check in chosen]
        right.plot(xs, ys, "o", label=f"{workers} workers")
    right.set(xscale="log", yscale="log", xlabel="measured, s", ylabel="model, s", title="the model, checked")
    right.legend(fontsize=8)
    _plain(right)
    _finish(figure, path, results)


def _plain(panel: Any) -> None:
    """Label powers of ten and a few steps between them as numbers are written."""
    for axis in (panel.xaxis, panel.yaxis):
        axis.set_major_locator(LogLocator(subs=(1.0, 3.0)))
        axis.set_major_formatter("{x:g}")
        axis.set_minor_formatter("")


def _finish(figure: Any, path: Path, results: dict[str, Any]) -> None:
    machine = results["machine"]
    rounds = median(len(runs) for contenders in results["matrices"].values() for runs in contenders.values())
    text = f"{machine['cpu']}, {machine['cores']} cores, CUDA 13.0, {machine['date']}, medians of {rounds:.0f}"
    text += "; other work ran beside it" if busy(machine) else ""
    figure.text(0.01, 0.005, text, fontsize=8, color="#606060")
    figure.tight_layout(rect=(0, 0.03, 1, 1))
    figure.savefig(path, dpi=110, metadata={"Software": None})
    plt.close(figure)
