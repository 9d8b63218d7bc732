"""Proves that a wheel with the kernels can be built from an sdist, by asking hatchling what that wheel has."""

from __future__ import annotations

import os
import shutil
import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from hatch_cuda_kernels.errors import InputError
from hatch_cuda_kernels.plan import read_sources
from hatch_cuda_kernels.plugin.layout import HOOK, Selection, setting
from hatch_cuda_kernels.store import temporary_workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hatch_cuda_kernels.manifest import Manifest
    from hatch_cuda_kernels.plugin.layout import Package

_MOVES: Final = "{} moves {} to {}, also in sdists; it belongs under [tool.hatch.build.targets.wheel]"


@dataclass(frozen=True, slots=True, kw_only=True)
class SdistCheck:
    """What an sdist must have."""

    builder: Any
    """The sdist's; hatchling is untyped."""
    wheel_builder: Callable[[Path], Any]
    needed: tuple[str, ...]
    """Files that a wheel is built from besides its modules, relative to the project's folder, posix."""
    package: Package | None
    """What gets the store; None if another hook may bring it when the wheel is built."""
    choose: Callable[[Selection], Package]
    """Returns what gets the store in a wheel."""

    def check(self, sdist: Path, build_data: Mapping[str, Any]) -> None:
        """Raise InputError if a needed file is elsewhere in the sdist, or a wheel from it would lack the package."""
        with temporary_workspace() as folder:
            top = _unpack(sdist, folder / "sdist")
            root = os.path.abspath(self.builder.root) + os.sep  # noqa: PTH100 - links stay
            config = self.wheel_builder(Path(root)).config
            # Another hook may make what forced inclusions bring, for each wheel.
            forced = [] if config.hook_config.keys() - {HOOK} else config.force_include
            needed = [*self.needed, *(path.removeprefix(root).replace(os.sep, "/") for path in forced)]
            lost = next((name for name in needed if not _is_in(top, name)), None)
            problem = self._without(top, build_data) if lost is None else self._lost(lost, build_data)
        if problem:
            raise InputError(f"no wheel could be built from the sdist: {problem}")

    def _without(self, top: Path, build_data: Mapping[str, Any]) -> str:
        if self.package is None:
            return ""
        try:
            selection = Selection.of(self.wheel_builder(top))
            found = self.choose(selection)
        except InputError as error:
            problem = f"there, {error}"
        else:
            if found.path == self.package.path:
                if selection.stores:
                    return f"it has the kernel store {selection.stores[0]}, left by an editable install; remove it"
                broken = [name for name in selection.broken if Path(self.builder.root, name).exists()]
                fix = "put a file in its place"
                return f"it has {broken[0]} as a link that leads out of it; {fix}" if broken else ""
            problem = f"there, {found.name} would get the kernels, and not {self.package.name}"
        module = self.package.module
        return problem if _is_in(top, module) else self._lost(module, build_data)

    def _lost(self, file: str, build_data: Mapping[str, Any]) -> str:
        """Return where a file or folder is in the sdist, or why it is missing, and what to write."""
        config, path = self.builder.config, Path(self.builder.root, file)
        real = os.path.realpath(path)
        if os.path.isabs(file):  # noqa: PTH117
            return f"{file} is outside of the project, where an sdist has nothing; build wheels from the project itself"
        with config.set_build_data(build_data):
            forced = config.get_force_include()
            files = [one for one in self.builder.recurse_included_files() if os.path.realpath(one.path) == real]
        for source, target in forced.items():
            moved = Path(target, path.relative_to(source)).as_posix() if path.is_relative_to(source) else file
            if moved != file:
                stated = f"`force-include` in [{setting(config, 'force-include')}]"
                return _MOVES.format(stated if source in config.force_include else "a build hook", file, moved)
        moved = config.get_distribution_path(str(Path(file))).replace(os.sep, "/")
        if moved != file:
            return _MOVES.format(_moving_setting(config, file), file, moved)
        if files:
            return (
                f"it has {file} as {files[0].distribution_path}: hatchling ships a folder once, and comes to this link "
                "first; remove the link, or list folders in only-include of [tool.hatch.build.targets.sdist]"
            )
        return f"it lacks {file}; let [tool.hatch.build.targets.sdist] include it"


def _is_in(top: Path, name: str) -> bool:
    return not os.path.isabs(name) and (top / name).exists()  # noqa: PTH117


def wheel_inputs(manifest: Manifest, root: Path) -> dict[str, Path]:
    """Return the manifest, and all that its modules are compiled from, by its path in the project."""
    names = {name for sources in read_sources(manifest).values() for name in sources.files}
    files = [manifest.path, *(manifest.root / name for name in sorted(names))]
    return {path.relative_to(root).as_posix(): path for path in files}


def plain_files(files: Mapping[str, Path], scratch: Path) -> dict[str, str]:
    """Return files as hatchling's forced inclusions, with a copy of each link, which may be broken elsewhere."""
    forced = {}
    for count, (name, path) in enumerate(files.items()):
        source = shutil.copy2(path, scratch / str(count)) if path.is_symlink() else path
        forced[str(source)] = name
    return forced


def _unpack(sdist: Path, folder: Path) -> Path:
    """Unpack an sdist as front ends do, and return its folder. Raises InputError if they would refuse."""
    safely = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
    try:
        with tarfile.open(sdist) as archive:
            archive.extractall(folder, **safely)  # type: ignore[arg-type]  # noqa: S202
    except tarfile.TarError as error:
        raise InputError(f"no front end unpacks the sdist: {error}; put a file in place of the link") from error
    [top] = folder.iterdir()
    return top


def _moving_setting(config: Any, file: str) -> str:
    named = config.target_config.get("sources", config.build_config.get("sources", []))
    folders = {os.path.normpath(path).strip(os.sep) + os.sep if path else "" for path in named}
    moving = next(folder for folder in config.sources if file.replace("/", os.sep).startswith(folder))
    key = "sources" if moving in folders else "packages"
    return f"`{key}` in [{setting(config, key)}]"
