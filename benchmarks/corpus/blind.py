"""Draws sources of projects that nobody here has looked at, for a trial.

    python benchmarks/corpus/blind.py NAMES.txt GIT_DIRECTORIES CHECKOUTS --seed N --out BLIND.json [--python PYTHON]

NAMES has a repository a line, as owner/name. One that a list or a record in benchmarks/ names is left out; so is one
with fewer kernel sources than are drawn of each. Of the others, the seed chooses projects and sources. Their files are
written into CHECKOUTS as checkouts.py does it. Neither the package nor a compiler reads a source, and the output names
none. With the PYTHON of an environment with the package, the sources are then compiled with it and with nvcc, as
goldens.py does it, and a table of the outcomes is printed; what is done already is not done again.
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections import Counter
from pathlib import Path
from typing import Final

from checkouts import check_out, git_directory, head
from golden_files import Line, read_lines
from sources import Repository, kernel_sources

BENCHMARKS: Final = Path(__file__).parents[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", type=Path)
    parser.add_argument("git_directories", type=Path)
    parser.add_argument("checkouts", type=Path)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--projects", type=int, default=15)
    parser.add_argument("--each", type=int, default=4, help="sources of each project")
    parser.add_argument("--python", type=Path)
    parser.add_argument("--include", type=Path, nargs="*", default=[], help="folders of other headers, for nvcc")
    args = parser.parse_args()
    if not args.out.is_file():
        draw(args)
    if args.python:
        compile_all(args)


def draw(args: argparse.Namespace) -> None:
    records = "\n".join(path.read_text() for path in sorted(BENCHMARKS.rglob("*")) if is_record(path))
    chances = random.Random(args.seed)
    names = sorted(set(args.names.read_text().split()))
    drawn: dict[str, dict[str, object]] = {}
    for name in chances.sample(names, len(names)):
        git = git_directory(args.git_directories / name.replace("/", "+"))
        if len(drawn) == args.projects or git is None or is_named(name, records):
            continue
        found = _sources(name, git, args.checkouts)
        if len(found) >= args.each:
            sources = sorted(chances.sample(found, args.each))
            drawn[name] = {"commit": head(git), "git": str(git), "of": len(found), "sources": sources}
    args.out.write_text(json.dumps({"seed": args.seed, "repositories": drawn}, indent=1) + "\n")
    print(f"{len(drawn)} projects, {sum(len(one['sources']) for one in drawn.values())} sources: {', '.join(drawn)}")


def compile_all(args: argparse.Namespace) -> None:
    """Compile the sources with the package and with nvcc, and print what became of them."""
    import goldens  # a draw needs no package

    names = ("entries", "results", "nvcc")
    entries, results, nvcc = (args.out.with_suffix(f".{name}.jsonl") for name in names)
    given = argparse.Namespace(blind=args.out, entries=entries, of=None, limit=60, most=None, port_later=False)
    given = argparse.Namespace(**{**vars(args), **vars(given)}, limits=goldens.Limits())
    for run, out in ((goldens.draw, entries), (goldens.run_all, results), (goldens.run_nvcc, nvcc)):
        given.out = out
        run(given)
    print("\n".join(table(read_lines(results), read_lines(nvcc))))


def table(ours: dict[str, Line], theirs: dict[str, Line]) -> list[str]:
    """Return the lines of a table: sources by what the package and nvcc make of them, then kernels that both made."""
    sources: Counter[tuple[str, str]] = Counter()
    kernels: Counter[str] = Counter()
    for name, line in ours.items():
        other = theirs.get(name, {"outcome": "not tried", "kernels": {}})
        is_header = "fatal error" in other.get("message", "")
        sources[line["outcome"], "lacks a header" if is_header else other["outcome"]] += 1
        for kernel in line["kernels"].keys() & other["kernels"].keys():
            (text, code, ptx), (text2, code2, ptx2) = (one["kernels"][kernel].split(",") for one in (line, other))
            same = "text section" if text == text2 else "text section but addresses" if code == code2 != "" else "PTX"
            kernels[f"the same {same}" if same != "PTX" or ptx == ptx2 else "other PTX"] += 1
    rows = [(f"package: {one}; nvcc: {two}", count) for (one, two), count in sources.most_common()]
    rows += [("kernels in the package's images", sum(len(line["kernels"]) for line in ours.values()))]
    rows += [(f"kernels that both made: {one}", count) for one, count in kernels.most_common()]
    return ["| | |", "|---|---|", *(f"| {what} | {count} |" for what, count in rows)]


def is_record(path: Path) -> bool:
    return path.suffix in {".json", ".jsonl", ".md", ".toml", ".txt", ".yaml"}


def is_named(name: str, records: str) -> bool:
    """Return whether a list or a record has a repository, also without its owner."""
    owner, _, own = name.partition("/")
    return re.search(rf"\b{re.escape(owner)}[/+]{re.escape(own)}\b|\b{re.escape(own)}\b", records) is not None


def _sources(name: str, git: Path, checkouts: Path) -> list[str]:
    entry = Repository(name=name, commit=head(git), field="", folders=(".",))
    root = checkouts / entry.checkout
    check_out(git, entry.commit, root)
    return kernel_sources(entry, root)


if __name__ == "__main__":
    main()
