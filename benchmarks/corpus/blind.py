"""Draws sources of projects that nobody here has looked at, for a trial.

    python benchmarks/corpus/blind.py NAMES.txt GIT_DIRECTORIES CHECKOUTS --seed N --out BLIND.json

NAMES has a repository a line, as owner/name. One that a list or a record in benchmarks/ names is left out; so is one
with fewer kernel sources than are drawn of each. Of the others, the seed chooses projects and sources. Their files are
written into CHECKOUTS as checkouts.py does it. Neither the package nor a compiler reads a source, and the output names
none. ``goldens.py draw --blind BLIND.json`` goes on from there.
"""

from __future__ import annotations

import argparse
import json
import random
import re
from pathlib import Path
from typing import Final

from checkouts import check_out, git_directory, head
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
    args = parser.parse_args()
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
