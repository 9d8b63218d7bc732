"""Compares ``host_code: drop`` with nvcc, over checkouts of other projects: the kernels must be the same machine code.

    python benchmarks/corpus_host_code.py FOLDER... [--match '*.cu'] [--files 40] [--seed 1] [--record FILE.md]

FOLDER is a checkout. Of its .cu files with a kernel, up to --files are compiled by nvcc as they are; of those that
nvcc takes, NVRTC compiles what it is shown of them, with the instances that nvcc's host code asked for. Then the text
sections are compared, kernel by kernel. Where they differ, nvcc compiles what NVRTC is shown, too: if that is what it
makes of the file as it is, the compilers differ and not the texts. Prints a line for each
file and a table. Nothing in the folders is changed or run; no GPU.
"""

from __future__ import annotations

import argparse
import random
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

sys.path.append(str(Path(__file__).parents[1] / "tests" / "support"))

from raw_nvrtc import RawResult, compile_raw

from hatch_cuda_kernels.compiler.binary.cubin import read_elf
from hatch_cuda_kernels.compiler.job import Recipe
from hatch_cuda_kernels.compiler.recipe_reader import read_recipe
from hatch_cuda_kernels.compiler.toolchain.toolchain import load_toolchain
from hatch_cuda_kernels.errors import InputError
from hatch_cuda_kernels.names import VIRTUAL_ROOT
from hatch_cuda_kernels.options import HostCode, NvrtcOptions

if TYPE_CHECKING:
    from hatch_cuda_kernels.execution_space import DeviceSource

ARCH: Final = "sm_90"
#: Folders of a checkout that its build searches for headers.
INCLUDE: Final = ("Common", "common", "include", "inc", "src", "cuda")
LIMIT_S: Final = 120
#: Kernels that host functions of the toolkit's headers launch; they are not the file's.
LIBRARIES: Final = re.compile("(?:void )?(?:cub|thrust)::")
_INTERNAL: Final = re.compile(r"(?:_INTERNAL|__nv_static)_\w+|_GLOBAL__N__\w+|\(anonymous namespace\)")
_ERROR: Final = re.compile(r"\((\d+)\): (?:catastrophic )?error(?: #\d+-D)?: (.*)")


class Outcome(NamedTuple):
    """What became of one file."""

    path: str
    verdict: str
    """``equal``, ``different`` or ``refused`` by NVRTC; ``no kernels``; ``not for nvcc``.

    After a comma, whether nvcc, too, makes other code of what NVRTC is shown; if not, the compilers differ, not texts.
    """
    reason: str = ""
    kernels: int = 0
    changes: int = 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--match", default="*.cu", help="the pattern of their paths")
    parser.add_argument("--files", type=int, default=40, help="how many files of each folder are compiled")
    parser.add_argument("--seed", type=int, default=1, help="which ones")
    parser.add_argument("--record", type=Path, help="write the table to a file, too")
    args = parser.parse_args()
    outcomes = [outcome for folder in args.folders for outcome in compare_all(folder, args)]
    text = table(outcomes)
    print(text)
    if args.record:
        args.record.write_text(text)


def compare_all(folder: Path, args: argparse.Namespace) -> list[Outcome]:
    """Return what became of a checkout's files."""
    paths = sorted(path for path in folder.rglob(args.match) if path.is_file() and b"__global__" in path.read_bytes())
    chosen = sorted(random.Random(args.seed).sample(paths, min(args.files, len(paths))))
    found = []
    for path in chosen:
        outcome = compare(folder, path)
        print(*outcome, sep="\t", flush=True)
        found.append(outcome)
    return found


def compare(folder: Path, path: Path) -> Outcome:
    """Compile one file both ways."""
    name = f"{folder.name}/{path.relative_to(folder).as_posix()}"
    here = path.parent.relative_to(folder).as_posix()
    include = [part for part in (here, *INCLUDE) if (folder / part).is_dir()]
    reference = nvcc(folder, path, include)
    if reference is None:
        return Outcome(name, "not for nvcc")
    wanted = {kernel: code for kernel, code in texts(reference).items() if not LIBRARIES.match(kernel)}
    if not wanted:
        return Outcome(name, "no kernels")
    try:
        options = NvrtcOptions(include=tuple(include), host_code=HostCode.DROP)
        closure = read_recipe(
            Recipe(module="m", sources=(path.relative_to(folder).as_posix(),), options=options), folder
        ).units[0]
    except InputError as error:
        return Outcome(name, "refused", str(error).splitlines()[0])
    result = nvrtc(closure, tuple(expression(kernel) for kernel in wanted if "<" in kernel))
    reason = differences(wanted, texts(result.cubin)) if result.ok else first_error(result.log)
    verdict = "different" if result.ok and reason else "refused" if reason else "equal"
    if reason and (again := nvcc_of(closure, wanted)) is not None:
        other = differences(wanted, texts(again))
        verdict = f"{verdict}, {'and by' if other else 'not'} nvcc"
        reason = other or reason
    return Outcome(name, verdict, reason[:200], len(wanted), len(closure.changes))


