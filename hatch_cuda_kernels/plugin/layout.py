"""Which package of a wheel gets the store, and where that is in the wheel and in the project."""

from __future__ import annotations

import os
import re
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from hatch_cuda_kernels.errors import InputError
from hatch_cuda_kernels.plugin.selection import HOOK, plain, setting
from hatch_cuda_kernels.store import STORE_FOLDER, check_replaceable, modules_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from hatch_cuda_kernels.plugin.selection import Selection


_NAME_IT: Final = f"name the one that gets the kernels with option `package` of build hook `{HOOK}`"
_WHEEL: Final = "tool.hatch.build.targets.wheel"


def _why_missing(selection: Selection, path: str | None) -> str:
    """Return why the wheel has no module of the package at a path, or of one called like the project."""
    hooks = [*selection.config.hook_config]
    later = hooks[hooks.index(HOOK) + 1 :] if HOOK in hooks else []
    hint = f"\nIf build hook {' or '.join(later)} brings the package, name it before `{HOOK}`" if later else ""
    return f"{_reason(selection, path)}{hint}"


def _reason(selection: Selection, path: str | None) -> str:
    folder = next(_folders(selection, path), None)
    dotted = _namespaces(selection)
    name = path or (dotted if folder and f"/{folder}".endswith(f"/{dotted}") else plain(selection.project))
    if selection.refusal:
        return _no_selection(selection, name, folder) if folder else selection.refusal
    if f"{name}.py" in selection.modules:
        return f"{name}.py is a module, and kernels need a package to be in: make it {name}/__init__.py"
    if absent := _missing_path(selection, folder):
        return absent
    if folder:
        elsewhere = _other_place(selection, folder, name)
        return elsewhere or f"the wheel has no module of {folder}: {_exclusion(selection, folder, name)}"
    if selection.packages:
        return f"the wheel has no package {name.replace('/', '.')}, only {', '.join(selection.packages)}; {_NAME_IT}"
    return f"the wheel has no Python package, and kernels need one to be in: make {name}/__init__.py"


def _folders(selection: Selection, path: str | None) -> Iterator[str]:
    """Yield folders of the project with modules whose path ends with ``path``, or that are called like the project."""
    root = selection.root
    places = [root, *sorted(_children(root), key=lambda child: child.name != "src")]
    for place in places:
        alike = [child for child in _children(place) if plain(child.name) == plain(selection.project)]
        for found in [*alike, place / _namespaces(selection)] if path is None else [place / path]:
            if next(found.rglob("*.py"), None):
                yield found.relative_to(root).as_posix()


def _namespaces(selection: Selection) -> str:
    """Return the folder of a package if the words of the project's name are its namespaces."""
    return re.sub(r"[-_.]+", "/", selection.project)


def _package_entry(folder: str, name: str) -> str:
    """Return what ``packages`` has to list for a folder to be shipped under its whole name."""
    return folder.removesuffix(name) + name.partition("/")[0] if folder.endswith(name) else folder


def _children(folder: Path) -> list[Path]:
    try:
        return [child for child in sorted(folder.iterdir()) if child.is_dir() and child.name[0] != "."]
    except OSError:  # a closed one
        return []


def _no_selection(selection: Selection, name: str, folder: str) -> str:
    return (
        "hatchling does not know which files the wheel ships: by itself it takes only a package that is called like "
        f"the project, {plain(selection.project)}, and has an __init__.py. For {name.replace('/', '.')}, write:"
        f'\n\n[{_WHEEL}]\npackages = ["{_package_entry(folder, name)}"]'
    )


def _other_place(selection: Selection, folder: str, name: str) -> str:
    """Return where the wheel has a folder of the project instead, empty if nowhere."""
    real = os.path.realpath(selection.root / folder)
    for place, source in selection.modules.items():
        tail = os.path.realpath(selection.root / source).removeprefix(real).replace(os.sep, "/")
        if tail.startswith("/") and place.endswith(tail) and source.endswith(tail):
            there, link = place.removesuffix(tail), source.removesuffix(tail)
            return f"the wheel has {folder} as {there}" + (
                _rename_advice(there, folder, name) if link == folder else f": {_link_advice(folder, link)}"
            )
    return ""


