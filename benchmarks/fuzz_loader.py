"""The loader for C++ with damaged stores, under the sanitizers of addresses and of undefined behaviour.

    python benchmarks/fuzz_loader.py 100000 [--seed 0] [--compiler g++]

Each store is one of the conformance stores as ``embed`` writes it, with something wrong in its files or its table. The
program of ``tests/vendor`` opens it and does everything with it. Every tenth is also read from a folder. A report of a
sanitizer, or anything but an error of the loader, stops with the number of the stores that led there.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import time
from collections import Counter
from itertools import islice
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "tests" / "support"))

from cpp_loader import SANITIZERS, compile_program, damaged_stores, framed, run_program

#: Stores of one process.
BATCH = 2000


def frames_of(files: dict[str, bytes], table: bytes, folder: Path, number: int) -> list[bytes]:
    """Return what the program reads for one store; some are written to a folder as well."""
    frames = [framed("T", table)]
    if number % 10 == 0:
        for name, data in files.items():
            path = folder / str(number) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        frames.append(framed("F", str(folder / str(number)).encode()))
    return frames


def main() -> None:
    """Compile the program and give it stores until there were enough."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("count", type=int, help="how many stores")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--compiler", default="g++")
    args = parser.parse_args()
    outcomes, start = Counter[str](), time.monotonic()
    stores = enumerate(islice(damaged_stores(args.seed), args.count))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        compile_program(folder, args.compiler, *SANITIZERS, "-O1", "-g1")
        while batch := list(islice(stores, BATCH)):
            written = folder / "stores"
            frames = [frame for number, (files, table) in batch for frame in frames_of(files, table, written, number)]
            try:
                found = run_program(folder, "fuzz", given=b"".join(frames))
            except AssertionError as error:
                sys.exit(f"stores {batch[0][0]} to {batch[-1][0]} of seed {args.seed}: {error}")
            shutil.rmtree(written, ignore_errors=True)
            outcomes.update(found)
            print(f"{batch[-1][0] + 1:,} stores in {time.monotonic() - start:.0f} s", file=sys.stderr)
    print(
        json.dumps({"stores": args.count, "seed": args.seed, "reports": 0, "outcomes": dict(sorted(outcomes.items()))})
    )


if __name__ == "__main__":
    main()
