"""Which package of a wheel gets the store, where that is, and whether a wheel can be built from an sdist."""

from __future__ import annotations

import os
import re
import zipfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from hatch_cuda_kernels.errors import InputError
from hatch_cuda_kernels.includes import package_of
from hatch_cuda_kernels.store import KERNELS_FILE, STORE_FOLDER, check_replaceable, modules_of, temporary_workspace

if TYPE_CHECKING:
    from hatch_cuda_kernels.manifest import Manifest

HOOK: Final = "cuda-kernels"


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Paths are posix, those in the project relative to its folder, and absolute for files outside of it."""

    root: Path
    project: str
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

        Never the builder that builds: it keeps what it finds. Raises InputError for wrong settings.
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

        def in_project(path: str) -> str:
            return _posix(os.path.abspath(path).removeprefix(root + os.sep))  # noqa: PTH100

        def modules(files: Iterable[Any]) -> dict[str, str]:
            places = {_posix(os.path.normpath(file.distribution_path)): file.path for file in files}
            return {place: in_project(places[place]) for place in modules_of("", places)}

        listing = f"/{STORE_FOLDER}/{KERNELS_FILE}"
        listings = (one.path for one in (*selected, *forced) if f"/{_posix(one.distribution_path)}".endswith(listing))
        return cls(
            root=Path(root),
            project=builder.metadata.name,
            config=config,
            selected=modules(selected),
            forced=modules(forced),
            stores=tuple(sorted({in_project(os.path.dirname(path)) for path in listings})),  # noqa: PTH120
            broken=tuple(_posix(file.relative_path) for file in selected if not os.path.exists(file.path)),  # noqa: PTH110
            refusal=refusal,
        )

    @property
    def modules(self) -> dict[str, str]:
        """All modules by their place in the wheel, and where they are in the project."""
        return {**self.selected, **self.forced}

    @property
    def namespaces(self) -> str:
        """The folder of the package if the words of the project's name are its namespaces."""
        return re.sub(r"[-_.]+", "/", self.project)

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
        inits = {place.rpartition("/")[0] for place in self.modules if not _rank(place)[1]}
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
        """Return the project's folders of a folder in the wheel, ``__init__.py`` first; forced ones without others."""
        return _source_folders(path, self.selected) or _source_folders(path, self.forced)

    def target(self, path: str) -> str:
        """Return the path that ships a folder at a path of the wheel. Raises InputError if ``sources`` moves it."""
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
    try:
        config.default_file_selection_options  # noqa: B018 - a property that searches
    except ValueError as error:
        return str(error)
    return ""


def _source_folders(path: str, modules: Mapping[str, str]) -> tuple[str, ...]:
    found = {}
    for place in sorted(modules_of(path, modules), key=_rank):
        source, tail = modules[place], place.removeprefix(path)
        if source.endswith(tail) and not os.path.isabs(source):  # noqa: PTH117
            found[source.removesuffix(tail)] = True
    return tuple(found)


def _rank(place: str) -> tuple[int, bool, str]:
    """Return the sort key of a package's modules: outermost first, and ``__init__`` first among these."""
    return place.count("/"), place.rpartition("/")[2].partition(".")[0] != "__init__", place


def _above(folder: str) -> Iterator[str]:
    parts = folder.split("/")
    return ("/".join(parts[:count]) for count in range(1, len(parts)))


def _posix(path: str) -> str:
    return path.replace(os.sep, "/")


_NAME_IT: Final = f"name the one that gets the kernels with option `package` of build hook `{HOOK}`"
_WHEEL: Final = "tool.hatch.build.targets.wheel"


def _why_missing(selection: Selection, path: str | None) -> str:
    """Return why the wheel has no module of the package at a path, or of one called like the project."""
    folder = next(_folders(selection, path), None)
    dotted = selection.namespaces
    name = path or (dotted if folder and f"/{folder}".endswith(f"/{dotted}") else plain(selection.project))
    if selection.refusal:
        reason = selection.refusal
        if folder:
            reason = (
                "hatchling does not know which files the wheel ships: by itself it takes only a package that is called "
                f"like the project, {plain(selection.project)}, and has an __init__.py. For {name.replace('/', '.')}, "
                f'write:\n\n[{_WHEEL}]\npackages = ["{_package_entry(folder, name)}"]'
            )
    elif f"{name}.py" in selection.modules:
        reason = f"{name}.py is a module, and kernels need a package to be in: make it {name}/__init__.py"
    elif absent := _missing_path(selection, folder):
        reason = absent
    elif folder:
        reason = _other_place(selection, folder, name)
        reason = reason or f"the wheel has no module of {folder}: {_exclusion(selection, folder, name)}"
    elif selection.packages:
        reason = f"the wheel has no package {name.replace('/', '.')}, only {', '.join(selection.packages)}; {_NAME_IT}"
    else:
        reason = f"the wheel has no Python package, and kernels need one to be in: make {name}/__init__.py"
    hooks = [*selection.config.hook_config]
    later = hooks[hooks.index(HOOK) + 1 :] if HOOK in hooks else []
    hint = f"\nIf build hook {' or '.join(later)} brings the package, name it before `{HOOK}`" if later else ""
    return f"{reason}{hint}"


