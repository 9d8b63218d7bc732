"""What a process feels on a GPU: cold start, look-up, launch and import, each beside its peers in one run.

    python benchmarks/runtime.py --out FOLDER [--repeat 9] [--only ctypes ours]

Prints one table and writes runtime.json with every raw number. It builds the kernels it needs for the device; peers
that are not installed are left out. Every cold figure is a whole process, from the interpreter's start to the first
synchronised result; variants are interleaved, so that drift hits all alike. Other machines may share the cores: each
process, and each round of hot figures, gets those that were the quickest right before.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from quickest_cores import on_quickest_cores  # noqa: E402 - a sibling script
from runtime_cold import VARIANTS, prepare  # noqa: E402 - a sibling script
from runtime_hot import measure_hot  # noqa: E402 - a sibling script

#: For each process: the driver starts while Python imports.
CORES = 4
# Processes find what they import compiled, as users do: some containers turn that off.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--repeat", type=int, default=9)
    parser.add_argument("--only", nargs="+", default=[""], metavar="TEXT", help="cold variants with one of these texts")
    args = parser.parse_args()
    work = args.out / "work"
    work.mkdir(parents=True, exist_ok=True)
    prepare(work)
    results = {"machine": machine(), "cold_ms": cold(work, args.repeat, args.only), "hot_us": measure_hot(work)}
    (args.out / "runtime.json").write_text(json.dumps(results, indent=1) + "\n")
    report(results)


def cold(work: Path, repeat: int, only: list[str]) -> dict[str, dict[str, list[float]]]:
    """Return milliseconds of each run, by kernel and variant."""
    variants = [variant for variant in VARIANTS if any(text in variant for text in only)]
    environment = os.environ | {"HATCH_CUDA_KERNELS_CACHE_DIR": str(work / "cache"), "CUDA_CACHE_DISABLE": "1"}
    times: dict[str, dict[str, list[float]]] = {}
    broken: set[tuple[str, str]] = set()
    for round_ in range(repeat + 1):
        for kernel in ("trivial", "heavy"):
            for variant in variants:
                if (kernel, variant) in broken:
                    continue
                command = [sys.executable, str(HERE / "runtime_cold.py"), variant, kernel, str(work)]
                extra = {"CUDA_CACHE_DISABLE": "0"} if variant.endswith("warm driver cache") else {}
                with on_quickest_cores(CORES):
                    start = time.perf_counter()
                    done = subprocess.run(command, env=environment | extra, capture_output=True, text=True, check=False)
                    took = (time.perf_counter() - start) * 1000
                if done.returncode != 0:
                    print(f"left out: {variant} / {kernel}: {done.stderr.strip().splitlines()[-1:]}", file=sys.stderr)
                    broken.add((kernel, variant))
                elif round_ > 0:  # the first round warms caches and the page cache
                    times.setdefault(kernel, {}).setdefault(variant, []).append(took)
    return times


def machine() -> dict[str, str]:
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    packages = subprocess.run(
        [sys.executable, "-m", "pip", "list", "--format=freeze"], capture_output=True, text=True, check=False
    )
    wanted = ("cuda-", "cupy", "torch=", "triton", "numba", "nvidia-cuda-nvrtc", "nvidia-nvjitlink", "hatch")
    return {
        "gpu": subprocess.run(query, capture_output=True, text=True, check=False).stdout.strip(),
        "python": sys.version.split()[0],
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "packages": ", ".join(line for line in packages.stdout.splitlines() if line.startswith(wanted)),
    }


def report(results: dict) -> None:
    print(f"\n{results['machine']['gpu']}, Python {results['machine']['python']}, {results['machine']['date']}")
    print(results["machine"]["packages"])
    title = "cold process to first result, median ms (ratio to bare ctypes)"
    print(f"\n{title:64s} {'trivial':>16s} {'heavy (CUB)':>16s}")
    cold_ms = results["cold_ms"]
    for variant in VARIANTS:
        cells = []
        for kernel in ("trivial", "heavy"):
            runs = cold_ms[kernel].get(variant)
            base = statistics.median(cold_ms[kernel]["bare ctypes, CUBIN"])
            cells.append(f"{statistics.median(runs):8.0f} {statistics.median(runs) / base:6.3f}x" if runs else "-")
        print(f"{variant:64s} {cells[0]:>16s} {cells[1]:>16s}")
    print(f"\n{'hot, median us':64s}")
    for name, value in results["hot_us"].items():
        print(f"{name:64s} {value:8.3f}")


if __name__ == "__main__":
    main()
