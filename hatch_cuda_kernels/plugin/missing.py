"""Why a wheel does not have the package that is to get the kernels, and what to write for it to have it."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.plugin.selection import HOOK, plain, setting

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hatch_cuda_kernels.plugin.selection import Selection

__all__ = ["NAME_IT", "why_missing"]

NAME_IT: Final = f"name the one that gets the kernels with option `package` of build hook `{HOOK}`"
_WHEEL: Final = "tool.hatch.build.targets.wheel"


def why_missing(selection: Selection, path: str | None) -> str:
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
        return _unselected(selection, name, folder) if folder else selection.refusal
    if f"{name}.py" in selection.modules:
        return f"{name}.py is a module, and kernels need a package to be in: make it {name}/__init__.py"
    if absent := _absent(selection, folder):
        return absent
    if folder:
        elsewhere = _elsewhere(selection, folder, name)
        return elsewhere or f"the wheel has no module of {folder}: {_left_out(selection, folder, name)}"
    if selection.packages:
        return f"the wheel has no package {name.replace('/', '.')}, only {', '.join(selection.packages)}; {NAME_IT}"
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
    """Return the folder of a package whose namespaces are the words of the project's name."""
    return re.sub(r"[-_.]+", "/", selection.project)


def _whole(folder: str, name: str) -> str:
    """Return what ``packages`` has to list for a folder to be shipped under its whole name."""
    return folder.removesuffix(name) + name.partition("/")[0] if folder.endswith(name) else folder


def _children(folder: Path) -> list[Path]:
    try:
        return [child for child in sorted(folder.iterdir()) if child.is_dir() and child.name[0] != "."]
    except OSError:  # a closed one
        return []


def _unselected(selection: Selection, name: str, folder: str) -> str:
    return (
        "hatchling does not know which files the wheel ships: by itself it takes only a package that is called like "
        f"the project, {plain(selection.project)}, and has an __init__.py. For {name.replace('/', '.')}, write:"
        f'\n\n[{_WHEEL}]\npackages = ["{_whole(folder, name)}"]'
    )


def _elsewhere(selection: Selection, folder: str, name: str) -> str:
    """Return where the wheel has a folder of the project instead, empty if nowhere."""
    real = os.path.realpath(selection.root / folder)
    for place, source in selection.modules.items():
        tail = os.path.realpath(selection.root / source).removeprefix(real).replace(os.sep, "/")
        if tail.startswith("/") and place.endswith(tail) and source.endswith(tail):
            there, link = place.removesuffix(tail), source.removesuffix(tail)
            return f"the wheel has {folder} as {there}" + (
                _renamed(there, folder, name) if link == folder else f": {_linked(folder, link)}"
            )
    return ""


def _renamed(there: str, folder: str, name: str) -> str:
    if not all(part.isidentifier() for part in there.split("/")):
        return f", which Python cannot import; rename the folder, to {plain(there)} for example"
    dotted = name.replace("/", ".")
    other = f', or ship {dotted} with packages = ["{_whole(folder, name)}"] in [{_WHEEL}]' if "/" in name else ""
    return f'; {NAME_IT}, package = "{there.replace("/", ".")}"{other}'


def _linked(folder: str, link: str) -> str:
    return (
        f"hatchling ships a folder once, and comes to the link {link} first; remove the link, or write "
        f'packages = ["{folder}"] in [{_WHEEL}]'
    )


def _left_out(selection: Selection, folder: str, name: str) -> str:
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
        return _linked(folder, link)
    keys = [key for key in ("only-include", "include") if key in {*config.target_config, *config.build_config}]
    if keys:
        return f'add "{folder}" to `{keys[0]}` in [{setting(config, keys[0])}]'
    listed = ", ".join(f'"{Path(path).as_posix()}"' for path in (*config.packages, _whole(folder, name)))
    return f"write packages = [{listed}] in [{_WHEEL}]"


def _link_to(root: Path, folder: str) -> str:
    """Return a link of the project that leads to a folder, or to one that it is in; empty if there is none."""
    real = os.path.realpath(root / folder)
    for place, folders, _ in os.walk(root):
        for link in (Path(place, name) for name in sorted(folders)):
            if link.is_symlink() and f"{real}{os.sep}".startswith(f"{os.path.realpath(link)}{os.sep}"):
                return "" if link == root / folder else link.relative_to(root).as_posix()
    return ""


def _absent(selection: Selection, folder: str | None) -> str:
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
