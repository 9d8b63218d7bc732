"""The figures in the README and on the page of numbers are those of the newest records."""

from __future__ import annotations

import json
import re
from itertools import takewhile
from statistics import median

import pytest
from doc_blocks import DOCS, README, ROOT
from doc_tables import section

RESULTS = ROOT / "benchmarks" / "results"
NUMBERS = DOCS / "explanation" / "numbers.md"
#: How the page of numbers calls what the records of builds have, with nvcc's two ways to use all cores.
CONTENDERS = {
    "this package": "ours, per-arch",
    "this package, `front_end: lto`": "ours, lto",
    "this package, `front_end: ptx`": "ours, ptx",
}
NVCC = ("nvcc --threads {cores}, a module at a time", "{cores} nvcc at a time, --threads 1")
#: And what those of run time have: a whole process, and a launch.
PROCESSES = {
    "bare ctypes and a CUBIN (the lower bound)": ("bare ctypes, CUBIN", ()),
    "a prebuilt CUBIN with this package": (
        "ours: prebuilt CUBIN", ("launch: ours, kernel[grid, block](torch, torch, int, float)",),
    ),
    "this package, warm disk cache": (
        "ours: warm disk cache", ("launch: ours, kernel[grid, block](torch, torch, int, float)",),
    ),
    "this package, compiled now (neither prebuilt nor cached)": (
        "ours: JIT", ("launch: ours, kernel[grid, block](torch, torch, int, float)",),
    ),
    "CuPy `RawModule`, warm cache": ("CuPy RawModule, warm cache", ("launch: CuPy RawKernel, numpy scalars",)),
    "cuda.core, warm file cache": (
        "cuda.core FileStreamProgramCache, warm",
        ("launch: cuda.core, typed arguments made before", "launch: cuda.core, arguments typed each time"),
    ),
    "cuda.core, compiled now": ("cuda.core JIT", ()),
    "`torch._compile_kernel`, compiled in each process": (
        "torch._compile_kernel", ("launch: torch._compile_kernel",),
    ),
    "Triton, warm cache": ("Triton, warm cache", ()),
}  # fmt: skip


def newest(kind):
    """Return the newest record of a kind: its name, and its data."""
    path = max(RESULTS.glob(f"????-??-??-{kind}.json"))
    return path.stem, json.loads(path.read_text())


@pytest.fixture(scope="module")
def builds():
    """Return the medians of the newest record of builds: wall seconds and megabytes of wheels, by matrix and tool."""
    _, data = newest("build")
    walls = {
        matrix: {name: median(run["wall"] for run in runs) for name, runs in contenders.items()}
        for matrix, contenders in data["matrices"].items()
    }
    for contenders in walls.values():
        contenders["nvcc"] = min(contenders[way.format(cores=data["machine"]["cores"])] for way in NVCC)
    wheels = {m: {name: size["wheel"] / 1e6 for name, size in made.items()} for m, made in data["wheels"].items()}
    return walls, wheels


@pytest.fixture(scope="module")
def processes():
    """Return the medians of the newest record of run time: milliseconds of processes, by kernel and tool."""
    _, data = newest("h200-runtime")
    cold = {kernel: {name: median(all_) for name, all_ in runs.items()} for kernel, runs in data["cold_ms"].items()}
    return cold, data["hot_us"]


def table_of(text):
    """Return the rows of the first table of a text by their first cell, without what makes cells bold."""
    lines = text[text.index("\n|") + 1 :].replace("**", "").splitlines()
    table = takewhile(lambda line: line.startswith("|"), lines)
    rows = [[cell.strip() for cell in line.strip()[1:-1].split("|")] for line in table]
    return {row[0]: row[1:] for row in rows}


def comparison(heading):
    """Return the table below a heading of the comparison."""
    return table_of(section(NUMBERS, f"### {heading}"))


def test_readme_begins_with_figures_of_the_records(builds, processes):
    """What a reader sees first was measured, and not longer ago than the rest."""
    walls, wheels = builds
    cold, _ = processes
    first = table_of(README.read_text().partition("\n| what you gain")[2].partition("\n## ")[0])
    trivial = cold["trivial"]
    assert first["from starting Python to the first result"] == [
        f"{trivial['ours: prebuilt CUBIN']:.0f} ms",
        (
            f"CuPy {trivial['CuPy RawModule, warm cache']:.0f} ms (warm cache), "
            f"`torch._compile_kernel` {trivial['torch._compile_kernel']:.0f} ms"
        ),
    ]
    light = walls["30x8"]
    assert first["building 30 kernel sources for 8 architectures"] == [
        f"{light['ours, per-arch']:.1f} s", f"nvcc {light['nvcc']:.1f} s",
    ]  # fmt: skip
    made = wheels["30x8"]
    assert first["the wheel of these"] == [
        f"{made['ours, per-arch']:.2f} MB", f"{made['nvcc']:.2f} MB with nvcc's fatbins",
    ]  # fmt: skip


def test_builds_are_compared_by_the_record(builds):
    """Seconds and wheels of both projects, for each way to build."""
    walls, wheels = builds
    shown = comparison("To build a wheel")
    for called, name in CONTENDERS.items():
        assert shown[called] == [
            text
            for matrix in ("30x8", "cub10x8")
            for text in (f"{walls[matrix][name]:.1f} s", f"{wheels[matrix][name]:.2f} MB")
        ], called
    assert shown["`nvcc -fatbin`, the faster of two ways to use all cores"] == [
        text
        for matrix in ("30x8", "cub10x8")
        for text in (f"{walls[matrix]['nvcc']:.1f} s", f"{wheels[matrix]['nvcc']:.2f} MB")
    ]
    compressed = [f"{wheels[matrix]['nvcc -Xfatbin=-compress-all']:.2f} MB" for matrix in ("30x8", "cub10x8")]
    assert [cell for cell in shown["the same with `-compress-all`"] if cell] == compressed


def test_processes_are_compared_by_the_record(processes):
    """Whole processes with both kernels, and launches."""
    cold, hot = processes
    shown = comparison("To the first result")
    assert {called for called in shown if called and not called.startswith("-")} == set(PROCESSES)
    for called, (name, launches) in PROCESSES.items():
        cells = [f"{cold[kernel][name]:.0f} ms" if name in cold[kernel] else "" for kernel in ("trivial", "heavy")]
        assert shown[called][:2] == cells, called
        assert re.findall(r"[\d.]+ us", shown[called][2]) == [f"{hot[launch]:.1f} us" for launch in launches], called


@pytest.mark.parametrize("kind", ["h200-runtime", "build"])
def test_the_page_names_the_newest_record(kind):
    """A reader who wants all figures gets to the record that the page's were taken from."""
    name, _ = newest(kind)
    assert f"benchmarks/results/{name}.md" in NUMBERS.read_text()
