"""From sources written for nvcc to a patch, with what it takes to compile their kernels."""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.port.draft import draft_manifest, find_templates
from hatch_cuda_kernels.port.guard import guarded
from hatch_cuda_kernels.port.launches import find_launches
from hatch_cuda_kernels.port.model import Ported
from hatch_cuda_kernels.port.refine import errors_of, refine
from hatch_cuda_kernels.port.sources import read_project_files
from hatch_cuda_kernels.port.torch_types import NOTE, stand_ins

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from hatch_cuda_kernels.arch import SmArch
    from hatch_cuda_kernels.port.sources import Sources

__all__ = ["port"]

#: Errors about what a standard header declares.
_BROUGHT: Final = re.compile(r'identifier "u?int\w*_t" is undefined|namespace "std" has no member')
_BROUGHT_NOTE: Final = (
    "a header that is guarded, such as Torch's, brought names of the standard's; include their own header for them,"
    " such as <cstdint>"
)


def port(root: Path, sources: Sequence[str], *, include: Sequence[str] = (), arch: SmArch | None = None) -> Ported:
    """Return the changes that let NVRTC compile sources and their headers; writes nothing.

    Paths are relative to ``root``. With ``arch``, NVRTC compiles for it, and what it complains about is guarded too
    where that is safe. Raises InputError for sources that cannot be read, ToolchainError where NVRTC is missing.
    """
    found = read_project_files(root, sources, include)
    if arch is not None:
        refine(found, arch)
    types, used = stand_ins(found.shown().values())
    notes = [*found.notes, *([NOTE.format(f"CUDA's types stand for Torch's {', '.join(used)}")] if used else [])]
    after = _after(found, types)
    remaining = errors_of(found, after, arch) if arch is not None else []
    if any(_BROUGHT.search(error.message) for error in remaining):
        notes.append(_BROUGHT_NOTE)
    templates = {path: find_templates(path, outline) for path, outline in found.outlines.items()}
    launches = {path: find_launches(path, outline) for path, outline in found.outlines.items()}
    all_launches = list(chain.from_iterable(launches.values()))
    modules = []
    for recipe in found.recipes:
        own = [path for path, _ in recipe.read(root).files if path in found.outlines]
        modules.append((recipe.source, list(chain.from_iterable(templates[path] for path in own)), all_launches))
    return Ported(
        before={path: found.texts[path] for path in after},
        after=after,
        guards=tuple(sorted(found.guards)),
        templates=tuple(chain.from_iterable(templates.values())),
        launches=tuple(all_launches),
        manifest=draft_manifest(modules, include),
        notes=tuple(dict.fromkeys(notes)),
        remaining=tuple(dict.fromkeys(f"{one.file}:{one.line}: {one.message}" for one in remaining)),
    )


def _after(sources: Sources, types: str) -> dict[str, str]:
    """Return the files that change, with their guards, and with types for NVRTC in each source."""
    starts = {recipe.source for recipe in sources.recipes}
    after = {}
    for path, outline in sources.outlines.items():
        text = guarded(outline, sources.changes[path], types if path in starts else "")
        if text != sources.texts[path]:
            after[path] = text
    return after
