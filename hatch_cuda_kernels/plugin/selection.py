"""What hatchling itself would put into a project's wheel: the Python modules, and the packages that they form."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from hatch_cuda_kernels.errors import InputError
from hatch_cuda_kernels.store import KERNELS_FILE, STORE_FOLDER, modules_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping


HOOK: Final = "cuda-kernels"


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Paths are posix, those in the project relative to its folder, and absolute for files outside of it."""

    root: Path
    project: str
    """The project's name."""
    config: Any
    """The wheel's configuration; hatchling is untyped."""
    selected: Mapping[str, str]
    """Modules by their place in the wheel, and where they are in the project."""
    forced: Mapping[str, str]
    """The same for modules that forced inclusions bring."""
    stores: tuple[str, ...]
    """Where the project has kernel stores that would be shipped."""
    broken: tuple[str, ...]
    """Files of the project that are links to what is not there."""
    refusal: str
    """Why hatchling does not know what to ship; empty if it does."""

    @classmethod
    def of(cls, builder: Any, build_data: Mapping[str, Any] | None = None) -> Selection:  # hatchling is untyped
        """Ask a wheel builder, given what build hooks have added to the wheel until now.

        The builder must not be the one that builds: it keeps what it finds. Raises InputError for wrong settings.
        """
        config, root = builder.config, os.path.abspath(builder.root)  # noqa: PTH100 - links stay, as in hatchling
        selected: tuple[Any, ...] = ()
        forced: tuple[Any, ...] = ()
        try:
            with config.set_build_data(build_data or {"artifacts": [], "force_include": {}}):
                # Hooks that run later may make what is not there.
                sources = {path: place for path, place in config.get_force_include().items() if os.path.exists(path)}  # noqa: PTH110
                refusal = _refusal(config)
                if not refusal:
                    selected = (*builder.recurse_selected_project_files(),)
                    forced = (*builder.recurse_forced_files(sources),)
        except (TypeError, ValueError) as error:
            raise InputError(str(error)) from error
        return cls(
            root=Path(root),
            project=builder.metadata.name,
            config=config,
            selected=_modules(selected, root),
            forced=_modules(forced, root),
            stores=_stores([*selected, *forced], root),
            broken=tuple(_posix(file.relative_path) for file in selected if not os.path.exists(file.path)),  # noqa: PTH110
            refusal=refusal,
        )

    @property
    def modules(self) -> dict[str, str]:
        """All modules by their place in the wheel, and where they are in the project."""
        return {**self.selected, **self.forced}

    @property
    def other_hooks(self) -> list[str]:
        """The build hooks of the wheel that may bring a package, too."""
        return [name for name in self.config.hook_config if name != HOOK]

    @property
    def packages(self) -> list[str]:
        """The folder of each regular package that is in no other, and of each namespace without one."""
        folders: dict[str, set[str]] = defaultdict(set)
        for place in self.modules:
            folder = place.rpartition("/")[0]
            if folder and all(part.isidentifier() for part in folder.split("/")):
                folders[place.partition("/")[0]].add(folder)
        inits = {place.rpartition("/")[0] for place in self.modules if _is_init(place)}
        found = []
        for inside in folders.values():
            regular = inside & inits
            found += [folder for folder in regular if not any(above in regular for above in _above(folder))]
            if not regular:
                common = os.path.commonpath(inside).replace(os.sep, "/")
                found.append(next(filter(self.is_project, [*_above(common), common]), common))
        return sorted(found)

    def is_project(self, path: str) -> bool:
        """Return whether a package is called like the project, whole or by its last name."""
        return plain(self.project) in {plain(path), plain(path.rpartition("/")[2])}

    def folders_of(self, path: str) -> tuple[str, ...]:
        """Return the folders in the project of a folder in the wheel, that of ``__init__.py`` first.

        Those from which forced inclusions bring modules do not count if there are others.
        """
        return _folders(path, self.selected) or _folders(path, self.forced)

    def module_of(self, path: str) -> str:
        """Return where one module of a package is in the project, its ``__init__.py`` if there is one."""
        return self.modules[self._first(path)]

    def is_forced(self, path: str) -> bool:
        """Return whether a forced inclusion brings that module."""
        return self._first(path) in self.forced

    def _first(self, path: str) -> str:
        return min(modules_of(path, self.modules), key=_rank)

    def target(self, path: str) -> str:
        """Return the path that a forced inclusion must name for a folder to be shipped at a path of the wheel.

        Raises InputError if ``sources`` moves everything away from there.
        """
        sources = {_posix(old): _posix(new) for old, new in self.config.sources.items()}
        renamed = (old + path.removeprefix(new) for old, new in sources.items() if path.startswith(new))
        for candidate in (path, *renamed):
            shipped = self.config.get_distribution_path(f"{candidate}/file".replace("/", os.sep))
            if _posix(shipped) == f"{path}/file":
                return candidate
        where = setting(self.config, "sources")
        raise InputError(
            f"`sources` in [{where}] moves each path away from {path}, where the kernels belong; change it"
        )


def setting(config: Any, key: str) -> str:  # hatchling is untyped
    """Return the table that has a key of a target's configuration."""
    return f"tool.hatch.build.targets.{config.plugin_name}" if key in config.target_config else "tool.hatch.build"


def plain(name: str) -> str:
    """Return a name as the packaging tools compare it, with ``_`` between words."""
    return re.sub(r"[-_./]+", "_", name).lower()


def _refusal(config: Any) -> str:
    """Return why hatchling's own search for a package fails, empty if it does not or need not search."""
    try:
        config.default_file_selection_options  # noqa: B018 - a property that searches
    except ValueError as error:
        return str(error)
    return ""


def _modules(files: Iterable[Any], root: str) -> dict[str, str]:
    """Return the source of each Python module that hatchling ships, by its place."""
    places = {_posix(os.path.normpath(file.distribution_path)): file.path for file in files}
    return {place: _in_project(places[place], root) for place in modules_of("", places)}


def _stores(files: Iterable[Any], root: str) -> tuple[str, ...]:
    listing = f"/{STORE_FOLDER}/{KERNELS_FILE}"
    paths = (file.path for file in files if f"/{_posix(file.distribution_path)}".endswith(listing))
    return tuple(sorted({_in_project(os.path.dirname(path), root) for path in paths}))  # noqa: PTH120


def _in_project(path: str, root: str) -> str:
    return _posix(os.path.abspath(path).removeprefix(root + os.sep))  # noqa: PTH100


def _folders(path: str, modules: Mapping[str, str]) -> tuple[str, ...]:
    found = {}
    for place in sorted(modules_of(path, modules), key=_rank):
        source, tail = modules[place], place.removeprefix(path)
        if source.endswith(tail) and not os.path.isabs(source):  # noqa: PTH117
            found[source.removesuffix(tail)] = True
    return tuple(found)


def _rank(place: str) -> tuple[int, bool, str]:
    """Return the sort key of a package's modules: outermost first, and ``__init__`` first among these."""
    return place.count("/"), not _is_init(place), place


def _is_init(place: str) -> bool:
    return place.rpartition("/")[2].partition(".")[0] == "__init__"


def _above(folder: str) -> Iterator[str]:
    parts = folder.split("/")
    return ("/".join(parts[:count]) for count in range(1, len(parts)))


def _posix(path: str) -> str:
    return path.replace(os.sep, "/")
