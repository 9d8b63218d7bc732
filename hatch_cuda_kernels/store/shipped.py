"""The sources that a store was built from, read again: as the build saw them, or as a build here would."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hatch_cuda_kernels.compiler.recipe import Recipe
from hatch_cuda_kernels.compiler.recipe_reader import read_recipe
from hatch_cuda_kernels.errors import StoreError
from hatch_cuda_kernels.execution_space import NOT_CUT
from hatch_cuda_kernels.includes import OuterHeaders, Project, StandardHeaders, packaged_standard_headers
from hatch_cuda_kernels.options import NvrtcOptions
from hatch_cuda_kernels.store.index import DETAILS_FILE, INDEX_FILE

if TYPE_CHECKING:
    from pathlib import Path

    from hatch_cuda_kernels.execution_space import SourceSet
    from hatch_cuda_kernels.store.index import ModuleIndex
    from hatch_cuda_kernels.store.reader import StoreReader

__all__ = ["read_edited", "read_shipped", "recipe_of"]


def recipe_of(index: ModuleIndex, names: tuple[str, ...]) -> Recipe:
    """Return what a module was compiled from, and how; ``names`` are those of its details, or others of its source.

    Raises TypeError or ValueError for options that this version does not know.
    """
    return Recipe(
        module=index.module,
        sources=index.sources,
        libraries=tuple(name for name, _ in index.libraries),
        options=NvrtcOptions.from_canonical(index.options),
        names=names,
        globals=index.globals,
        headers=index.headers,
    )


def read_shipped(
    reader: StoreReader, index: ModuleIndex, recipe: Recipe, *, as_here: bool = False, with_changes: bool = False
) -> SourceSet:
    """Return a module's sources with their header closures, as the store has them.

    With ``as_here``, the closures are those of a build here. The toolkit's headers of another release ask for other
    standard headers than those in the store, so this package's own are taken. The store has edits, and not what each
    is made for: that comes ``with_changes``, which takes as long as a build's reading. Raises InputError, or StoreError
    where a file that is read is missing, or not the one that the index names.
    """
    root = reader.source_root(index.module)
    project = Project(root, only=index.files)  # other modules' files are there, too
    details = reader.details(index.module)
    cuts = details.cuts or (NOT_CUT,) * len(index.units)
    if [cut.digest for cut in cuts] != [unit.cut for unit in index.units]:
        where = str(reader.folder / index.module / DETAILS_FILE)
        raise StoreError(where, f"what it says was cut of the sources differs from what {INDEX_FILE} says")
    if as_here:
        return read_recipe(recipe, root, project=project, cuts=cuts)
    texts = reader.standard_headers(index.standard) if index.standard else {}
    outer = _as_built(index, StandardHeaders(texts, lambda name: texts[name].encode()))
    if with_changes and details.cuts:
        return read_recipe(recipe, root, project=project, outer=outer, levels=details.levels)
    return read_recipe(recipe, root, project=project, outer=outer, cuts=cuts)


def read_edited(root: Path, reader: StoreReader, index: ModuleIndex, recipe: Recipe) -> SourceSet:
    """Return the sources of an editable install as they are now, all else as it was built.

    Raises InputError, or StoreError where the store is damaged.
    """
    outer = _as_built(index, packaged_standard_headers())
    return read_recipe(recipe, root, outer=outer, levels=reader.details(index.module).levels)


def _as_built(index: ModuleIndex, standard: StandardHeaders) -> list[OuterHeaders]:
    """Return the headers outside the project as each source found them when the store was built."""
    return [OuterHeaders.as_built(standard, unit.asked) for unit in index.units]
