"""Reads the sources of a recipe: each with its header closure, without host code, with the headers it implies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hatch_cuda_kernels.compiler.toolchain.remembered import installed_headers
from hatch_cuda_kernels.errors import InputError
from hatch_cuda_kernels.host_code.closures import without_host_code
from hatch_cuda_kernels.source.closure_reader import read_closure
from hatch_cuda_kernels.source.implied import with_implied_headers
from hatch_cuda_kernels.source.library import DEVICE_RUNTIME, DeviceLibrary
from hatch_cuda_kernels.source.project import Project
from hatch_cuda_kernels.source.source_set import SourceSet

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from hatch_cuda_kernels.compiler.recipe import Recipe
    from hatch_cuda_kernels.source.closure import Closure
    from hatch_cuda_kernels.source.outer_headers import OuterHeaders

__all__ = ["read_recipe"]


def read_recipe(
    recipe: Recipe,
    root: Path,
    *,
    text: str | None = None,
    include: Sequence[str] | None = None,
    project: Project | None = None,
    outer: Sequence[OuterHeaders] = (),
    clocks: bool = False,
) -> SourceSet:
    """Return a recipe's sources, or ``text`` in place of the one, with their header closures. Raises InputError.

    ``include`` stands in for the options' folders. Of those, folders that are not there are left out: a store and
    an sdist carry no folder that gave no file, and elsewhere the manifest's reader has refused them. ``outer`` are,
    for each source, the headers outside the project; none for those that are installed here. With ``clocks``,
    ``__DATE__`` and its kin are let be: what is read will not be compiled as it is.
    """
    project = project or Project(root)
    folders = [folder for folder in recipe.options.include if project.files.is_folder(folder)]
    if include is not None:
        folders = [*include]
    headers = outer or [installed_headers()] * len(recipe.sources)
    units = tuple(
        _read_unit(recipe, source, text, folders, project, found)
        for source, found in zip(recipe.sources, headers, strict=True)
    )
    if not clocks and (uses := dict.fromkeys(clock for unit in units for clock in unit.clocks)):
        raise InputError("\n".join(uses))
    files = (name for name in recipe.libraries if name != DEVICE_RUNTIME)
    return SourceSet(units, tuple(DeviceLibrary(name, project.files.read(name)) for name in files))


def _read_unit(
    recipe: Recipe, source: str, text: str | None, folders: Sequence[str], project: Project, outer: OuterHeaders
) -> Closure:
    """Return what NVRTC is shown of a source, with the project's headers that implied ones ask for, too."""
    options = recipe.options
    outer = outer if options.standard_headers else outer.without_standard()
    asked: list[str] = []
    while True:
        closure = read_closure(
            project.files.root,
            source,
            text=text,
            include=folders,
            headers=(*recipe.headers, *asked),
            pre_include=options.pre_include,
            define=options.define,
            project=project,
            outer=outer,
        )
        if options.may_drop:
            closure = without_host_code(
                closure,
                options.define,
                if_refused=not options.drops,
                host_only=options.host_only,
                readings=project.readings,
            )
        whole = with_implied_headers(closure, outer, project.readings)
        fresh = sorted({*whole.outside}.difference(closure.outside))
        own = [path for name in fresh if (path := project.included(name, folders)) and path not in asked]
        if not own:
            return whole
        asked += own
