"""Which package of a wheel gets the store, and where that is in the wheel and in the project."""

from __future__ import annotations

import os
import re
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from hatch_cuda_kernels.errors import InputError
from hatch_cuda_kernels.plugin.missing import NAME_IT, why_missing
from hatch_cuda_kernels.plugin.selection import HOOK, plain
from hatch_cuda_kernels.store.index import STORE_FOLDER
from hatch_cuda_kernels.store.package import modules_of
from hatch_cuda_kernels.store.writer import check_replaceable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from hatch_cuda_kernels.plugin.selection import Selection

__all__ = ["NotShippedError", "Package", "check_editable", "check_shipped", "choose_package", "keep_store_out"]


class NotShippedError(InputError):
    """The wheel has no module of the package that is to get the store, as far as other hooks do not bring it."""


class Package(NamedTuple):
    """The import package that gets the store. Paths are posix."""

    path: str
    """Its folder in the wheel."""
    folders: tuple[str, ...]
    """Its folders in the project, that of ``__init__.py`` first; none if it comes from outside."""
    module: str
    """One of its modules in the project, or outside of it by an absolute path; ``__init__.py`` if there is one."""
    is_copied: bool
    """Whether forced inclusions bring it: then an editable install copies it as a wheel does."""

    @property
    def folder(self) -> str:
        """Where an editable install has the store, relative to the project; empty if there is no such place."""
        return next(iter(self.folders), "")

    @property
    def name(self) -> str:
        """What is imported."""
        return self.path.replace("/", ".")


def choose_package(selection: Selection, package: str | None) -> Package:
    """Return the package that gets the store.

    ``package`` is its import name; the default is the package named like the project, or else the only one. Raises
    NotShippedError if the wheel has no module of it, InputError if several might be meant.
    """
    path = _project_package(selection) if package is None else package.replace(".", "/")
    if path is None or not modules_of(path, selection.modules):
        raise NotShippedError(why_missing(selection, path))
    return Package(
        path,
        selection.folders_of(path),
        selection.module_of(path),
        is_copied=selection.is_forced(path),
    )


def _project_package(selection: Selection) -> str | None:
    packages = selection.packages
    alike = sorted(filter(selection.is_project, packages), key=lambda path: plain(path) != plain(selection.project))
    if len(packages) > 1 and not alike:
        raise InputError(f"the wheel has the packages {', '.join(packages)}; {NAME_IT}")
    if alike or not packages:
        return next(iter(alike), None)
    [only] = packages
    real = (os.path.realpath(selection.root / folder) for folder in selection.folders_of(only))
    return None if any(selection.is_project(os.path.basename(folder)) for folder in real) else only  # noqa: PTH119


def keep_store_out(config: Any, package: Package, stores: Iterable[str]) -> None:  # hatchling is untyped
    """Exclude a store that an editable install left in the tree from what is built: it may hold stale images.

    Raises InputError if the folder holds something else, which the artifact would lose, and for other stores that a
    wheel would ship.
    """
    own = f"{package.folder}/{STORE_FOLDER}"
    other = next((store for store in stores if store != own or package.is_copied), None)
    if other is not None:
        raise InputError(f"the wheel would have the kernel store {other} besides its own; remove it, or exclude it")
    if not package.folder:
        return
    check_replaceable(Path(config.root, own))
    patterns = config.target_config.get("exclude", config.build_config.get("exclude", []))
    folder = re.sub(r"([\\*?\[\]])", r"\\\1", package.folder)
    unfinished = f"/{folder}/.{STORE_FOLDER}.*/"  # left by an editable install that was killed
    config.target_config["exclude"] = [*patterns, f"/{folder}/{STORE_FOLDER}/", unfinished]


def check_editable(config: Any, package: Package) -> None:  # hatchling is untyped
    """Raise InputError for a package that an editable install cannot have: the store would lie where none looks."""
    if not package.folder:
        raise InputError(f"an editable install cannot import {package.name}, which only a wheel puts together")
    if len(package.folders) > 1 and not config.dev_mode_dirs:
        folders = ", ".join(package.folders)
        raise InputError(
            f"an editable install imports {package.name} from one of {folders}, and a wheel has them all; say where "
            "Python looks for it with `dev-mode-dirs` in [tool.hatch.build]"
        )


def check_shipped(
    wheel: Path, package: Package, store: Iterable[str], selection: Selection, choose: Callable[[Selection], Package]
) -> None:
    """Raise InputError if a wheel has not the store as it was built, or another package should have it.

    ``store`` are the names of the store's files. Hooks may have come after the package was chosen.
    """
    with zipfile.ZipFile(wheel) as archive:
        names = [os.path.normpath(name).replace(os.sep, "/") for name in archive.namelist()]
    _check_store(names, f"{package.path}/{STORE_FOLDER}", store)
    modules = {name: name for name in modules_of("", names)}
    try:
        found = choose(replace(selection, selected=modules, forced={}, refusal="")).path
    except InputError:
        found = ""
    if found != package.path:
        did = f"brings {found.replace('/', '.')}" if found else "leaves out its modules"
        raise InputError(
            f"the kernels are in {package.name}, and a build hook that comes after `{HOOK}` {did}; name it before"
        )


def _check_store(names: Iterable[str], folder: str, store: Iterable[str]) -> None:
    """Raise InputError unless the files of a wheel in a folder are those of a store."""
    there = {name for name in names if name.startswith(f"{folder}/")}
    built = {f"{folder}/{name}" for name in store}
    if foreign := sorted(there - built):
        raise InputError(
            f"the wheel has {foreign[0]}, which is no part of the kernel store, in the store's folder; let "
            "`force-include`, or the build hook that brings it, put it elsewhere"
        )
    if lost := sorted(built - there):
        raise InputError(f"the wheel lacks {lost[0]}, for a build hook that comes after `{HOOK}` drops it; let it be")
