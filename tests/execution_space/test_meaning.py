"""What a source means is what it means to nvcc: the PTX of its kernels is the same, or it is refused.

``meaning/`` has small sources, and of each what nvcc 13.0 makes of its kernels, as digests of their PTX for compute_90;
null where nvcc refuses it.
"""

from __future__ import annotations

import json
import re
from hashlib import sha256
from pathlib import Path

import pytest

from hatch_cuda_kernels.arch import SmArch
from hatch_cuda_kernels.compiler.job import Recipe
from hatch_cuda_kernels.compiler.nvrtc import run_job
from hatch_cuda_kernels.compiler.recipe_reader import further_levels, read_recipe
from hatch_cuda_kernels.errors import CompileError, InputError
from hatch_cuda_kernels.options import HostCode, NvrtcOptions

FOLDER = Path(__file__).with_name("meaning")
CASE = re.compile(r"^=== ([^\n]*)\n(.*?)(?=^===|\Z)", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"^--- (\S+)\n", re.MULTILINE)
NVCC = json.loads((FOLDER / "nvcc.json").read_text())

#: Not as with nvcc, and why that is so.
DIFFERENT = {
    "03: typeid-ish sizeof __FILE__": "a file has one name wherever the project is",
    "12: THRUST_VERSION": "nvcc keeps an empty kernel of CUB's for each architecture",
    "12: CUB_VERSION device": "likewise",
    "12: CCCL_VERSION": "likewise",
    "12: cuda_fp16 versions": "the toolkit's headers define other macros for NVRTC",
    "12: va": "va_list is a pointer in device code",
}
#: nvcc refuses a use for its mark alone; the entity and its value are the same.
TAKEN = {
    "02: const volatile",
    "05: constexpr fn recursion w/ throw",
    "05: constexpr with if throw",
    "05: literal operator",
    "06: const pointers",
    "09: local struct in device fn with host-like methods",
    "09: ternary const",
    "11: implicit virtual through base w/ same sig unmarked in derived host",
    "12: CUFFT/CUSOLVER versions",
}
#: What NVRTC has no means for.
REFUSED = {
    "03: NVCC as token",
    "03: NVCC in code without condition",
    "03: __COUNTER__",
    "03: __COUNTER__ in dropped host lambda and macros",
    "04: aligned macro behind enum",
    "04: enum packed attr",
    "04: pragma pop_macro in function",
    "04: no_unique_address etc",
    "12: time types",
    "14: members by a macro with two definitions, and what cannot be compiled",
    "15: alignment in a template that is less for one instance",
    "18: in one branch, a header of the host's",
}


def cases_of(file):
    """Return the cases of a file as (name, text)."""
    number = file.stem.removeprefix("meaning-")
    return [(f"{number}: {name}", body) for name, body in CASE.findall(file.read_text())]


def entries(ptx):
    """Return the PTX of each kernel, labels aside, as a digest."""
    ptx = re.sub(r"//.*", "", ptx)
    for pattern, to in (
        (r"\$L__BB\d+_", "$L__BB_"),
        (r"__local_depot\d+", "__local_depot"),
        (r"callseq \d+", "callseq"),
    ):
        ptx = re.sub(pattern, to, ptx)
    found = re.finditer(r"\.visible \.entry (\w+)\((.*?)\n\}", ptx, re.DOTALL)
    return {one[1]: sha256(" ".join(one[2].split()).encode()).hexdigest()[:16] for one in found}


def compile_ptx(root, mode):
    """Return the PTX of ``k.cu``; None where it is refused."""
    recipe = Recipe(module="k", sources=("k.cu",), options=NvrtcOptions(host_code=HostCode(mode)))
    try:
        sources = read_recipe(recipe, root)
        while True:
            (unit,) = recipe.units(sources)
            try:
                made = run_job(recipe.compile_job(unit, SmArch.parse("sm_90"), ("ptx",)))
                return made.images["ptx"].decode()
            except CompileError as error:
                levels = further_levels(recipe, root, sources, error)
                if levels is None:
                    return None
                sources = read_recipe(recipe, root, levels=levels)
    except InputError:
        return None


def outcome(root, name, body, mode):
    """Return how a case compares with nvcc."""
    source, *rest = FILE.split(body)
    for path, text in (("k.cu", source), *zip(rest[::2], rest[1::2], strict=True)):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    theirs, ours = NVCC[name], compile_ptx(root, mode)
    if ours is None:
        return "both refuse" if theirs is None else "refused"
    if theirs is None:
        return "taken"
    return "same" if entries(ours) == theirs else "different"


@pytest.mark.slow
@pytest.mark.parametrize("file", sorted(FOLDER.glob("*.txt")), ids=lambda file: file.stem)
def test_kernels_are_as_with_nvcc(tmp_path, file):
    """No case gives another kernel than nvcc, but those that are named with a reason."""
    expected = {"different": {*DIFFERENT}, "taken": TAKEN, "refused": REFUSED}
    wrong = []
    for number, (name, body) in enumerate(cases_of(file)):
        root = tmp_path / str(number)
        root.mkdir()
        found = outcome(root, name, body, "auto")
        if name not in expected.get(found, {name}) or any(
            name in names for how, names in expected.items() if how != found
        ):
            wrong.append((found, name))
    assert wrong == []
