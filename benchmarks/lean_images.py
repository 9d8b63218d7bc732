"""What leaving out unused variables does to images: NVRTC's own CUBIN of each source beside one that ptxas assembled.

    python benchmarks/lean_images.py --out FOLDER [--corpus CHECKOUTS] [--arch sm_90] [--record DATE]

The sources are those of the builds' benchmark and, with --corpus, those of public repositories (see corpus/run.py) that
a manifest compiles to an image with kernels, as the last corpus record says. Compares the machine code of each function
byte for byte, and the bytes of the images. Needs ptxas, but no GPU. What was compiled before is taken from FOLDER.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import statistics
import sys
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from build_sources import write_project
from machine_code import code, difference

from hatch_cuda_kernels.arch import SmArch
from hatch_cuda_kernels.compiler.binary.cubin import read_cubin
from hatch_cuda_kernels.compiler.nvrtc import run_job
from hatch_cuda_kernels.compiler.recipe_reader import read_recipe
from hatch_cuda_kernels.compiler.toolchain.libraries import require_ptxas
from hatch_cuda_kernels.compiler.toolchain.toolchain import load_toolchain
from hatch_cuda_kernels.errors import HatchCudaKernelsError
from hatch_cuda_kernels.manifest import parse_manifest

if TYPE_CHECKING:
    from collections.abc import Iterator

RESULTS = Path(__file__).with_name("results")


class Subject(NamedTuple):
    """One source, as a manifest of one module."""

    group: str
    name: str
    root: Path
    module: dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--corpus", type=Path, metavar="CHECKOUTS")
    parser.add_argument("--arch", default="sm_90")
    parser.add_argument("--record", metavar="DATE")
    args = parser.parse_args()
    subjects = [*benchmark_sources(args.out)]
    subjects += corpus_sources(args.corpus) if args.corpus else []
    rows = [row for subject in subjects if (row := kept_row(subject, args.arch, args.out)) is not None]
    text = render(rows, args.arch)
    print(text)
    if args.record:
        (RESULTS / f"{args.record}-lean-images.md").write_text(text)
        raw = "".join(f"{json.dumps(row)}\n" for row in rows)
        (RESULTS / "raw" / f"{args.record}-lean-images.jsonl").write_text(raw)


def benchmark_sources(out: Path) -> Iterator[Subject]:
    for matrix, group in (("30x8", "30 light sources"), ("cub10x8", "10 CUB sources")):
        project = write_project(matrix, out / matrix)
        for name, source in project.modules.items():
            module = {"source": f"kernels/{name}.cu", "options": {"include": ["include"]}}
            yield Subject(group, name, project.root, module | {"instances": list(source.instances)})


def corpus_sources(checkouts: Path) -> Iterator[Subject]:
    sys.path.append(str(Path(__file__).with_name("corpus")))
    from sources import load_list
    from ways import WAYS

    entries = {entry.name: entry for entry in load_list()}
    record = json.loads(max(RESULTS.rglob("*-corpus.json"), key=lambda path: path.name).read_text())
    for repository in record["repositories"]:
        entry = entries[repository["name"]]
        root = checkouts / entry.checkout
        for source, outcomes in repository["sources"].items():
            kernels = dict(outcome.split(": ") for outcome in outcomes.split(", ") if ": " in outcome)
            way = next((WAYS[way] for way in ("b", "c") if kernels.get(way, "0").strip("0").isdigit()), None)
            if way is not None and (root / source).is_file():
                options: dict[str, Any] = {"include": list(entry.include_of(source, root)), **way.options}
                options |= {"std": entry.std, "define": dict(entry.define)} if way.listed else {}
                module = {"source": source, "options": options}
                yield Subject("public sources", f"{entry.name} {source}", root, module)


def kept_row(subject: Subject, arch: str, out: Path) -> dict[str, Any] | None:
    """Return a source's row, from the folder if it is there; None, with a note, where it does not compile."""
    digest = hashlib.sha256(json.dumps([subject.name, subject.module, arch]).encode()).hexdigest()
    place = out / "rows" / f"{digest}.json"
    if not place.is_file():
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(json.dumps(row(subject, arch)))
    found: dict[str, Any] | None = json.loads(place.read_text())
    if found is None:
        print(f"{subject.name}: does not compile", file=sys.stderr)
    return found


def row(subject: Subject, arch: str) -> dict[str, Any] | None:
    text = json.dumps({"schema": 1, "arches": [arch], "modules": {"m": subject.module}})
    try:
        (module,) = parse_manifest(text, root=str(subject.root)).modules
        recipe = module.recipe
        (unit,) = recipe.units(read_recipe(recipe, subject.root))
        target, start = SmArch.parse(arch), time.perf_counter()
        own = run_job(recipe.compile_job(unit, target, ("cubin",), finisher="nvrtc")).images["cubin"]
        between = time.perf_counter()
        lean = run_job(recipe.compile_job(unit, target, ("cubin",), finisher="ptxas")).images["cubin"]
    except HatchCudaKernelsError:
        return None
    return {
        "group": subject.group,
        "name": subject.name,
        "kernels": len(read_cubin(own).kernels),
        "functions": len(code(own)),
        "difference": difference(lean, own),
        "bytes": [len(own), len(lean)],
        "variables": [len(read_cubin(image).variables) for image in (own, lean)],
        "seconds": [round(between - start, 3), round(time.perf_counter() - between, 3)],
    }


def render(rows: list[dict[str, Any]], arch: str) -> str:
    toolchain = load_toolchain()
    ptxas = require_ptxas(toolchain.nvrtc).version
    about = (
        f"NVRTC {toolchain.nvrtc}'s own CUBIN for {arch} of each source, and the image of the route that leaves out\n"
        f"what no kernel uses: NVRTC's PTX without it, assembled by ptxas {ptxas}.\n"
    )
    columns = ("sources", "number", "kernels", "same machine code", "addresses differ", "code differs", "smaller")
    columns += ("bytes", "lean", "variables", "lean")
    lines = ["# Lean images", "", about, f"| {' | '.join(columns)} |", f"|{'---|' * len(columns)}"]
    for group in dict.fromkeys(row["group"] for row in rows):
        mine = [row for row in rows if row["group"] == group]
        counts = Counter(row["difference"] for row in mine)
        sums = [sum(row[field][side] for row in mine) for field in ("bytes", "variables") for side in (0, 1)]
        smaller = sum(row["bytes"][1] < row["bytes"][0] for row in mine)
        cells = [len(mine), sum(row["kernels"] for row in mine), counts[""], counts["addresses"], counts["code"]]
        cells += [smaller, *(f"{value:,}" for value in sums)]
        lines.append(f"| {group} | {' | '.join(map(str, cells))} |")
    ratios = [row["bytes"][1] / row["bytes"][0] for row in rows]
    lines += ["", f"Bytes of a lean image against NVRTC's own: median {statistics.median(ratios):.2f}, "]
    lines[-1] += f"from {min(ratios):.2f} to {max(ratios):.2f}."
    others = [f"- {row['name']}: {row['difference']}" for row in rows if row["difference"]]
    lines += ["", "Where the machine code is not the same:", "", *others] if others else []
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