def differences(wanted: dict[str, bytes], made: dict[str, bytes]) -> str:
    """Return which kernels are missing or have other instructions."""
    absent = sorted(wanted.keys() - made.keys())
    other = sorted(kernel for kernel in wanted.keys() & made.keys() if wanted[kernel] != made[kernel])
    return "; ".join([*(f"{kernel} is missing" for kernel in absent), *other])


def nvcc_of(closure: DeviceSource, wanted: dict[str, bytes]) -> bytes | None:
    """Return nvcc's CUBIN of a closure, laid out in a folder; host code that takes addresses stands for launches."""
    with tempfile.TemporaryDirectory() as scratch:
        for name, text in ((closure.program_name, closure.source), *closure.headers):
            if not name.startswith(VIRTUAL_ROOT):  # a standard header: nvcc has the host's
                continue
            target = Path(scratch) / name.removeprefix(VIRTUAL_ROOT)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text.replace(VIRTUAL_ROOT, f"{scratch}/"))
        source = Path(scratch) / closure.program_name.removeprefix(VIRTUAL_ROOT)
        used = "".join(f"  (void)&{expression(kernel)};\n" for kernel in wanted if "<" in kernel)
        source.write_text(f"{source.read_text()}\nvoid hatch_uses_them() {{\n{used}}}\n")
        return nvcc(Path(scratch), source, [])


def nvcc(folder: Path, path: Path, include: list[str]) -> bytes | None:
    """Return nvcc's CUBIN of a file as it is; None where it refuses it."""
    with tempfile.TemporaryDirectory() as scratch:
        target = Path(scratch) / "a.cubin"
        flags = ("-cubin", f"-arch={ARCH}", "-std=c++17", "-w", *(f"-I{folder / part}" for part in include))
        try:
            done = subprocess.run(
                ["nvcc", *flags, "-o", target, path], capture_output=True, timeout=LIMIT_S, check=False
            )
        except subprocess.TimeoutExpired:
            return None
        return target.read_bytes() if done.returncode == 0 else None


def nvrtc(closure: DeviceSource, expressions: tuple[str, ...]) -> RawResult:
    """Return what NVRTC makes of a closure; an instance that it cannot name is not asked for."""
    folders = (f"-I{folder}" for folder in load_toolchain().include_dirs)
    default = ("-default-device",) if closure.cut.default_device else ()
    flags = ("--std=c++17", "-w", *default, *folders, *(f"--pre-include={name}" for name in closure.pre_include))

    def run(names: tuple[str, ...]) -> RawResult:
        return compile_raw(
            closure.source, *flags, name=closure.program_name, headers=closure.headers, arch=ARCH, expressions=names
        )

    result = run(expressions)
    if not result.ok and expressions and "__nv_name_map" in result.log:
        return run(tuple(name for name in expressions if run((name,)).ok))
    return result


def texts(cubin: bytes) -> dict[str, bytes]:
    """Return the instructions of each kernel and function, by demangled name."""
    elf = read_elf(cubin)
    found = {
        section.name[6:]: elf.content(section.name) for section in elf.sections if section.name.startswith(".text.")
    }
    names = subprocess.run(["c++filt"], input="\n".join(found), capture_output=True, text=True, check=True).stdout
    return {plain(name): code for name, code in zip(names.splitlines(), found.values(), strict=False)}


def plain(name: str) -> str:
    """Return a demangled name without what tells one translation unit's own names from another's."""
    return _INTERNAL.sub("", name).replace("::::", "::").removeprefix("::")


def expression(name: str) -> str:
    """Return the name expression of a demangled kernel: without its parameters and what it returns."""
    depth = 0
    for at in range(len(name) - 1, -1, -1):
        depth += (name[at] == ")") - (name[at] == "(")
        if name[at] == "(" and not depth:
            return name[:at].removeprefix("void ")
    return name


def first_error(log: str) -> str:
    """Return the first error of a log."""
    found = _ERROR.search(log)
    return f"line {found[1]}: {found[2]}" if found else log.strip().partition("\n")[0]


def table(outcomes: list[Outcome]) -> str:
    """Return the record's table."""
    counts = Counter(outcome.verdict for outcome in outcomes)
    lines = [f"{len(outcomes)} files: " + ", ".join(f"{count} {verdict}" for verdict, count in counts.most_common())]
    lines += ["", "| file | verdict | kernels | changes | reason |", "|---|---|---|---|---|"]
    shown = (outcome for outcome in outcomes if outcome.verdict not in {"not for nvcc", "no kernels"})
    lines += [f"| {one.path} | {one.verdict} | {one.kernels} | {one.changes} | {one.reason} |" for one in shown]
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    main()