def _folders(selection: Selection, path: str | None) -> Iterator[str]:
    """Yield folders of the project with modules whose path ends with ``path``, or that are called like the project."""
    root = selection.root
    places = [root, *sorted(_children(root), key=lambda child: child.name != "src")]
    for place in places:
        alike = [child for child in _children(place) if plain(child.name) == plain(selection.project)]
        for found in [*alike, place / selection.namespaces] if path is None else [place / path]:
            if next(found.rglob("*.py"), None):
                yield found.relative_to(root).as_posix()


def _package_entry(folder: str, name: str) -> str:
    """Return what ``packages`` has to list for a folder to be shipped under its whole name."""
    return folder.removesuffix(name) + name.partition("/")[0] if folder.endswith(name) else folder


def _children(folder: Path) -> list[Path]:
    try:
        return [child for child in sorted(folder.iterdir()) if child.is_dir() and child.name[0] != "."]
    except OSError:  # a closed one
        return []


def _other_place(selection: Selection, folder: str, name: str) -> str:
    """Return where the wheel has a folder of the project instead, empty if nowhere."""
    real = os.path.realpath(selection.root / folder)
    for place, source in selection.modules.items():
        tail = os.path.realpath(selection.root / source).removeprefix(real).replace(os.sep, "/")
        if not (tail.startswith("/") and place.endswith(tail) and source.endswith(tail)):
            continue
        there, link = place.removesuffix(tail), source.removesuffix(tail)
        where, dotted = f"the wheel has {folder} as {there}", name.replace("/", ".")
        if link != folder:
            return f"{where}: {_link_advice(folder, link)}"
        if not all(part.isidentifier() for part in there.split("/")):
            return f"{where}, which Python cannot import; rename the folder, to {plain(there)} for example"
        entry = f'packages = ["{_package_entry(folder, name)}"] in [{_WHEEL}]'
        other = f", or ship {dotted} with {entry}" if "/" in name else ""
        return f'{where}; {_NAME_IT}, package = "{there.replace("/", ".")}"{other}'
    return ""


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
    """Return the package that gets the store: by import name, or else the one named like the project, or the only one.

    Raises NotShippedError if the wheel has no module of it, InputError if several might be meant.
    """
    path = None if package is None else package.replace(".", "/")
    if package is None and (packages := selection.packages):
        alike = sorted(filter(selection.is_project, packages), key=lambda one: plain(one) != plain(selection.project))
        if len(packages) > 1 and not alike:
            raise InputError(f"the wheel has the packages {', '.join(packages)}; {_NAME_IT}")
        path = next(iter(alike), packages[0])
        real = (os.path.realpath(selection.root / folder) for folder in selection.folders_of(path))
        if not alike and any(selection.is_project(os.path.basename(folder)) for folder in real):  # noqa: PTH119
            path = None  # it is called otherwise in the wheel
    modules = [] if path is None else modules_of(path, selection.modules)
    if path is None or not modules:
        raise NotShippedError(_why_missing(selection, path))
    first = min(modules, key=_rank)
    return Package(path, selection.folders_of(path), selection.modules[first], is_copied=first in selection.forced)


def keep_store_out(config: Any, package: Package, stores: Iterable[str]) -> None:  # hatchling is untyped
    """Exclude a store that an editable install left in the tree: it may hold stale images.

    Raises InputError if the folder holds anything else, and for other stores that a wheel would ship.
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
    """Raise InputError if later hooks changed the store, whose files are ``store``, or the package that it is in."""
    with zipfile.ZipFile(wheel) as archive:
        names = [os.path.normpath(name).replace(os.sep, "/") for name in archive.namelist()]
    folder = f"{package.path}/{STORE_FOLDER}"
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
            named = config.target_config.get("sources", config.build_config.get("sources", []))
            folders = {os.path.normpath(path).strip(os.sep) + os.sep if path else "" for path in named}
            moving = next(folder for folder in config.sources if file.replace("/", os.sep).startswith(folder))
            key = "sources" if moving in folders else "packages"
            return _MOVES.format(f"`{key}` in [{setting(config, key)}]", file, moved)
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
    from hatch_cuda_kernels.plan import find_families, read_sources  # for sdists

    sources = read_sources(manifest)
    read = {name for found in sources.values() for name in found.files}
    read |= {name for family in find_families(manifest, sources).values() for name in family.files}
    names = {name for name in read if not package_of(name)}  # a wheel's build takes packages from its environment
    files = [manifest.path, *(manifest.root / name for name in sorted(names))]
    return {path.relative_to(root).as_posix(): path for path in files}


def plain_files(files: Mapping[str, Path], scratch: Path) -> dict[str, str]:
    """Return files as hatchling's forced inclusions, with a copy of each link, which may be broken elsewhere."""
    import shutil  # for sdists

    forced = {}
    for count, (name, path) in enumerate(files.items()):
        source = shutil.copy2(path, scratch / str(count)) if path.is_symlink() else path
        forced[str(source)] = name
    return forced


def _unpack(sdist: Path, folder: Path) -> Path:
    """Unpack an sdist as front ends do, and return its folder. Raises InputError if they would refuse."""
    import tarfile  # wheels need none of it

    safely = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
    try:
        with tarfile.open(sdist) as archive:
            archive.extractall(folder, **safely)  # type: ignore[arg-type]  # noqa: S202
    except tarfile.TarError as error:
        raise InputError(f"no front end unpacks the sdist: {error}; put a file in place of the link") from error
    [top] = folder.iterdir()
    return top
