"""Proves of an sdist that a wheel with the kernels can be built from it, by asking hatchling what that wheel has."""

from __future__ import annotations

import os
import shutil
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from hatch_cuda_kernels.errors import InputError
from hatch_cuda_kernels.plan.plan import read_sources
from hatch_cuda_kernels.plugin.selection import Selection, setting
from hatch_cuda_kernels.store.staging import workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hatch_cuda_kernels.manifest import Manifest
    from hatch_cuda_kernels.plugin.layout import Package

__all__ = ["SdistCheck", "plain_files", "wheel_inputs"]

_WHEEL: Final = "[tool.hatch.build.targets.wheel]"


@dataclass(frozen=True, slots=True, kw_only=True)
class SdistCheck:
    """What an sdist is held against."""

    builder: Any
    """The sdist's; hatchling is untyped."""
    wheel_builder: Callable[[Path], Any]
    """Returns a builder of wheels for a folder."""
    needed: tuple[str, ...]
    """Files that a wheel is built from besides its modules, relative to the project's folder, posix."""
    package: Package | None
    """What gets the store; None if another hook may bring it when the wheel is built."""
    choose: Callable[[Selection], Package]
    """Returns what gets the store in a wheel."""

    def check(self, sdist: Path, build_data: Mapping[str, Any]) -> None:
        """Raise InputError if a needed file is elsewhere in the sdist, or its wheel would lack the package.

        ``build_data`` is what hatchling built the sdist with.
        """
        with workspace(Path(tempfile.gettempdir()), "hatch-cuda-kernels-") as folder:
            top = _unpacked(sdist, folder / "sdist")
            lost = [name for name in self.needed if not (top / name).is_file()]
            problem = self._lost(lost[0], build_data) if lost else self._without(top, build_data)
        if problem:
            raise InputError(f"no wheel could be built from the sdist: {problem}")

    def _without(self, top: Path, build_data: Mapping[str, Any]) -> str:
        """Return why a wheel from an unpacked sdist would lack the package, empty if it would not."""
        if self.package is None:
            return ""
        module = self.package.module
        try:
            selection = Selection.of(self.wheel_builder(top))
            found = self.choose(selection)
            problem = f"there, {found.name} would get the kernels, and not {self.package.name}"
            if found.path == self.package.path:
                broken = [name for name in selection.broken if Path(self.builder.root, name).exists()]
                return f"it has {broken[0]} as a link that leads out of it; put a file in its place" if broken else ""
        except InputError as error:
            problem = f"there, {error}"
        there = not os.path.isabs(module) and (top / module).is_file()  # noqa: PTH117
        return problem if there else self._lost(module, build_data)

    def _lost(self, file: str, build_data: Mapping[str, Any]) -> str:
        """Return what became of a file in the sdist, and what to write."""
        config, path = self.builder.config, Path(self.builder.root, file)
        if os.path.isabs(file):  # noqa: PTH117
            return f"{file} is outside of the project, where an sdist has nothing; build wheels from the project itself"
        moved = config.get_distribution_path(str(Path(file))).replace(os.sep, "/")
        if moved != file:
            return f"{_mover(config, file)} moves {file} to {moved}, also in sdists; it belongs under {_WHEEL}"
        with config.set_build_data(build_data):
            found = [one for one in self.builder.recurse_included_files() if os.path.samefile(one.path, path)]  # noqa: PTH121
        if found:
            there = f"it has {file} as {found[0].distribution_path}"
            if os.path.abspath(found[0].path) == os.path.abspath(path):  # noqa: PTH100
                return f"{there}, as `force-include` in [{setting(config, 'force-include')}] says; remove that"
            return (
                f"{there}: hatchling ships a folder once, and comes to this link first; remove the link, or list "
                "folders in only-include of [tool.hatch.build.targets.sdist]"
            )
        return f"it lacks {file}; let [tool.hatch.build.targets.sdist] include it"


def wheel_inputs(manifest: Manifest, root: Path) -> dict[str, Path]:
    """Return the manifest, and all that its modules are compiled from, by its path in the project."""
    names = {name for sources in read_sources(manifest).values() for name in sources.files}
    files = [manifest.path, *(manifest.root / name for name in sorted(names))]
    return {path.relative_to(root).as_posix(): path for path in files}


def plain_files(files: Mapping[str, Path], scratch: Path) -> dict[str, str]:
    """Return files as hatchling takes forced inclusions, with a copy of each link: those may lead nowhere elsewhere."""
    forced = {}
    for count, (name, path) in enumerate(files.items()):
        source = shutil.copy2(path, scratch / str(count)) if path.is_symlink() else path
        forced[str(source)] = name
    return forced


def _unpacked(sdist: Path, folder: Path) -> Path:
    """Unpack an sdist as front ends do, and return its folder. Raises InputError if they would refuse."""
    safely = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
    try:
        with tarfile.open(sdist) as archive:
            archive.extractall(folder, **safely)  # type: ignore[arg-type]  # noqa: S202
    except tarfile.TarError as error:
        raise InputError(f"no front end unpacks the sdist: {error}; put a file in place of the link") from error
    [top] = folder.iterdir()
    return top


def _mover(config: Any, file: str) -> str:
    """Return the setting that has a path changed, as text."""
    named = config.target_config.get("sources", config.build_config.get("sources", []))
    folders = {os.path.normpath(path).strip(os.sep) + os.sep if path else "" for path in named}
    moving = next(folder for folder in config.sources if file.replace("/", os.sep).startswith(folder))
    key = "sources" if moving in folders else "packages"
    return f"`{key}` in [{setting(config, key)}]"
