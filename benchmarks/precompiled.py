"""Compiles that begin with a precompiled header, beside the same compiles without: do they give the same, and sooner?

    python benchmarks/precompiled.py CHECKOUTS --out FILE.json [--only NAME ...] [--each 4] [--arch sm_90]

CHECKOUTS holds repositories of corpus/list.toml, each in a folder ``owner+name``. Of each, some sources are taken, the
same for the same --seed, with the macros of the list and ``host_code: auto``. Each is compiled in one process as it is,
and in another with all headers precompiled that it can begin with. Images, kernels and logs are compared. Exits with 1
if any differ. Needs no GPU.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.append(str(Path(__file__).with_name("corpus")))

from drawn import drawn, options_of, source_parser

from hatch_cuda_kernels.arch import SmArch
from hatch_cuda_kernels.child_process import ChildDiedError, ChildProcess
from hatch_cuda_kernels.compiler import nvrtc, precompiled
from hatch_cuda_kernels.compiler.job import Recipe
from hatch_cuda_kernels.compiler.precompiled import Beginning, Preamble, Toolkit, with_preamble
from hatch_cuda_kernels.compiler.recipe_reader import read_recipe
from hatch_cuda_kernels.compiler.toolchain.toolchain import load_toolchain
from hatch_cuda_kernels.errors import HatchCudaKernelsError
from hatch_cuda_kernels.plan import finisher_of

if TYPE_CHECKING:
    from sources import Repository

    from hatch_cuda_kernels.compiler.job import CompileJob


def main() -> None:
    parser = source_parser(__doc__, each=4)
    parser.add_argument("--arch", default="sm_90")
    args = parser.parse_args()
    found: dict[str, dict[str, Any]] = {}
    for entry, root, source in drawn(args):
        name = f"{entry.name} {source}"
        found[name] = compare(entry, root, source, SmArch.parse(args.arch))
        print(name, *found[name].values(), flush=True)
        args.out.write_text(json.dumps(found, indent=1) + "\n")
    outcomes = [one["outcome"] for one in found.values()]
    print({outcome: outcomes.count(outcome) for outcome in sorted(set(outcomes))})
    sys.exit("different" in outcomes)


def compare(entry: Repository, root: Path, source: str, arch: SmArch) -> dict[str, Any]:
    """Return the outcome for a source, the headers that it begins with, and seconds: without, making, and with."""
    try:
        recipe = Recipe(module="source", sources=(source,), options=options_of(entry, root, source))
        sources = read_recipe(recipe, root, clocks=True)
        finisher = finisher_of(recipe, "per-arch", sources)
        job = recipe.compile_job(recipe.units(sources)[0], arch, ("cubin",), finisher=finisher)
    except HatchCudaKernelsError as error:
        return {"outcome": "not read", "why": str(error)[:100]}
    toolkit = Toolkit(load_toolchain().include_dirs, job.program.outside)
    headers = Beginning(job.program, job.options, toolkit).headers if finisher == "ptxas" else ()
    plain, begun = (run(job, given) for given in (None, Preamble(headers, source, 1)))
    if isinstance(plain, str) or isinstance(begun, str):
        return {"outcome": "fails" if isinstance(plain, str) else "different", "why": f"{plain} {begun}"[:100]}
    same = all(plain[key] == begun[key] for key in ("images", "kernels", "log"))
    outcome = "different" if not same else "same" if begun["begun"] else "not precompiled"
    return {"outcome": outcome, "headers": len(headers), "plain": plain["seconds"]} | {
        key: begun[key] for key in ("making", "seconds")
    }


def run(job: CompileJob, preamble: Preamble | None) -> dict[str, Any] | str:
    """Return what a job gives in a process of its own, compiled twice there; its error where it fails."""
    from precompiled import compile_twice  # the main module has another name there

    with ChildProcess() as child:
        try:
            return child.call((compile_twice, (job, preamble), {}))
        except (HatchCudaKernelsError, ChildDiedError) as error:
            return str(error) or type(error).__name__


def compile_twice(job: CompileJob, preamble: Preamble | None) -> dict[str, Any]:
    """Return what a job gives the second time, with the processor time of both."""
    used = []
    tried = precompiled.try_preamble
    precompiled.try_preamble = lambda *given: used.append(tried(*given)) or used[-1]
    start = time.process_time()
    with with_preamble(preamble, makes=True):
        nvrtc.run_job(job)
        between = time.process_time()
        made = nvrtc.run_job(job)
    end = time.process_time()
    return {
        "images": made.images,
        "kernels": made.kernels,
        "log": made.log,
        "begun": len(used) == 2 and None not in used,
        "making": round(between - start, 3),
        "seconds": round(end - between, 3),
    }


if __name__ == "__main__":
    main()
