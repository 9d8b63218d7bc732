"""Sources whose device code launches kernels or calls the runtime: nvcc's -rdc=true with cudadevrt, here ``libraries``.

The text says which sources are worth a compile; NVRTC and the linker tell.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from hatch_cuda_kernels.compiler.link_faults import lacks_device_runtime
from hatch_cuda_kernels.compiler.recipe_reader import read_recipe
from hatch_cuda_kernels.errors import CompileError, InputError
from hatch_cuda_kernels.manifest import parse_manifest
from hatch_cuda_kernels.pool.apart import compile_apart, one_worker
from hatch_cuda_kernels.source.library import DEVICE_RUNTIME
from hatch_cuda_kernels.source.project import Project

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from hatch_cuda_kernels.arch import SmArch
    from hatch_cuda_kernels.compiler.recipe import Recipe
    from hatch_cuda_kernels.port.sources import Sources

__all__ = ["stated_of", "stated_with_runtime", "with_device_runtime"]

#: A launch, or a function that the runtime has for device code, too.
_USE: Final = re.compile(
    r"<<<|\bcuda(?:Device|Event|Free|Func|Get|Launch|Malloc|Memcpy|Memset|Occupancy|Peek|RuntimeGet|Stream)\w*\s*\("
)


def with_device_runtime(sources: Sources, arch: SmArch) -> Sources:
    """Return sources that link the device runtime where they do not compile for want of it. Raises ToolchainError."""
    if sources.recipes[0].libraries or not _may_use_runtime(sources):
        return sources
    return replace(sources, recipes=tuple(_with_runtime(one, sources, arch) for one in sources.recipes))


def stated_with_runtime(stated: dict[str, Any], arches: Iterable[SmArch]) -> dict[str, Any]:
    """Return what a manifest states of a module that links the device runtime, which no PTX is linked with."""
    real = [str(arch) for arch in arches if not arch.virtual]
    return {**stated, "libraries": [DEVICE_RUNTIME], "arches": real}


def stated_of(recipe: Recipe, root: Path) -> dict[str, Any]:
    """Return what a manifest in ``root`` states of a module of one source, for the default architectures."""
    stated = {"source": recipe.sources[0]}
    if not recipe.libraries:
        return stated
    (module,) = parse_manifest(json.dumps({"schema": 1, "modules": {"module": stated}}), root=root).modules
    return stated_with_runtime(stated, module.arches)


def _may_use_runtime(sources: Sources) -> bool:
    for outline in sources.outlines.values():
        text = outline.source.text
        for item in outline.items:
            declared = item.declaration
            is_body = declared.ending == "{}" and sources.facts.is_marked(text[item.start : declared.last])
            if is_body and _USE.search(text, declared.last, item.end):
                return True
    return False


@one_worker()
def _with_runtime(recipe: Recipe, sources: Sources, arch: SmArch) -> Recipe:
    project = Project(sources.root, sources.shown(), readings=sources.project.readings)
    other = replace(recipe, libraries=(DEVICE_RUNTIME,))
    return other if _lacks_runtime(recipe, project, arch) and not _lacks_runtime(other, project, arch) else recipe


def _lacks_runtime(recipe: Recipe, project: Project, arch: SmArch) -> bool:
    try:
        compile_apart(recipe.job(read_recipe(recipe, project.files.root, project=project), arch, ("cubin",)))
    except CompileError as error:
        return lacks_device_runtime(error.log)
    except InputError:
        pass
    return False
