"""Compile jobs of one source in a folder, the short way."""

from __future__ import annotations

from hatch_cuda_kernels.arch import SmArch
from hatch_cuda_kernels.compiler.job import Recipe
from hatch_cuda_kernels.compiler.recipe_reader import read_recipe
from hatch_cuda_kernels.options import NvrtcOptions


def job_of(root, source="k.cu", *, arch="sm_90", kinds=("cubin",), options=None, module="m", **recipe):
    """Return the job of a source below ``root``; ``recipe`` may have names, globals and headers."""
    made = Recipe(module=module, sources=(source,), options=options or NvrtcOptions(), **recipe)
    return made.job(read_recipe(made, root), SmArch.parse(arch), kinds)
