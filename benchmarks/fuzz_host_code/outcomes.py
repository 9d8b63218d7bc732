"""What nvcc and this package make of small sources: the PTX of each kernel with all that it reaches, or a refusal."""

from __future__ import annotations

import re
import subprocess
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from hatch_cuda_kernels.arch import SmArch
from hatch_cuda_kernels.compiler.job import Recipe
from hatch_cuda_kernels.compiler.nvrtc import run_job
from hatch_cuda_kernels.compiler.recipe_reader import further_levels, read_recipe
from hatch_cuda_kernels.errors import CompileError, InputError
from hatch_cuda_kernels.options import HostCode, NvrtcOptions

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

__all__ = ["Made", "by_nvcc", "by_project", "outcome", "write_files"]

_ITEM = re.compile(
    r"^(?P<head>[^\n{;]*\.(?:entry|func)\b[^{;]*?)(?:;|\n\{(?P<body>.*?)\n\})"
    r"|^(?P<variable>(?:\.(?:visible|weak|extern|common)\s+)*\.(?:global|const|shared)\s[^;]*);",
    re.MULTILINE | re.DOTALL,
)
_FUNCTION_NAME = re.compile(r"\.(?:entry|func)\s*(?:\([^)]*\)\s*)?([\w$]+)")
_VARIABLE_NAME = re.compile(r"([\w$]+)(?:\[\d*\])*\s*(?:=|\Z)")
#: The kernels that are compared; others are instances that only a host's launch asks for.
_KERNEL = re.compile(r"_Z\d+k\d+_\d+P")
_WORD = re.compile(r"[A-Za-z_$][\w$]*")
#: Names that depend on what else is compiled, or on the name of a file.
_LOCAL = re.compile(
    r"\$str\S*|__unnamed_\d+|_ZN\d+_INTERNAL_.*|_ZN\d+_GLOBAL__.*|_ZZ?N?\d*_?\w*_GLOBAL__\w*|\w*__hatch_\w*"
)
_PLACE = re.compile(r"^s(\d+)/[^\n:(]*[:(]\d+", re.MULTILINE)
_OWN_PLACE = re.compile(r"(?:^|[ (])[\w./]+\.\w+[:(]\d+", re.MULTILINE)


class Made(NamedTuple):
    """Digests by kernel, or None with what the compiler said."""

    kernels: dict[str, str] | None
    said: str = ""


def write_files(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def kernels_of(ptx: str) -> dict[str, str]:
    """Return, of each kernel, its PTX with the functions and variables that it reaches, labels aside."""
    ptx = re.sub(r"(?<!\S)//.*", "", ptx)
    for pattern, to in (
        (r"\$L__BB\d+_", "$L__BB_"),
        (r"__local_depot\d+", "__local_depot"),
        (r"callseq \d+", "callseq"),
    ):
        ptx = re.sub(pattern, to, ptx)
    items: dict[str, str] = {}
    entries: dict[str, str] = {}
    for match in _ITEM.finditer(ptx):
        text = " ".join(match[0].split())
        if match["variable"]:
            declared = _VARIABLE_NAME.search(
                match["variable"].partition("=")[0] + ("=" if "=" in match["variable"] else "")
            )
            name = declared[1] if declared else ""
            text = re.sub(r"^\.(?:visible|weak) ", "", text)
        else:
            found = _FUNCTION_NAME.search(match["head"])
            name = found[1] if found else ""
        if match["head"] and ".entry" in match["head"]:
            entries[name] = text
        elif name not in items or match["body"]:
            items[name] = text
    return {name: _digest(text, items) for name, text in entries.items() if _KERNEL.match(name)}


def _digest(text: str, items: Mapping[str, str]) -> str:
    reached: dict[str, None] = {}
    waiting = [text]
    pieces = []
    while waiting:
        here = waiting.pop()
        pieces.append(here)
        for word in _WORD.findall(here):
            if word in items and word not in reached:
                reached[word] = None
                waiting.append(items[word])
    whole = " ".join(pieces)
    for at, name in enumerate(name for name in reached if _LOCAL.fullmatch(name)):
        whole = re.sub(rf"(?<![\w$]){re.escape(name)}(?![\w$])", f"local{at}", whole)
    return sha256(whole.encode()).hexdigest()[:16]


def by_nvcc(folder: Path, numbers: Iterable[int], flags: Iterable[str]) -> dict[int, Made]:
    """Return what nvcc makes of sources, each in a folder ``s<number>``, many in one compile."""
    left, made = [*numbers], dict[int, Made]()
    while left:
        done, ptx = _nvcc(folder, left, flags)
        if not done:
            kernels = kernels_of(ptx)
            made |= {
                number: Made({name: one for name, one in kernels.items() if name.endswith((f"_{number}Px",))})
                for number in left
            }
            break
        blamed = {int(number) for number in _PLACE.findall(done)} & {*left}
        if not blamed and len(left) == 1:
            blamed = {*left}
        if not blamed:
            half = len(left) // 2
            return made | by_nvcc(folder, left[:half], flags) | by_nvcc(folder, left[half:], flags)
        made |= {number: Made(None, _about(done, number)) for number in blamed}
        left = [number for number in left if number not in blamed]
    return made


def _about(said: str, number: int) -> str:
    lines = [line for line in said.splitlines() if line.startswith(f"s{number}/")]
    return "\n".join(lines) or said[-2000:]


def _nvcc(folder: Path, numbers: Iterable[int], flags: Iterable[str]) -> tuple[str, str]:
    """Return what nvcc says, empty where it takes sources, and their PTX."""
    (folder / "batch.cu").write_text("".join(f'#include "s{number}/k.cu"\n' for number in numbers))
    out = folder / "batch.ptx"
    command = ["nvcc", "-ptx", "-arch=compute_90", "-w", *flags, "-o", out.name, "batch.cu"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode:
        return done.stderr + done.stdout or "nvcc said nothing", ""
    return "", out.read_text(errors="replace")


def by_project(root: Path, std: str) -> Made:
    """Return what this package makes of ``k.cu``."""
    recipe = Recipe(module="k", sources=("k.cu",), options=NvrtcOptions(host_code=HostCode("auto"), std=std))
    try:
        sources = read_recipe(recipe, root)
        while True:
            (unit,) = recipe.units(sources)
            try:
                made = run_job(recipe.compile_job(unit, SmArch.parse("sm_90"), ("cubin", "ptx")))
                return Made(kernels_of(made.images["ptx"].decode()))
            except CompileError as error:
                levels = further_levels(recipe, root, sources, error)
                if levels is None:
                    raise
                sources = read_recipe(recipe, root, levels=levels)
    except (InputError, CompileError) as error:
        return Made(None, str(error))
    except Exception as error:  # noqa: BLE001 - what is looked for
        return Made(None, f"CRASH {type(error).__name__}: {error}")


def outcome(theirs: Made, ours: Made) -> str:
    """Return how one compares with the other."""
    if ours.kernels is None:
        if ours.said.startswith("CRASH"):
            return "CRASH"
        if theirs.kernels is None:
            return "both refuse"
        return "refused" if _OWN_PLACE.search(ours.said) else "refused without a place"
    if theirs.kernels is None:
        return "TAKEN"
    return "same" if theirs.kernels == ours.kernels else "DIFFERENT"
