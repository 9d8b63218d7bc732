"""Builds of whole matrices: this package, nvcc in its best configuration, and NVRTC alone, side by side in one run.

    python benchmarks/build.py --out FOLDER [--matrix 5x6 30x8 cub10x8] [--repeat 3] [--only WORD ...] [--record DATE]
    python benchmarks/build.py --render benchmarks/results/DATE-build.json --record DATE

Needs no GPU, but nvcc (NVCC, default /usr/local/cuda-13.0/bin/nvcc), and gives it all cores. A round runs every
contender once, each from an empty cache; rounds repeat. Prints the tables and writes build.json with every raw number
into FOLDER. With --only, only contenders and wheels whose names contain one of the words are run and built, and
nothing is predicted. --record also writes benchmarks/results/DATE-build.{md,json}, the pictures in docs/images and the
tables in docs/explanation/numbers.md, all from this one run.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from build_contenders import CORES, NVCC, Place, contenders, start_up
from build_report import render
from build_scaling import measure_scaling
from build_sources import MATRICES, write_project
from build_wheels import wheel_sizes

# Processes find what they import compiled, as users do: some containers turn that off.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--matrix", nargs="+", choices=MATRICES, default=list(MATRICES))
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--only", nargs="+", metavar="WORD", default=[""])
    parser.add_argument("--record", metavar="DATE")
    parser.add_argument("--render", type=Path, metavar="JSON", help="use the numbers of an earlier run")
    args = parser.parse_args()
    if args.render is not None:
        results = json.loads(args.render.read_text())
    elif args.out is not None:
        results = run(args.out.absolute(), args.matrix, args.repeat, args.only)
    else:
        parser.error("--out or --render is needed")
    print(render(results, results["machine"]["date"]))
    if args.record is not None:
        from build_record import record  # needs matplotlib

        record(results, args.record)


def run(out: Path, matrices: list[str], repeat: int, words: list[str]) -> dict[str, Any]:
    about = machine(out)
    places = []
    for matrix in matrices:
        work = out / "work" / matrix
        work.mkdir(parents=True, exist_ok=True)
        places.append(Place(matrix, write_project(matrix, work / "project"), work))
    results: dict[str, Any] = {"machine": about, "start_up": [], "matrices": {matrix: {} for matrix in matrices}}
    for round_ in range(repeat):
        for place in places:
            results["start_up"] += [start_up(place.work) for _ in range(5)]
            for name, contender in contenders(place, words).items():
                found = contender(place)
                results["matrices"][place.matrix].setdefault(name, []).append(found)
                say(f"{round_ + 1}/{repeat} {place.matrix} {name}: {found['wall']:.1f} s, CPU {found['cpu']:.1f} s")
    keep(out, results)
    results["wheels"] = {place.matrix: wheel_sizes(place, words) for place in places}
    say("wheels built")
    keep(out, results)
    results["scaling"] = measure_scaling(places, results["matrices"]) if words == [""] else {}
    about["load_after"] = os.getloadavg()[0]
    keep(out, results)
    return results


def keep(out: Path, results: dict[str, Any]) -> None:
    """Write what there is so far: a run takes an hour, and its last part may fail."""
    (out / "build.json").write_text(json.dumps(results, indent=1) + "\n")


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def machine(out: Path) -> dict[str, Any]:
    out.mkdir(parents=True, exist_ok=True)
    packages = output(sys.executable, "-m", "pip", "list", "--format=freeze", "--disable-pip-version-check")
    wanted = ("cuda-bindings", "distributed", "hatchling", "nvidia-cuda-nvrtc", "nvidia-cuda-cccl", "nvidia-nvjitlink")
    fields = dict(line.split(":", 1) for line in Path("/proc/cpuinfo").read_text().splitlines() if ":" in line)
    cpu = next((text.strip() for name, text in fields.items() if name.strip() == "model name"), "unknown CPU")
    return {
        "cpu": cpu,
        "cores": CORES,
        "memory_gb": round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 1e9),
        "file_system": output("stat", "-f", "-c", "%T", str(out)),
        "python": sys.version.split()[0],
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "nvcc": "nvcc " + output(NVCC, "--version").rpartition("release ")[2].split(",")[1].split()[0].lstrip("V"),
        "packages": ", ".join(line for line in packages.splitlines() if line.startswith(wanted)),
        "load": os.getloadavg()[0],
    }


def output(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


if __name__ == "__main__":
    main()
