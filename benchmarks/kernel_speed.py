"""How fast kernels run by the route that made their images: `front_end` per-arch, lto and ptx, on one GPU.

    python benchmarks/kernel_speed.py build FOLDER        # no GPU: the stores of the light and the CUB sources
    python benchmarks/kernel_speed.py run FOLDER OUT      # needs a GPU and torch; writes OUT/kernel_speed.{json,md}

Each kernel is captured many times into a CUDA graph, one graph for each store, and one more of the per-arch store from
another load, which shows the noise. In each round the graphs run in turn. The arrays fit into an H100's L2 cache, so
that the memory hides little of the code. All stores have to compute the same, but for the last bits of lto and ptx.
"""

from __future__ import annotations

import argparse
import json
import math
import shutil
import statistics
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from build_sources import FRONT_ENDS, MATRICES, Source, write_project

if TYPE_CHECKING:
    from collections.abc import Iterator

MATRIX_NAMES: Final = ("30x8", "cub10x8")
NOISE: Final = "per-arch-again"
ROUNDS: Final = 25
#: Elements of an array of one dimension; sides of one with two.
COUNT: Final = 1 << 22
SIDE: Final = 2048
#: What a graph should take at least, in microseconds, and the most launches in one.
GRAPH_MICROSECONDS: Final = 400.0
MOST_LAUNCHES: Final = 100
SLOWER: Final = 1.03


class Launch(NamedTuple):
    """How a kernel is launched, with the same arrays for all stores: where they lie matters more than the code."""

    grid: tuple[int, ...]
    block: tuple[int, ...]
    arguments: tuple[Any, ...]


def build(folder: Path) -> None:
    """Build a store for each matrix and front end."""
    for matrix in MATRIX_NAMES:
        project = write_project(matrix, folder / matrix)
        for front_end in FRONT_ENDS:
            command = [sys.executable, "-m", "hatch_cuda_kernels", "build", "--out", folder / f"{matrix}-{front_end}"]
            subprocess.run([*command, project.manifest(front_end)], cwd=project.root, check=True)
        shutil.copytree(folder / f"{matrix}-per-arch", folder / f"{matrix}-{NOISE}", dirs_exist_ok=True)


def launch_of(kernel: str, source: Source) -> Launch:
    """Return the launch of a kernel, whose arrays and scalars have the types of the source's first line."""
    if source.instances:
        return _cub_launch(kernel)
    values = _constants(source.text)
    element = _torch_type(source.text.split("using T = ", 1)[1].split(";", 1)[0])
    return _light_launch(kernel, element, values)


def _cub_launch(kernel: str) -> Launch:
    name, arguments = kernel.rstrip(">").split("<")
    type_, block, items = arguments.split(",")
    element, tile = _torch_type(type_), int(block) * int(items)
    x, y = _array(element, COUNT), _array(element, COUNT + tile)
    blocks = COUNT // tile
    assert name != "histogram" or blocks * 256 <= len(y)  # 256 bins a tile
    return Launch((blocks,), (int(block),), (x, y, COUNT))


