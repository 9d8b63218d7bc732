"""Real CUDA sources, unmodified: how many compile with NVRTC, in which way, and what stops the others.

    python benchmarks/corpus/run.py CHECKOUTS --out FOLDER [--only NAME ...] [--ways a b c] [--each N]
        [--sample N] [--record DATE]

CHECKOUTS holds the repositories of list.toml, each in a folder ``owner+name`` with its commit's files; those that are
not there are left out. Compiles run one at a time in a worker process at low priority; what was compiled before, with
the same compiler and package, is taken from FOLDER. Writes corpus.json and corpus.md into FOLDER; --record
also into benchmarks/results/. Needs no GPU.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, TypeVar

from classify import classify, unknown_names
from prepared import prepare
from report import render
from sources import Repository, kernel_sources, load_list, read
from ways import WAYS

from hatch_cuda_kernels.compiler.toolchain.toolchain import load_toolchain

PROJECT = Path(__file__).parents[2]
Item = TypeVar("Item")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkouts", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--only", nargs="+", metavar="NAME", help="repositories as owner/name")
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS))
    parser.add_argument("--sample", type=int, metavar="N", help="only N of all sources, at random")
    parser.add_argument("--each", type=int, metavar="N", help="first, at most N of each repository, at random")
    parser.add_argument("--seed", type=int, default=1, help="which ones")
    parser.add_argument("--timeout", type=float, default=300, help="seconds for one compile")
    parser.add_argument("--record", metavar="DATE")
    args = parser.parse_args()
    corpus = Corpus(args.checkouts.absolute(), args.out.absolute(), args.timeout)
    wanted = [entry for entry in load_list() if not args.only or entry.name in args.only]
    chosen = sample(corpus, wanted, args)
    results = {"toolchain": corpus.toolchain, "ways": {key: WAYS[key].what for key in args.ways}, "repositories": []}
    results["left_out"] = [entry.name for entry in load_list() if entry not in wanted]
    for entry, sources in chosen.items():
        if sources:
            results["repositories"].append(corpus.repository(entry, sources, args.ways))
            print(render_line(results["repositories"][-1], args.ways), flush=True)
        elif not (corpus.checkouts / entry.checkout).is_dir():
            print(f"{entry.name}: no checkout", flush=True)
    corpus.worker.stop()
    write(args.out, "corpus", results)
    if args.record:
        name = PROJECT / f"benchmarks/results/{args.record}-corpus"
        name.with_suffix(".md").write_text(render(results))
        name.with_suffix(".json").write_text(json.dumps(brief(results), indent=1, ensure_ascii=False) + "\n")


def sample(corpus: Corpus, wanted: list[Repository], args: argparse.Namespace) -> dict[Repository, list[str]]:
    """Return the sources of each repository that are to be compiled: all of them, or so many at random."""
    found = [(entry, source) for entry in wanted for source in some(corpus.sources(entry), args.each, args.seed)]
    chosen = some(found, args.sample, args.seed)
    return {entry: [source for owner, source in chosen if owner == entry] for entry in wanted}


def some(found: list[Item], count: int | None, seed: int) -> list[Item]:
    """Return so many of the items at random, in their order; all of them without a count."""
    if count is None or count >= len(found):
        return found
    chosen = sorted(random.Random(seed).sample(range(len(found)), count))
    return [found[index] for index in chosen]


def write(folder: Path, name: str, results: dict[str, Any]) -> None:
    (folder / f"{name}.json").write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n")
    (folder / f"{name}.md").write_text(render(results))


def brief(results: dict[str, Any]) -> dict[str, Any]:
    """Return the results with one line a source: by way, the kernels of its image, or the reason why there is none."""
    repositories = [
        entry | {"sources": {source: _outcomes(row) for source, row in entry["sources"].items()}}
        for entry in results["repositories"]
    ]
    return results | {"repositories": repositories}


def _outcomes(row: dict[str, dict[str, Any]]) -> str:
    return ", ".join(f"{way}: {found['kernels'] if found['ok'] else found['reason']}" for way, found in row.items())


def render_line(found: dict[str, Any], ways: list[str]) -> str:
    counts = "  ".join(f"{way} {sum(row[way]['ok'] for row in found['sources'].values())}" for way in ways)
    return f"{found['name']}: {len(found['sources'])} sources  {counts}"


class Corpus:
    """The checkouts, and what is known of compiles of them."""

    def __init__(self, checkouts: Path, out: Path, timeout: float) -> None:
        self.checkouts = checkouts
        self.kept = out / "compiles"
        self.kept.mkdir(parents=True, exist_ok=True)
        self.worker = Worker(timeout)
        toolchain = load_toolchain()
        self.toolchain = f"NVRTC {toolchain.nvrtc}, toolkit headers {toolchain.headers}"
        package = (path for path in (PROJECT / "hatch_cuda_kernels").rglob("*") if path.is_file())
        self.package = _digest(sorted(path for path in package if path.suffix not in {".md", ".pyc"}))

    def sources(self, entry: Repository) -> list[str]:
        """Return a repository's kernel sources, with its checkout prepared; none where it is not checked out."""
        root = self.checkouts / entry.checkout
        if not root.is_dir():
            return []
        prepare(entry, self.checkouts)
        return kernel_sources(entry, root)

    def repository(self, entry: Repository, sources: list[str], ways: list[str]) -> dict[str, Any]:
        root = self.checkouts / entry.checkout
        rows = {source: {way: self.compile(entry, root, source, way) for way in ways} for source in sources}
        return {"name": entry.name, "commit": entry.commit, "field": entry.field, "sources": rows}

    def compile(self, entry: Repository, root: Path, source: str, way: str) -> dict[str, Any]:
        """Return the outcome of one source in one way, and why it failed."""
        include = entry.include_of(source, root)
        job = {"source": source, "include": include, "define": entry.define, "way": way}
        job |= {"std": entry.std, "arch": entry.arch, "pre_include": entry.pre_include}
        key = _key(job, self.toolchain, entry.commit, read(root / source), WAYS[way], self.package)
        place = self.kept / f"{key}.json"
        if not place.is_file():
            place.write_text(json.dumps(self.worker.compile(job | {"root": str(root)})))
        found = json.loads(place.read_text())
        if found["ok"] and found["entries"]:
            return {"ok": True, "kernels": found["entries"], "cpu": found["cpu"]}
        reason, detail = ("templates", "") if found["ok"] else classify(found["log"], root)
        names = unknown_names(found["log"])
        return {"ok": False, "reason": reason, "detail": detail, "unknown": names}


class Worker:
    """One process that compiles; another one takes its place when a compile takes too long or ends it."""

    def __init__(self, timeout: float) -> None:
        self.timeout = timeout
        self.process: subprocess.Popen[str] | None = None

    def compile(self, job: dict[str, Any]) -> dict[str, Any]:
        process = self.process = self.process or _start()
        timer = threading.Timer(self.timeout, process.kill)
        timer.start()
        try:
            process.stdin.write(json.dumps(job) + "\n")
            process.stdin.flush()
            answer = process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        timer.cancel()
        if answer:
            return json.loads(answer)
        self.process = None
        return {"ok": False, "log": f"worker: ended with status {process.wait()}", "cpu": self.timeout}

    def stop(self) -> None:
        if self.process is not None:
            self.process.stdin.close()
            self.process.wait()


def _start() -> subprocess.Popen[str]:
    command = [sys.executable, str(Path(__file__).with_name("ways.py"))]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def _key(*parts: Any) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _digest(paths: list[Path]) -> str:
    return hashlib.sha256(b"\0".join(path.name.encode() + b"\0" + path.read_bytes() for path in paths)).hexdigest()


if __name__ == "__main__":
    main()
