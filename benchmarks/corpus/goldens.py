"""Goldens: what public sources compile to, so that a change of the package shows what it loses.

    goldens.py draw CHECKOUTS --out ENTRIES.jsonl [--each 4] [--seed 1]      sources of list.toml, and their options
    goldens.py run ENTRIES.jsonl CHECKOUTS --python PYTHON --out RESULTS.jsonl     what a checkout of the package gives
    goldens.py nvcc ENTRIES.jsonl CHECKOUTS --out NVCC.jsonl                       what nvcc gives
    goldens.py link RESULTS.jsonl NVCC.jsonl CHECKOUTS --python PYTHON --out LINKED.jsonl  both after nvJitLink
    goldens.py choose RESULTS.jsonl NVCC.jsonl --out GOLDENS.jsonl [--failing 80]  those that say something
    goldens.py compare OLD.jsonl NEW.jsonl [--nvcc NVCC.jsonl]                     what was lost; status 1 if anything

CHECKOUTS is what checkouts.py writes. ENTRIES may be GOLDENS: then each source is compiled in the way and with the
instances that it has there, and the results can be compared with it. PYTHON is that of an environment with the package
under test. One source is compiled at a time, at low priority; what RESULTS has already is not done again. Needs no GPU.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import os
import random
import re
import shutil
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from golden_compare import compare
from golden_files import Line, append_line, brief, entry_of, key, read_lines, write_lines
from golden_link import linked
from golden_nvcc import by_nvcc
from golden_package import WAYS, Attempt, Limits, Package, drafted
from prepared import prepare
from run import some
from sources import Repository, kernel_sources, load_list

from hatch_cuda_kernels.manifest import list_files
from hatch_cuda_kernels.scaffold import include_folders

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Sources of suites, whose files have little to do with each other.
EACH: Final = {
    "zjin-lcf/HeCBench": 60,
    "NVIDIA/cuda-samples": 40,
    "yuhc/gpu-rodinia": 14,
    "mumax/3": 8,
    "brucefan1983/GPUMD": 8,
    "abduld/Parboil": 8,
    "ggml-org/ggml": 8,
    "NVIDIA/cutlass": 6,
}
#: What became of ``port`` where it was not run.
LATER: Final = "later"
_TEMPLATE: Final = re.compile(r"\btemplate\s*<[^;{}]*\b__global__\b")
#: Reasons after which another way of the same source is not tried.
_FINAL: Final = frozenset({"time", "standard", "project", "elsewhere", "torch", "library"})


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    for name, run in (("draw", draw), ("run", run_all), ("nvcc", run_nvcc)):
        command = commands.add_parser(name)
        if name != "draw":
            command.add_argument("entries", type=Path)
        command.add_argument("checkouts", type=Path)
        command.add_argument("--out", type=Path, required=True)
        command.set_defaults(run=run)
        if name == "draw":
            command.add_argument("--each", type=int, default=4, help="sources of each repository, but of suites")
            command.add_argument("--seed", type=int, default=1)
            command.add_argument("--blind", type=Path, help="the sources that blind.py drew, instead of list.toml's")
        if name == "run":
            command.add_argument("--python", type=Path, required=True)
            command.add_argument("--most", type=int, help="end after so many sources")
            command.add_argument(
                "--port-later", action="store_true", help="where no instance is needed; run again without"
            )
            command.add_argument("--limits", type=float, nargs=3, default=Limits(), metavar=("PORT", "CHECK", "BUILD"))
        if name == "nvcc":
            command.add_argument("--of", type=Path, help="results: only sources that compiled there")
            command.add_argument("--limit", type=float, default=60)
            command.add_argument("--include", type=Path, nargs="*", default=[], help="folders of other headers")
    command = commands.add_parser("link")
    command.add_argument("results", type=Path)
    command.add_argument("nvcc", type=Path)
    command.add_argument("checkouts", type=Path)
    command.add_argument("--python", type=Path, required=True)
    command.add_argument("--out", type=Path, required=True)
    command.add_argument("--limit", type=float, default=60)
    command.add_argument("--include", type=Path, nargs="*", default=[], help="folders of other headers, for nvcc")
    command.set_defaults(run=run_link)
    command = commands.add_parser("choose")
    command.add_argument("results", type=Path)
    command.add_argument("nvcc", type=Path)
    command.add_argument("--out", type=Path, required=True)
    command.add_argument("--failing", type=int, default=80)
    command.set_defaults(run=choose)
    command = commands.add_parser("compare")
    command.add_argument("old", type=Path)
    command.add_argument("new", type=Path)
    command.add_argument("--nvcc", type=Path)
    command.set_defaults(run=lambda args: compare(args.old, args.new, args.nvcc))
    args = parser.parse_args()
    return args.run(args) or 0


def draw(args: argparse.Namespace) -> None:
    """Write some sources of each repository with what a manifest would state, in a random order."""
    known = read_lines(args.out)
    found: list[Line] = []
    for entry, sources in _drawn(args):
        root = args.checkouts / entry.checkout
        lines = [{"repository": entry.name, "commit": entry.commit, "path": source} for source in sources]
        files: list[str] = []
        for line in lines:
            if key(line) not in known:
                files = files or list_files(root)
                line |= {"arch": entry.arch, "options": _options(entry, root, line["path"], files)}
        found += [known.get(key(line), line) for line in lines]
        print(entry.name, len(lines), flush=True)
    random.Random(args.seed).shuffle(found)
    write_lines(args.out, found)


def _drawn(args: argparse.Namespace) -> Iterator[tuple[Repository, list[str]]]:
    if args.blind:
        for name, data in json.loads(args.blind.read_text())["repositories"].items():
            yield Repository(name=name, commit=data["commit"], field="", folders=(".",)), data["sources"]
        return
    for entry in load_list():
        root = args.checkouts / entry.checkout
        if root.is_dir():
            prepare(entry, args.checkouts)
            yield entry, some(kernel_sources(entry, root), EACH.get(entry.name, args.each), args.seed)


def _options(entry: Repository, root: Path, source: str, files: list[str]) -> dict[str, Any]:
    options: dict[str, Any] = {"include": include_folders(root, source, files, entry.include_of(source, root))}
    options |= {"std": entry.std} if entry.std != "c++17" else {}
    options |= {"define": dict(entry.define)} if entry.define else {}
    options |= {"pre_include": list(entry.pre_include)} if entry.pre_include else {}
    return options


def run_all(args: argparse.Namespace) -> None:
    """Append the results of the sources that have none yet."""
    os.nice(10)
    scratch = args.out.absolute().with_suffix(".scratch")
    scratch.mkdir(exist_ok=True, parents=True)
    package = Package(args.python.absolute(), scratch, Limits(*args.limits))
    done = read_lines(args.out)
    version = package.version()
    print(version, flush=True)
    lines = read_lines(args.entries)
    left = [name for name in lines if name not in done or (is_later(done[name]) and not args.port_later)]
    for name in left[: args.most]:
        line = lines[name]
        root = args.checkouts.absolute() / line["repository"].replace("/", "+")
        if (root / line["path"]).is_file():
            if name in done:
                result = done[name] | {"port": with_digests(package.port(root, line))}
            else:
                result = run_one(package, root, entry_of(line), port_later=args.port_later) | version
            append_line(args.out, result)
            shown = [
                name,
                result["outcome"],
                str(len(result["kernels"])),
                result["way"] or "-",
                result["port"]["outcome"],
            ]
            print(*shown, result["message"][:60], flush=True)
    shutil.rmtree(scratch)


def is_later(line: Line) -> bool:
    return bool(line["port"]["outcome"] == LATER)


def run_one(package: Package, root: Path, entry: Line, *, port_later: bool = False) -> Line:
    """Return what the package makes of a source, in the way that it has or in the first that gives a kernel."""
    tried: dict[str, Attempt] = {}
    ported: Line = {"outcome": LATER, "seconds": 0}
    if port_later and not _TEMPLATE.search((root / entry["path"]).read_text(errors="replace")):
        tried["auto"] = package.attempt(root, entry, "auto", ported)
    if not tried or not tried["auto"].kernels:
        ported, tried = package.port(root, entry), {}
    for way in (entry["way"],) if entry.get("way") else WAYS:
        if any(attempt.kernels for attempt in tried.values()):
            break
        if way == "port" and "manifest" not in ported:
            continue
        if way == "port" and ported["outcome"] != "done" and not entry.get("way"):
            continue
        tried[way] = package.attempt(root, entry, way, ported)
        if tried[way].kernels or tried[way].outcome in _FINAL:
            break
    best = next((way for way, attempt in tried.items() if attempt.kernels), None)
    shown = tried[best] if best else next(iter(tried.values()), Attempt("failed", ported["message"]))
    return {
        **entry,
        "way": best,
        **({"module": drafted(ported, entry)} if best in ("auto", "drop") and "module" not in entry else {}),
        "outcome": shown.outcome,
        "message": shown.message,
        "kernels": {name: ",".join(kernel) for name, kernel in shown.kernels.items()},
        "dropped": shown.dropped,
        "cost": shown.cost,
        "tried": {way: f"{attempt.outcome} {attempt.message}".strip() for way, attempt in tried.items()},
        "port": with_digests(ported),
    }


def with_digests(ported: Line) -> Line:
    """Return what ``port`` gave with digests of the patch and the draft, and these as texts of another name."""
    given = [name for name in ("patch", "manifest") if name in ported]
    texts = {f"{name}_text": ported[name] for name in given}
    return ported | texts | {name: _digest(ported[name]) for name in given}


def run_nvcc(args: argparse.Namespace) -> None:
    """Append what nvcc makes of the sources that have none yet."""
    os.nice(10)
    done = read_lines(args.out)
    of = read_lines(args.of) if args.of else None
    for name, line in read_lines(args.entries).items():
        root = args.checkouts.absolute() / line["repository"].replace("/", "+")
        wanted = of is None or of.get(name, {}).get("outcome") == "compiled"
        if wanted and name not in done and (root / line["path"]).is_file():
            found = by_nvcc(root, line, args.limit, [folder.absolute() for folder in args.include])
            made = {kernel: ",".join(digests) for kernel, digests in found.get("kernels", {}).items()}
            append_line(args.out, {"repository": line["repository"], "path": line["path"], **found, "kernels": made})
            print(name, found["outcome"], len(made), found["message"][:80], flush=True)


def run_link(args: argparse.Namespace) -> None:
    """Append how the kernels compare after nvJitLink, of the sources some of whose kernels are not nvcc's."""
    os.nice(10)
    done, nvcc = read_lines(args.out), read_lines(args.nvcc)
    scratch = args.out.absolute().with_suffix(".scratch")
    scratch.mkdir(exist_ok=True, parents=True)
    package = Package(args.python.absolute(), scratch, Limits(build=args.limit, check=args.limit))
    for name, line in read_lines(args.results).items():
        theirs = nvcc.get(name, {}).get("kernels", {})
        other = [one for one, made in line["kernels"].items() if one in theirs and made != theirs[one]]
        if other and name not in done:
            root = args.checkouts.absolute() / line["repository"].replace("/", "+")
            flags = list(nvcc[name].get("flags", ()))
            found = linked(package, root, line, flags, [folder.absolute() for folder in args.include], args.limit)
            append_line(args.out, {"repository": line["repository"], "path": line["path"], **found})
            print(
                name, found["outcome"], Counter(found.get("kernels", {}).values()), found.get("message", ""), flush=True
            )
    shutil.rmtree(scratch)


def choose(args: argparse.Namespace) -> None:
    """Write all sources that compile, and some of those that do not: of each reason in turn, from all repositories."""
    results, nvcc = read_lines(args.results), read_lines(args.nvcc)
    kept = {name for name, line in results.items() if line["outcome"] == "compiled"}
    by_reason: dict[str, list[str]] = defaultdict(list)
    for name, line in results.items():
        if name not in kept:
            by_reason[line["outcome"]].append(name)
    turns = itertools.chain.from_iterable(itertools.zip_longest(*by_reason.values()))
    kept |= set(list(filter(None, turns))[: args.failing])
    write_lines(args.out, [brief(line, nvcc.get(name)) for name, line in sorted(results.items()) if name in kept])


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()


if __name__ == "__main__":
    sys.exit(main())
