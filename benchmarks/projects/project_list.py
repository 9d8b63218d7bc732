"""What of a checkout a manifest leads to, copied to a folder of its own, byte for byte."""

from __future__ import annotations

import shutil
import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Vendored:
    """Folders of another project that a project carries."""

    checkout: str
    commit: str
    copy: tuple[str, ...]
    to: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """One manifest, and where its sources are."""

    name: str
    commit: str
    copy: tuple[str, ...]
    python: tuple[str, ...]
    """Files whose kernels are strings, or folders of such."""
    note: str
    """What of the project is built."""
    vendored: tuple[Vendored, ...]

    @property
    def checkout(self) -> str:
        """The name of its folder among the checkouts; two manifests may share one."""
        return self.name.partition(".")[0]


def load_projects(path: Path) -> list[Project]:
    return [_project(name, entry) for name, entry in tomllib.loads(path.read_text()).items()]


def _project(name: str, entry: dict[str, Any]) -> Project:
    vendored = tuple(
        Vendored(checkout=checkout, commit=other["commit"], copy=tuple(other["copy"]), to=other["to"])
        for checkout, other in entry.get("vendored", {}).items()
    )
    copy, python = tuple(entry.get("copy", ())), tuple(entry.get("python", ()))
    note = entry.get("note", "")
    return Project(name=name, commit=entry["commit"], copy=copy, python=python, note=note, vendored=vendored)


def copy_sources(project: Project, checkouts: Path, folder: Path) -> None:
    folder.mkdir(parents=True)
    for path in project.copy:
        _copy(checkouts / project.checkout / path, folder / path)
    for other in project.vendored:
        for path in other.copy:
            _copy(checkouts / other.checkout / path, folder / other.to / path)


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target, ignore_dangling_symlinks=True)  # into submodules
    else:
        shutil.copyfile(source, target)
