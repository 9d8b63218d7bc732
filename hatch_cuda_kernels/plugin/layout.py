"""Which folder of a project is the import package that gets the store, judged by the wheel's configuration."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hatch_cuda_kernels.errors import InputError
from hatch_cuda_kernels.store.index import STORE_FOLDER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

__all__ = ["Layout"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """What hatchling's configuration of the wheel says about packages. Paths are posix."""

    root: Path
    project: str
    """The project's name."""
    selected: Sequence[str]
    """Folders that the wheel selects: its packages, or its ``only-include``."""
    sources: Sequence[str]
    """Folders whose name the wheel drops or replaces."""
    shipped_as: Callable[[str], str]
    """Return the path in the wheel for a path in the project."""

    def find(self, package: str | None) -> str:
        """Return the package's folder, relative to the root.

        ``package`` is its import name; the default is the package named like the project, or else the only one. Raises
        InputError if there is none, or several might be meant.
        """
        return self._project_package() if package is None else self._named_package(package.replace(".", "/"))

    def _named_package(self, path: str) -> str:
        found = [folder for place in (*self.selected, *self._places) for folder in self._below(place, path)]
        return self._best(found, f"no package folder {path} (or src/{path}) in {self.root}")

    @property
    def _places(self) -> tuple[str, ...]:
        return ("", "src", *self.sources)

    def _below(self, place: str, path: str) -> Iterator[str]:
        """Yield the folder below a place that the wheel ships as a path."""
        shipped = self._import_path(place)
        if path == shipped:
            yield place
        elif not shipped or path.startswith(f"{shipped}/"):
            yield f"{place}/{path.removeprefix(shipped).lstrip('/')}".lstrip("/")

    def _project_package(self) -> str:
        packages = {folder: self._import_path(folder) for place in self.selected for folder in self._packages(place)}
        alike = [folder for folder, path in packages.items() if self._is_project(path)]
        if len(packages) > 1 and not alike:
            raise self._refusal(f"the wheel has the packages {', '.join(sorted(packages.values()))}")
        found = alike or list(packages) or [folder for place in self._places for folder in self._called_alike(place)]
        name = _plain(self.project)
        return self._best(found, f"no package folder {name} (or src/{name}) in {self.root}")

    def _packages(self, folder: str) -> Iterator[str]:
        """Yield a folder if it is a package, else the packages below it; a namespace without packages counts as one."""
        if not (self.root / folder).is_dir():
            return
        found = list(self._regular_packages(folder))
        yield from found if found or not self._import_path(folder) else [folder]

    def _regular_packages(self, folder: str) -> Iterator[str]:
        if (self.root / folder / "__init__.py").is_file():
            yield folder
            return
        for child in sorted((self.root / folder).iterdir()):
            if child.name.isidentifier() and child.name not in {STORE_FOLDER, "__pycache__"} and child.is_dir():
                yield from self._regular_packages(f"{folder}/{child.name}")

    def _called_alike(self, place: str) -> Iterator[str]:
        base = self.root / place
        for child in sorted(base.iterdir()) if base.is_dir() else ():
            folder = f"{place}/{child.name}".lstrip("/")
            if self._is_project(self._import_path(folder)):
                yield folder

    def _is_project(self, path: str) -> bool:
        name = _plain(self.project)
        return name in {_plain(path.replace("/", ".")), _plain(path.rpartition("/")[2])}

    def _import_path(self, folder: str) -> str:
        return self.shipped_as(f"{folder}/").strip("/") if folder else ""

    def _best(self, folders: Sequence[str], otherwise: str) -> str:
        """Return the first folder that is a regular package, or else the first. Raises InputError if there is none."""
        there = [folder for folder in folders if (self.root / folder).is_dir()]
        regular = (folder for folder in there if (self.root / folder / "__init__.py").is_file())
        found = next(regular, next(iter(there), None))
        if found is None:
            raise self._refusal(otherwise)
        return found

    def _refusal(self, what: str) -> InputError:
        return InputError(
            f"{what}; name the one that gets the kernels with option `package` of build hook `cuda-kernels`"
        )


def _plain(name: str) -> str:
    """Return a name as the packaging tools compare it, with ``_`` between words."""
    return re.sub(r"[-_.]+", "_", name).lower()
