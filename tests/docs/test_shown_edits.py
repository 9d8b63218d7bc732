"""The page on what NVRTC is shown of a source shows what it is shown, and what is said of a use."""

from __future__ import annotations

import pytest
from doc_blocks import DOCS, blocks_of

from hatch_cuda_kernels.arch import SmArch
from hatch_cuda_kernels.compiler.job import Recipe
from hatch_cuda_kernels.compiler.nvrtc import run_job
from hatch_cuda_kernels.compiler.recipe_reader import further_levels, read_recipe
from hatch_cuda_kernels.errors import CompileError
from hatch_cuda_kernels.options import NvrtcOptions

PAGE = DOCS / "explanation" / "what-nvrtc-is-shown.md"
TEXTS = [block.text for block in blocks_of(PAGE) if block.language == "cpp"]
#: What the snippets use and do not show.
AROUND = {
    "log(n)": "void log(int);\n",
    "fill<<<": "template <class T> __global__ void fill(T*);\n",
    "read_seed": "int read_seed();\n",
}


def shown(root, text):
    """Return what NVRTC takes of a source, after its objections. Raises CompileError if it takes nothing."""
    (root / "k.cu").write_text(text)
    recipe = Recipe(module="k", sources=("k.cu",), options=NvrtcOptions())
    sources = read_recipe(recipe, root)
    while True:
        (unit,) = recipe.units(sources)
        try:
            run_job(recipe.compile_job(unit, SmArch.parse("sm_90"), ("ptx", "cubin")))
        except CompileError as error:
            levels = further_levels(recipe, root, sources, error)
            if levels is None:
                raise
            sources = read_recipe(recipe, root, levels=levels)
        else:
            return sources.units[0].source


@pytest.mark.parametrize(("before", "after"), [*zip(TEXTS[::2], TEXTS[1::2], strict=True)])
def test_an_edit_is_as_shown(tmp_path, before, after):
    """But for blanks; lines are as in the file."""
    around = "".join(text for word, text in AROUND.items() if word in before)
    found = shown(tmp_path, around + before).removeprefix(around)
    assert found.count("\n") == before.count("\n")
    assert "".join(found.split()) == "".join(after.split())


def test_a_use_of_a_static_member_is_told_by_the_place_of_its_definition(tmp_path):
    """Its declaration stays as it is."""
    source = "struct A { static int n; };\nint A::n = 4;\n__global__ void k(int* x) { *x = A::n; }\n"
    with pytest.raises(CompileError, match=r"k\.cu:2: error: A::n has no device mark, and device code uses it"):
        shown(tmp_path, source)


def test_a_use_of_what_was_cut_is_told_as_shown(tmp_path):
    """By the place of what was cut."""
    source = "float factor = 2.0f;\n__global__ void scale(float* x) { *x *= factor; }\n"
    (said,) = [block.text for block in blocks_of(PAGE) if block.language == "text"]
    with pytest.raises(CompileError) as raised:
        shown(tmp_path, source)
    assert said in f"{raised.value}\n"