def _rename_advice(there: str, folder: str, name: str) -> str:
    if not all(part.isidentifier() for part in there.split("/")):
        return f", which Python cannot import; rename the folder, to {plain(there)} for example"
    dotted = name.replace("/", ".")
    other = (
        f', or ship {dotted} with packages = ["{_package_entry(folder, name)}"] in [{_WHEEL}]' if "/" in name else ""
    )
    return f'; {_NAME_IT}, package = "{there.replace("/", ".")}"{other}'


def _link_advice(folder: str, link: str) -> str:
    return (
        f"hatchling ships a folder once, and comes to the link {link} first; remove the link, or write "
        f'packages = ["{folder}"] in [{_WHEEL}]'
    )


def _exclusion(selection: Selection, folder: str, name: str) -> str:
    """Return why hatchling does not ship a folder, and what to write."""
    config, root = selection.config, selection.root
    modules = sorted(path.relative_to(root).as_posix() for path in (root / folder).rglob("*.py"))
    if config.bypass_selection:
        return f"`bypass-selection` leaves out all that no `force-include` names; remove it from [{_WHEEL}]"
    if all(config.path_is_excluded(module.replace("/", os.sep)) for module in modules):
        return f"`exclude` in [{setting(config, 'exclude')}], .gitignore or hatchling (dist) leaves out {modules[0]}"
    if config.only_packages and not (root / folder / "__init__.py").exists():
        return f"`only-packages` in [{setting(config, 'only-packages')}] leaves out folders without __init__.py"
    if link := _link_to(root, folder):
        return _link_advice(folder, link)
    keys = [key for key in ("only-include", "include") if key in {*config.target_config, *config.build_config}]
    if keys:
        return f'add "{folder}" to `{keys[0]}` in [{setting(config, keys[0])}]'
    listed = ", ".join(f'"{Path(path).as_posix()}"' for path in (*config.packages, _package_entry(folder, name)))
    return f"write packages = [{listed}] in [{_WHEEL}]"


def _link_to(root: Path, folder: str) -> str:
    """Return a link of the project that leads to a folder, or to one that it is in; empty if there is none."""
    real = os.path.realpath(root / folder)
    for place, folders, _ in os.walk(root):
        for link in (Path(place, name) for name in sorted(folders)):
            if link.is_symlink() and f"{real}{os.sep}".startswith(f"{os.path.realpath(link)}{os.sep}"):
                return "" if link == root / folder else link.relative_to(root).as_posix()
    return ""


def _missing_path(selection: Selection, folder: str | None) -> str:
    """Return which selected path is not there, empty if all are. ``folder`` may be what is meant."""
    config, root = selection.config, selection.root
    for path in map(Path, config.only_include):
        if not path.exists():
            name = path.relative_to(root).as_posix()
            key = "packages" if config.packages else "only-include"
            dotted = name.replace(".", "/")
            meant = dotted if (root / dotted).is_dir() else folder
            write = f"; write {meant}" if meant else ""
            return f"there is no {name}, which `{key}` in [{setting(config, key)}] names{write}"
    return ""


class NotShippedError(InputError):
    """The wheel has no module of the package that is to get the store, unless another hook adds it later."""


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
        """The folder for the store of an editable install, relative to the project; empty if it cannot have one."""
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
        raise NotShippedError(_why_missing(selection, path))
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
        raise InputError(f"the wheel has the packages {', '.join(packages)}; {_NAME_IT}")
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
    """Raise InputError for a package whose store an editable install would put where no import looks."""
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
    """Raise InputError if a wheel does not have the store as it was built, or has it in the wrong package.

    ``store`` are the names of the store's files. Hooks that run later may have changed the wheel.
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
            f"the wheel has {foreign[0]} in the store's folder, which is not part of the store; let "
            "`force-include`, or the build hook that brings it, put it elsewhere"
        )
    if lost := sorted(built - there):
        raise InputError(
            f"the wheel lacks {lost[0]}: a build hook that comes after `{HOOK}` drops it; let that hook keep it"
        )