def _light_launch(kernel: str, element: Any, of: dict[str, int]) -> Launch:
    x, y = _array(element, COUNT), _array(element, COUNT)
    floats = _array(_torch_type("float"), COUNT)
    one = 1.0 if element.is_floating_point else 1
    gemm_side = SIDE // 2
    tile = of.get("TILE", 32)
    gemm_tile = (of.get("TILE_M", 64), of.get("TILE_N", 64))
    gemm = (one, x, floats.to(element), one, y, gemm_side, gemm_side)
    threads = gemm_tile[0] // of.get("ROWS", 1) * (gemm_tile[1] // of.get("COLUMNS", 1))
    side = of.get("SIDE", 16)
    by_element = partial(Launch, (1056,), (256,))
    by_row = partial(Launch, (SIDE,), (of.get("BLOCK", 256),))
    by_gemm_tile = partial(Launch, (gemm_side // gemm_tile[1], gemm_side // gemm_tile[0]), (threads,))
    reduced = partial(Launch, (1056,), (of.get("BLOCK", 256),))
    launches = {
        "axpy": lambda: by_element((one, x, y, COUNT)),
        "scale": lambda: by_element((one, y, COUNT)),
        "gemm_nn": lambda: by_gemm_tile(gemm),
        "gemm_nt": lambda: by_gemm_tile(gemm),
        "histogram": lambda: by_element((x, _array(_torch_type("int"), 1024), COUNT, 0.0, 64.0)),
        "weighted": lambda: by_element((x, floats, floats.clone(), COUNT, 0.0, 64.0)),
        "to_float": lambda: by_element((x, floats, COUNT)),
        "from_float": lambda: by_element((floats, y, COUNT)),
        "axpy_narrow": lambda: by_element((0.5, x, y, COUNT)),
        "uniform": lambda: by_element((y, COUNT, 7)),
        "normal": lambda: by_element((y, COUNT, 7, 0.0, 1.0)),
        "sum": lambda: reduced((x, y, COUNT)),
        "largest": lambda: reduced((x, y, COUNT, 0 * one)),
        "dot": lambda: reduced((x, x.clone(), y, COUNT)),
        "softmax": lambda: by_row((x, y, SIDE, SIDE)),
        "layer_norm": lambda: by_row((x, y, floats, floats.clone(), SIDE, SIDE, 1e-5)),
        "box": lambda: Launch((SIDE // side,) * 2, (side * side,), (x, y, SIDE, SIDE, one)),
        "star": lambda: Launch((8, 32), (32, 8), (x, y, COUNT >> 16, 256, 256, one, one)),
        "transpose": lambda: Launch((SIDE // tile,) * 2, (tile * 8,), (x, y, SIDE, SIDE)),
    }
    return launches.get(kernel, lambda: by_element((x, y, COUNT)))()


def _constants(text: str) -> dict[str, int]:
    """Return the integers of the line that a variant of a source begins with."""
    parts = text.split("\n\n", 1)[0].replace("constexpr int", ",").replace(";", ",").split(",")
    pairs = (part.split("=") for part in parts if "=" in part and "using" not in part)
    return {name.strip(): int(value) for name, value in pairs}


def _torch_type(name: str) -> Any:
    import torch

    return {
        "float": torch.float32, "double": torch.float64, "int": torch.int32, "long long": torch.int64,
        "short": torch.int16, "unsigned char": torch.uint8, "unsigned int": torch.uint32,
        "__half": torch.float16, "__nv_bfloat16": torch.bfloat16,
    }[name]  # fmt: skip


def _array(element: Any, count: int) -> Any:
    """Return random values: in [0, 1) where they may have a fraction, otherwise whole numbers below 256."""
    import torch

    generator = torch.Generator(device="cuda").manual_seed(11)
    whole = torch.randint(0, 256, (count,), dtype=torch.int32, device="cuda", generator=generator)
    return (whole / 256).to(element) if element.is_floating_point else whole.to(element)


def run(folder: Path, out: Path) -> None:
    """Measure every kernel and write what was found."""
    import torch

    from hatch_cuda_kernels import open_store

    torch.zeros(1, device="cuda")
    rows = []
    for matrix in MATRIX_NAMES:
        stores = {name: open_store(str(folder / f"{matrix}-{name}")) for name in (*FRONT_ENDS, NOISE)}
        for module, source, kernel in _kernels(matrix, folder):
            measured = _measure(stores, module, source, kernel)
            rows.append({"matrix": matrix, "module": module, "kernel": kernel, **measured})
    out.mkdir(parents=True, exist_ok=True)
    (out / "kernel_speed.json").write_text(json.dumps({"gpu": torch.cuda.get_device_name(), "rows": rows}, indent=1))
    (out / "kernel_speed.md").write_text(_report(rows))
    print(_report(rows))


def _kernels(matrix: str, folder: Path) -> Iterator[tuple[str, Source, str]]:
    sources = MATRICES[matrix][0]()
    for line in (folder / f"{matrix}-per-arch" / "kernels.tsv").read_text().splitlines():
        kernel, module = line.split("\t")[:2]
        if not kernel.startswith("<"):  # a template
            yield module, sources[module], kernel


def _measure(stores: dict[str, Any], module: str, source: Source, kernel: str) -> dict[str, Any]:
    """Return the microseconds of a launch by store, and how much the results differ from the first store's."""
    import torch

    launch = launch_of(kernel, source)
    arrays = [value for value in launch.arguments if isinstance(value, torch.Tensor)]
    before = [array.clone() for array in arrays]
    runs, results = {}, {}
    for name, store in stores.items():
        for array, values in zip(arrays, before, strict=True):
            array.copy_(values)
        runs[name] = partial(store.get_kernel(kernel, module=module)[launch.grid, launch.block], *launch.arguments)
        runs[name]()
        results[name] = [array.clone() for array in arrays]
    launches = max(1, min(MOST_LAUNCHES, int(GRAPH_MICROSECONDS / _microseconds(runs["per-arch"], 20))))
    graphs = {name: _captured(run_once, launches) for name, run_once in runs.items()}
    times: dict[str, list[float]] = {name: [] for name in graphs}
    for number in range(ROUNDS):
        turn = number % len(graphs)
        for name in [*graphs][turn:] + [*graphs][:turn]:
            times[name].append(_microseconds(graphs[name].replay, 1) / launches)
    return {
        "launches": launches,
        "us": {name: statistics.median(values) for name, values in times.items()},
        "differs": {name: _difference(results["per-arch"], values) for name, values in results.items()},
    }


def _captured(run_once: Any, launches: int) -> Any:
    import torch

    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(launches):
            run_once()
    graph.replay()
    return graph


def _microseconds(function: Any, repeat: int) -> float:
    import torch

    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    torch.cuda.synchronize()
    start.record()
    for _ in range(repeat):
        function()
    end.record()
    end.synchronize()
    return float(start.elapsed_time(end)) * 1e3 / repeat


def _difference(expected: list[Any], found: list[Any]) -> float:
    """Return the largest difference, relative to the largest value."""
    import torch

    worst = 0.0
    for one, other in zip(expected, found, strict=True):
        a, b = one.to(torch.float64).nan_to_num(), other.to(torch.float64).nan_to_num()
        worst = max(worst, float((a - b).abs().max() / a.abs().max().clamp_min(1e-30)))
    return worst


def _report(rows: list[dict[str, Any]]) -> str:
    """Return the summary: run times against per-arch, and the kernels that are slower by more than 3 %."""
    titles = ("against per-arch", "kernels", "geometric mean", "best", "worst", "slower by more than 3 %", "difference")
    lines = [f"| {' | '.join(titles)} |", "|---" * len(titles) + "|"]
    slower = []
    for name in (*FRONT_ENDS[1:], NOISE):
        ratios = {f"{row['module']} {row['kernel']}": row["us"][name] / row["us"]["per-arch"] for row in rows}
        mean = math.exp(statistics.mean(map(math.log, ratios.values())))
        slow = {kernel: ratio for kernel, ratio in ratios.items() if ratio > SLOWER}
        difference = max(row["differs"][name] for row in rows)
        lines.append(
            f"| {name} | {len(rows)} | {mean:.3f} | {min(ratios.values()):.2f} | {max(ratios.values()):.2f} "
            f"| {len(slow)} | {difference:.1e} |"
        )
        slower += [
            f"- {name}: {kernel} {slow[kernel]:.2f}" for kernel in sorted(slow, key=slow.__getitem__, reverse=True)
        ]
    return "\n".join([*lines, "", *slower, ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("build").add_argument("folder", type=Path)
    measuring = commands.add_parser("run")
    measuring.add_argument("folder", type=Path)
    measuring.add_argument("out", type=Path)
    args = parser.parse_args()
    if args.command == "build":
        build(args.folder.absolute())
    else:
        run(args.folder.absolute(), args.out)


if __name__ == "__main__":
    main()
