"""Compares random sources that mix host and device code with what nvcc makes of them.

    python benchmarks/fuzz_host_code/fuzz_host_code.py --seed 1 --sources 1000 [--out FILE.jsonl]

Needs nvcc 13.0 on PATH and NVRTC 13.0. Outcomes: same, DIFFERENT (another kernel, in silence), TAKEN (nvcc refuses
it), refused, both refuse. Each source that comes out as none of the tame ones is compiled again alone, and printed.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections import Counter
from pathlib import Path

from mixed_sources import mixed_source
from outcomes import Made, by_nvcc, by_project, outcome, write_files

#: What nvcc makes of some sources, for where there is no nvcc.
RECORDED = Path(__file__).with_name("recorded.json")
_STANDARDS = ("c++17", "c++20")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sources", type=int, default=100)
    parser.add_argument("--first", type=int, default=0, help="the number of the first source")
    parser.add_argument("--batch", type=int, default=40, help="sources in one compile of nvcc")
    parser.add_argument("--out", type=Path, help="where to add what is not the same, a line of JSON each")
    parser.add_argument("--record", action="store_true", help="record what nvcc makes of 40 sources for the tests")
    args = parser.parse_args()
    if args.record:
        record(args.seed)
        return
    counts: Counter[str] = Counter()
    start = time.time()
    for first in range(args.first, args.first + args.sources, args.batch):
        last = min(first + args.batch, args.first + args.sources)
        for number, what, theirs, ours in compared(args.seed, first, last):
            counts[what] += 1
            if what not in {"same", "both refuse"} or args.out:
                report(args, number, what, theirs, ours)
        print(f"{last}: {dict(counts)} {time.time() - start:.0f} s", flush=True)


def compared(seed: int, first: int, last: int):
    """Yield, for each of some sources, its number, the outcome and what either made."""
    std = "c++20" if first // (last - first) % 3 == 2 else "c++17"
    flags = [f"-std={std}", "--extended-lambda"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for number in range(first, last):
            write_files(folder / f"s{number}", mixed_source(seed, number, modern=std == "c++20").files)
        theirs = by_nvcc(folder, range(first, last), flags)
        for number in range(first, last):
            ours = by_project(folder / f"s{number}", std)
            what = outcome(theirs[number], ours)
            if what not in {"same", "both refuse"}:
                theirs |= by_nvcc(folder, [number], flags)
                what = outcome(theirs[number], ours)
            yield number, what, theirs[number], ours


def record(seed: int, count: int = 20) -> None:
    """Write what nvcc makes of sources of each standard."""
    outcomes = {}
    for std in _STANDARDS:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            for number in range(count):
                files = mixed_source(seed, number, modern=std == "c++20").files
                write_files(folder / f"s{number}", files)
            made = by_nvcc(folder, range(count), [f"-std={std}", "--extended-lambda"])
            outcomes[std] = {str(number): one.kernels for number, one in sorted(made.items())}
    RECORDED.write_text(json.dumps({"seed": seed, "outcomes": outcomes}, indent=1) + "\n")


def recorded_outcomes(recorded, std: str, folder: Path):
    """Yield the number of each recorded source of a standard, and how it compares."""
    for number, kernels in recorded["outcomes"][std].items():
        root = folder / number
        write_files(root, mixed_source(recorded["seed"], int(number), modern=std == "c++20").files)
        yield number, outcome(Made(kernels), by_project(root, std))


def report(args: argparse.Namespace, number: int, what: str, theirs: Made, ours: Made) -> None:
    if what not in {"same", "both refuse"}:
        print(f"{what} {number} {(theirs.said or ours.said).strip().splitlines()[:1]}", flush=True)
    if args.out and what != "same":
        with args.out.open("a") as file:
            file.write(json.dumps([args.seed, number, what, theirs.said[:600], ours.said[:600]]) + "\n")


if __name__ == "__main__":
    main()
