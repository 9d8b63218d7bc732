"""What a run of build.py says: Markdown tables of its numbers, and of the aims with what was reached."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple

from build_contenders import FLOOR, NVCC_PARALLEL, NVCC_THREADS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Results = dict[str, Any]
_OURS = "ours, per-arch"
_PACKED = "nvcc -Xfatbin=-compress-all"


class Aim(NamedTuple):
    """One figure to reach: a ratio or seconds, and what was measured."""

    figure: str
    bound: str
    measured: float
    unit: str
    reached: bool
    more: str = ""
    timed: bool = True


def render(results: Results, name: str) -> str:
    """Return the whole record."""
    parts = [f"# Builds, {name}\n", about(results)]
    for matrix, contenders in results["matrices"].items():
        parts += [f"## {matrix}: time and memory\n", _times(contenders, results["start_up"])]
    parts += ["## Bytes\n", sizes(results)]
    parts += ["## Aims\n", aims_table(results)]
    if results.get("scaling"):
        parts += ["## Scaling\n", _costs(results), checks(results), predictions(results)]
    return "\n".join(parts)


def about(results: Results) -> str:
    """Return the machine in words."""
    machine = results["machine"]
    rounds = max(len(runs) for contenders in results["matrices"].values() for runs in contenders.values())
    after = f"{machine['load_after']:.1f}" if "load_after" in machine else "not taken: the run was cut off"
    return (
        f"{machine['cpu']}, {machine['cores']} cores, {machine['memory_gb']} GB, {machine['file_system']}. "
        f"{machine['date']}, Python {machine['python']}, {machine['nvcc']}, {machine['packages']}.\n\n"
        f"Medians of {rounds} round{'s' * (rounds > 1)}, in each of which everything ran once, in turn. Load average "
        f"before {machine['load']:.1f}, after {after}"
        + (": **other work ran beside it; read CPU time and ratios, not wall time.**\n" if busy(machine) else ".\n")
    )


def busy(machine: dict[str, Any]) -> bool:
    """Return whether the machine had other work: before the run, or more than the run itself gives it."""
    return machine["load"] > 0.5 or machine.get("load_after", 0.0) > machine["cores"] + 1.0


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def middle(runs: list[dict[str, Any]], field: str) -> float | None:
    """Return the median of a field, or None where no run has it."""
    values = [run[field] for run in runs if field in run]
    return median(values) if values else None


def _times(contenders: dict[str, list[dict[str, Any]]], start_up: list[float]) -> str:
    floor = middle(contenders.get(FLOOR, []), "compiling")
    rows = []
    for name, runs in contenders.items():
        wall, cpu, peak = (middle(runs, field) or 0.0 for field in ("wall", "cpu", "peak"))
        unchanged = median(wall for run in runs for wall in run["unchanged"]) if "unchanged" in runs[0] else None
        besides = None if unchanged is None else unchanged - median(start_up)
        times = [f"{wall:.1f}", f"{cpu:.1f}", _seconds(floor and cpu / floor, 2), f"{peak / 1e6:.0f}"]
        rows.append([name, *times, _seconds(besides, 2), _seconds(middle(runs, "changed"), 1)])
    text = table(["", "wall, s", "CPU, s", "CPU / compiling", "peak, MB", "rebuild, s", "one header changed, s"], rows)
    images = next(runs[0] for name, runs in contenders.items() if name.startswith("ours"))
    alone = "" if floor is None else f"Compiling alone took {floor:.1f} s of CPU in one NVRTC thread. "
    return (
        f"{text}\n{images['images']} images. {alone}"
        "CPU: user and system time of all processes. Peak: resident sets of all processes together, looked at every "
        "50 ms; pages that processes share count in each. Rebuild: "
        f"nothing changed, less an interpreter's start ({median(start_up):.3f} s). One header changed: "
        f"{images['changed_images']} images compiled again; for nvcc the calls that a build system would repeat.\n"
    )


def _seconds(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def sizes(results: Results) -> str:
    """Return the bytes of images and wheels; ratios are to the wheel of nvcc's compressed fatbins."""
    rows = []
    for matrix, made in results["wheels"].items():
        base = made[_PACKED]["wheel"] if _PACKED in made else None
        for name, size in made.items():
            ratio = _seconds(base and size["wheel"] / base, 3)
            rows.append([matrix, name, f"{size['raw']:,}", f"{size['wheel']:,}", ratio])
    return table(["matrix", "", "images, bytes", "wheel, bytes", "ratio"], rows)


