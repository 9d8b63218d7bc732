"""Public projects, sources untouched: each builds from a manifest of a few lines, which is in this folder.

    python benchmarks/projects/build.py CHECKOUTS --out FOLDER [--only NAME ...] [--jobs N] [--record DATE]

CHECKOUTS holds the repositories of projects.toml, each in a folder ``owner+name`` with its commit's files. What a
manifest leads to is copied to FOLDER/NAME with the manifest beside it; there the store is built, as ``build`` does it,
and then verified. Writes projects.json and projects.md into FOLDER; --record also into benchmarks/results/. What was
compiled before is taken from FOLDER/cache; the seconds are those of the compiles, whenever they were. Needs no GPU.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from project_list import Project, copy_sources, load_projects
from python_kernels import Written, write_kernels
from report import line, render

from hatch_cuda_kernels.build import build_store
from hatch_cuda_kernels.compiler.toolchain.toolchain import load_toolchain
from hatch_cuda_kernels.errors import HatchCudaKernelsError
from hatch_cuda_kernels.manifest import load_manifest
from hatch_cuda_kernels.names import normalize_name
from hatch_cuda_kernels.pool.progress import open_progress
from hatch_cuda_kernels.store.contents import open_package
from hatch_cuda_kernels.verify import verify_store

if TYPE_CHECKING:
    from hatch_cuda_kernels.build import BuildReport

HERE = Path(__file__).parent
RESULTS = HERE.parent / "results"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkouts", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--only", nargs="+", metavar="NAME", help="manifests, without .yaml")
    parser.add_argument("--jobs", type=int, metavar="N", help="parallel compiles")
    parser.add_argument("--record", metavar="DATE")
    args = parser.parse_args()
    os.environ["HATCH_CUDA_KERNELS_CACHE_DIR"] = str(args.out.absolute() / "cache")
    toolchain = load_toolchain()
    results: dict[str, Any] = {
        "toolchain": f"NVRTC {toolchain.nvrtc}, toolkit headers {toolchain.headers}",
        "projects": [],
    }
    for project in load_projects(HERE / "projects.toml"):
        if not args.only or project.name in args.only:
            results["projects"].append(build(project, args.checkouts, args.out.absolute() / project.name, args.jobs))
            print(line(results["projects"][-1]), flush=True)
    write(args.out / "projects", results)
    if args.record:
        write(RESULTS / f"{args.record}-projects", results)
    return int(any(found["problems"] for found in results["projects"]))


def write(path: Path, results: dict[str, Any]) -> None:
    path.with_suffix(".json").write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n")
    path.with_suffix(".md").write_text(render(results))


def build(project: Project, checkouts: Path, folder: Path, jobs: int | None) -> dict[str, Any]:
    """Return what a project's manifest gives: the size of its store and what ``verify`` says, or why there is none."""
    text = (HERE / f"{project.name}.yaml").read_text()
    found: dict[str, Any] = {"name": project.name, "commit": project.commit, "note": project.note}
    found |= {"lines": len(text.splitlines()), "characters": len(text)}
    shutil.rmtree(folder, ignore_errors=True)
    copy_sources(project, checkouts, folder)
    written = write_kernels(checkouts / project.checkout, project.python, folder / "kernels")
    if project.python:
        found["python"] = {"texts": len(written.names), "filled": written.filled, "left_out": written.left_out}
    (folder / "kernels.yaml").write_text(text)
    try:
        report = build_store(
            load_manifest(folder / "kernels.yaml"), folder / "store", workers=jobs, progress=open_progress()
        )
    except HatchCudaKernelsError as error:
        return found | {"problems": str(error).replace(f"{folder}/", "").splitlines()}
    found |= _counts(report)
    if project.python:
        found["python"] |= _listed(written, report)
    with open_package(str(folder / "store")) as reader:
        verification = verify_store(reader)
    return found | {"problems": [str(problem) for problem in verification.problems]}


def _counts(report: BuildReport) -> dict[str, Any]:
    entries = [entry for built in report.modules for entry in built.entries]
    return {
        "modules": len(report.modules),
        "kernels": sum(len(built.entries[0].kernels) for built in report.modules),
        "images": len(entries),
        "bytes": sum(len(entry.image) for entry in entries),
        "seconds": round(sum(entry.seconds for entry in entries), 1),
    }


def _listed(written: Written, report: BuildReport) -> dict[str, Any]:
    """Return how many name expressions the Python files list, and those of them that the store lacks."""
    built = {normalize_name(kernel.name) for module in report.modules for kernel in module.entries[0].kernels}
    listed = {name for names in written.names.values() for name in names}
    return {"listed": len(listed), "missing": sorted(name for name in listed if normalize_name(name) not in built)}


if __name__ == "__main__":
    sys.exit(main())
