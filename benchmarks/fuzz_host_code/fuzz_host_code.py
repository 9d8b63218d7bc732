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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sources", type=int, default=100)
    parser.add_argument("--first", type=int, default=0, help="the number of the first source")
    parser.add_argument("--batch", type=int, default=40, help="sources in one compile of nvcc")
    parser.add_argument("--out", type=Path, help="where to add what is not the same, a line of JSON each")
    args = parser.parse_args()
    counts: Counter[str] = Counter()
    start = time.time()
    for first in range(args.first, args.first + args.sources, args.batch):
        last = min(first + args.batch, args.first + args.sources)
        for number, what, theirs, ours in compared(args.seed, first, last):
            counts[what] += 1
            if what not in {"same", "both refuse"} or args.out:
                report(args, number, what, theirs, ours)
        print(f"{last}: {dict(counts)} {time.time() - start:.0f} s", flush=True)


def std_of(number: int, batch: int = 40) -> str:
    """Return the standard that a source is compiled by: that of its batch."""
    return "c++20" if number // batch % 3 == 2 else "c++17"


def compared(seed: int, first: int, last: int):
    """Yield, for each of some sources, its number, the outcome and what either made."""
    std = "c++20" if first // (last - first) % 3 == 2 else "c++17"
    flags = [f"-std={std}"]
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


def report(args: argparse.Namespace, number: int, what: str, theirs: Made, ours: Made) -> None:
    if what not in {"same", "both refuse"}:
        print(f"{what} {number} {(theirs.said or ours.said).strip().splitlines()[:1]}", flush=True)
    if args.out and what != "same":
        with args.out.open("a") as file:
            file.write(json.dumps([args.seed, number, what, theirs.said[:600], ours.said[:600]]) + "\n")


if __name__ == "__main__":
    main()