def aims(results: Results) -> list[Aim]:
    """Return the aims that this run can judge."""
    found = []
    for matrix, name, least in (
        ("30x8", _OURS, 3.5),
        ("cub10x8", _OURS, 1.3),
        ("cub10x8", "ours, lto", 3.5),
        ("cub10x8", "ours, ptx", 7.0),
    ):
        contenders = results["matrices"].get(matrix, {})
        if name in contenders and contenders.keys() & {NVCC_THREADS, NVCC_PARALLEL}:
            found.append(_faster(matrix, name, contenders, least))
    light = results["matrices"].get("30x8", {})
    if _OURS in light and FLOOR in light:
        share = (middle(light[FLOOR], "compiling") or 0.0) / results["machine"]["cores"]
        ratio = (middle(light[_OURS], "wall") or 0.0) / share
        found.append(Aim("30x8: wall, against the NVRTC CPU time / cores", "<= 1.1", ratio, "x", ratio <= 1.1))
    if _OURS in light:
        rebuild = median(wall for run in light[_OURS] for wall in run["unchanged"]) - median(results["start_up"])
        found.append(Aim("30x8: rebuild, nothing changed, besides start-up", "<= 0.5 s", rebuild, " s", rebuild <= 0.5))
    wheels = ((matrix, results["wheels"][matrix]) for matrix in ("30x8", "cub10x8") if matrix in results["wheels"])
    for matrix, made in wheels:
        if not {_OURS, _PACKED} <= made.keys():
            continue
        ratio, what = made[_OURS]["wheel"] / made[_PACKED]["wheel"], "wheel, against one of `-compress-all` fatbins"
        found.append(Aim(f"{matrix}: {what}", "<= 0.5", ratio, "x", ratio <= 0.5, timed=False))
    return found


def _faster(matrix: str, name: str, contenders: dict[str, list[dict[str, Any]]], least: float) -> Aim:
    wall = {way: middle(contenders[way], "wall") or 0.0 for way in (NVCC_THREADS, NVCC_PARALLEL) if way in contenders}
    best = min(wall, key=wall.__getitem__)
    ratio = wall[best] / (middle(contenders[name], "wall") or 1.0)
    cpu = (middle(contenders[best], "cpu") or 0.0) / (middle(contenders[name], "cpu") or 1.0)
    return Aim(f"{matrix}: {name}, against {best}", f">= {least}", ratio, "x", ratio >= least, f" (CPU {cpu:.2f}x)")


def aims_table(results: Results) -> str:
    rows = []
    for aim in aims(results):
        judged = "reached" if aim.reached else "**missed**"
        if aim.timed and busy(results["machine"]):
            judged = "not judged: the machine was busy"
        rows.append([aim.figure, aim.bound, f"{aim.measured:.2f}{aim.unit}{aim.more}", judged])
    return table(["figure", "aim", "measured", ""], rows)


def _costs(results: Results) -> str:
    named = {
        "start": "a build, whatever its size, s",
        "image": "an image, before and after the compiles, s",
        "own": "a job, in the build's own process, s",
        "worker": "a worker until it compiles, s",
        "overhead": "a job, in its worker, besides the compiler, s",
        "crowding": "a compile where every core compiles, times",
        "dask_job": "a job on a Dask worker, more, s",
    }
    costs = results["scaling"]["costs"]
    return table(["cost", "fitted"], [[text, _seconds(costs[name], 4)] for name, text in named.items()])


def checks(results: Results) -> str:
    rows = []
    for check in results["scaling"]["checks"]:
        measured, predicted = check["measured"], check["predicted"]
        off = f"{predicted / measured - 1:+.0%}"
        rows.append([check["matrix"], check["workers"], f"{measured:.1f}", f"{predicted:.1f}", off])
    return table(["matrix", "workers", "measured, s", "model, s", "off by"], rows)


def predictions(results: Results) -> str:
    """Return what the model says of 1,000 sources x 8 architectures."""
    told = results["scaling"]["predictions"]
    rows = [
        [f"like {row['like']}", row["front_end"], f"{hosts} x {cores}", _time(seconds)]
        for row in told
        for key, seconds in row["seconds"].items()
        for hosts, cores in [key.split("x")]
    ]
    machines = list(dict.fromkeys(row[2] for row in rows))
    kinds = list(dict.fromkeys((row[0], row[1]) for row in rows))
    found = {(row[0], row[1], row[2]): row[3] for row in rows}
    return table(
        ["1,000 sources x 8", "front end", *machines],
        [[like, front_end, *(found[like, front_end, machine] for machine in machines)] for like, front_end in kinds],
    )


def _time(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
