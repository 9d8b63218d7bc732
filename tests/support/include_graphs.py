"""Random projects whose headers include each other, from a seed: ``python tests/support/include_graphs.py COUNT``.

Each is compiled in one process as it is, and in another with all headers precompiled that it can begin with. What each
header sees of the others, and of the toolkit's, is in the kernel, so another order gives another image.
"""

from __future__ import annotations

import random
import sys
import tempfile
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

from precompiled_here import in_use

from hatch_cuda_kernels.arch import SmArch
from hatch_cuda_kernels.child_process import ChildProcess
from hatch_cuda_kernels.compiler.job import Recipe
from hatch_cuda_kernels.compiler.precompiled import Beginning, Preamble, Toolkit
from hatch_cuda_kernels.compiler.recipe_reader import read_recipe
from hatch_cuda_kernels.compiler.toolchain.toolchain import load_toolchain
from hatch_cuda_kernels.errors import CompileError
from hatch_cuda_kernels.options import NvrtcOptions
from hatch_cuda_kernels.plan import finisher_of
from hatch_cuda_kernels.pool.executors import Task, compile_task, needed_tools
from hatch_cuda_kernels.pool.schedule import choose_preambles

#: Headers of the toolkit and of this package, with what shows that one was read.
OUTSIDE = {
    "<cuda_fp16.h>": "__CUDA_FP16_H__",
    "<vector_types.h>": "__VECTOR_TYPES_H__",
    "<cuda/std/cassert>": "_CUDA_STD_CASSERT",
    "<cuda/std/climits>": "_CUDA_STD_CLIMITS",
    "<cuda/std/cstddef>": "_CUDA_STD_CSTDDEF",
    "<cstdint>": "_HATCH_CSTDINT",
    "<limits.h>": "_HATCH_LIMITS_H",
}
GUARDS = ("once", "ifndef", "ifndef", "none")


def write_project(chance, root):
    """Write ``k.cu`` and its headers, and return the options. An unguarded header includes only guarded ones."""
    count = chance.randint(1, 6)
    guards = {f"{chance.choice(('', 'a/', 'b/'))}h{number}.h": chance.choice(GUARDS) for number in range(count)}
    for path, guard in guards.items():
        others = [other for other in guards if guard != "none" or guards[other] != "none"]
        text = includes(chance, path, others) + seen(chance, path, guards)
        more = includes(chance, path, others) if chance.random() < 0.3 else ""
        name = macro(path)
        if guard == "once":
            text = f"#pragma once\n{text}{more}"
        elif guard == "ifndef":
            test = chance.choice(("#ifndef", "#if !defined"))
            text = f"{test} {name}\n#define {name}\n{text}{more}#endif\n"
        (root / path).parent.mkdir(exist_ok=True)
        (root / path).write_text(text)
    calls = "".join(f"#ifdef F_{macro(path)}\n    y += F_{macro(path)};\n#endif\n" for path in guards)
    guard = chance.choice(("", "", "#pragma once\n", "#ifndef K_CU\n#define K_CU\n"))
    source = includes(chance, "k.cu", [*guards, *["k.cu"] * bool(guard)])
    kernel = f'__device__ int table[2];\nextern "C" __global__ void k(int* y) {{\n{calls}}}\n'  # for ptxas to finish
    (root / "k.cu").write_text(f"{guard}{source}{kernel}" + "#endif\n" * ("ifndef" in guard))
    before = (chance.choice([*guards, "cuda_fp16.h"]),) if chance.random() < 0.2 else ()
    return NvrtcOptions(include=(".",), pre_include=before)


def macro(path):
    """Return the macro that shows that a header was read."""
    return path.replace("/", "_").replace(".", "_").upper()


def includes(chance, path, others):
    """Return some includes, of the project's headers and others."""
    depth = path.count("/")
    lines = []
    for _ in range(chance.choice((1, 1, 2, 3))):
        name = chance.choice(others) if others and chance.random() < 0.5 else chance.choice([*OUTSIDE])
        if name not in OUTSIDE:
            name = chance.choice((f'"{"../" * depth}{name}"', f"<{name}>"))
        before = chance.choice(("", "", "", "// a comment\n", "#pragma GCC system_header\n"))
        lines.append(f"{before}#include {name}\n")
    return "".join(lines)


def seen(chance, path, guards):
    """Return code that depends on what was read before it, once; nothing for a header that counts again and again."""
    if guards[path] == "none":
        return f"struct Again_{macro(path)};\n" if chance.random() < 0.3 else ""
    if chance.random() < 0.3:
        return ""
    name = macro(path)
    shown = ["SEEN_" + macro(other) for other in guards]
    lines = [f"#define SEEN_{name}\n#define F_{name} f_{name}(y)\n__device__ inline int f_{name}(int* y) {{\n"]
    lines.append("    int mask = __LINE__;\n")
    for bit, known in enumerate([*shown, *OUTSIDE.values()]):
        lines.append(f"#ifdef {known}\n    mask += {1 << bit} << 8;\n#endif\n")
    return "".join((*lines, "    *y += mask;\n    return 1;\n}\n"))


@contextmanager
def two_processes():
    """Yield a function that gives the outcome for a seed: ``refused`` and ``different`` tell of both compiles."""
    with ChildProcess() as plainly, ChildProcess() as begun:

        def outcome(seed, root):
            job = job_of(root, write_project(random.Random(seed), root))
            toolkit = Toolkit(load_toolchain().include_dirs, job.program.outside)
            found = Beginning(job.program, job.options, toolkit)
            headers = found.headers if job.finisher == "ptxas" else ()
            choose_preambles([job] * 3, 1)
            preamble = Preamble(headers, f"{seed} {found.digest(headers)}", 1)
            plain, other = compile_in(plainly, job, None), compile_in(begun, job, preamble)
            used = begun.call((in_use, (), {}))
            if plain != other:
                return f"different: {seed}"
            return "refused" if isinstance(plain, str) else "precompiled" if headers and used else "same"

        yield outcome


def job_of(root, options):
    """Return the job of a project as a build has it."""
    recipe = Recipe(module="m", sources=("k.cu",), options=options)
    sources = read_recipe(recipe, root)
    finisher = finisher_of(recipe, "per-arch", sources)
    return recipe.compile_job(recipe.units(sources)[0], SmArch.parse("sm_90"), ("cubin", "ptx"), finisher=finisher)


def compile_in(child, job, preamble):
    """Return all of what a job gives that must be the same; the error's text where it fails."""
    task = Task(needed_tools([job]), job, preamble)
    task.announce(1)
    try:
        made = child.call((compile_task, (task,), {}))
    except CompileError as error:
        return str(error)
    return made.images, made.kernels, made.globals, made.resources, made.log


if __name__ == "__main__":
    outcomes = Counter()
    with two_processes() as outcome:
        for seed in range(int(sys.argv[1])):
            with tempfile.TemporaryDirectory() as name:
                outcomes[outcome(seed, Path(name))] += 1
    sys.stdout.write("".join(f"{count} {what}\n" for what, count in sorted(outcomes.items())))
