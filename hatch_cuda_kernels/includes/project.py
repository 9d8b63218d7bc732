"""The files of a project, as spelled on disk, never outside its folder, and what is read out of them, each once."""

from __future__ import annotations

import fnmatch
import os
import posixpath
import re
import sys
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Final, Literal

from hatch_cuda_kernels.errors import InputError, StoreError
from hatch_cuda_kernels.integrity import sha256

#: Paths that begin so are of a package: ``@cupy/_core/include``. No such folder of a project is looked at.
MARK: Final = "@"
PACKAGE_NAME: Final = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*", re.ASCII)
_SITES: Final = frozenset({"site-packages", "dist-packages"})
_Kind = Literal["file", "folder", "outside"]
_OUTSIDE: Final = "outside"
#: What no include spells: the names of files that are not UTF-8, and what would end a directive.
_UNSPELLABLE: Final = re.compile(r'[\x00-\x1f\x7f"<>\ud800-\udfff]')


def package_of(path: str) -> str:
    """Return the package that a path of a project's files is in, ``@cupy``; empty where it is in the project."""
    return path.partition("/")[0] if path.startswith(MARK) else ""


def package_folders(name: str) -> tuple[Path, ...]:
    """Return the folders of an import package, several of a namespace package; none where it is not installed.

    Raises InputError for what has no folders: a module of one file, one in an archive, or of the standard library.
    """
    first, *rest = name.split(".")
    if first in sys.stdlib_module_names:
        raise InputError(f"{first!r} is Python's own module; name a package that is installed")
    places = [Path(place, *rest).absolute() for place in _places(first)]
    found = tuple(place for place in places if place.is_dir())
    found = next(((place,) for place in found if (place / "__init__.py").is_file()), found)
    in_archives = (place for place in places if any(parent.is_file() for parent in place.parents))
    if not found and (archive := next(in_archives, None)):
        raise InputError(f"{name!r} is in the archive {archive}; install it, so that its files are in folders")
    return found


def _places(name: str) -> list[str]:
    """Return where the import system looks for the modules of a package. Raises InputError for a module of one file."""
    from importlib.util import find_spec  # few projects include headers of packages

    try:
        spec = find_spec(name)
    except (ImportError, AttributeError, ValueError):
        spec = None
    if spec is None and name in sys.modules:  # something else is in its place there
        finders = filter(None, (getattr(finder, "find_spec", None) for finder in sys.meta_path))
        spec = next(filter(None, (find(name, None) for find in finders)), None)
    if spec is not None and spec.submodule_search_locations is None:
        raise InputError(f"{name!r} is one file ({spec.origin}), and not a package, which may have folders of headers")
    return [] if spec is None else [str(place) for place in spec.submodule_search_locations or ()]


def is_in_environment(folder: Path, name: str) -> bool:
    """Return whether a package's folder is where distributions are installed, and not among a project's sources."""
    site = folder.parents[name.count(".")]
    return site.name in _SITES or any(site.glob("*.dist-info"))


def normalize(folder: str, path: str) -> str | None:
    """Return ``path``, taken from ``folder``, relative to the project (``""`` for its root); None when it leaves it."""
    if path.startswith("/") or path[1:2] == ":":  # of a drive of Windows
        return None
    joined = posixpath.normpath(posixpath.join(folder, path))
    if joined == ".." or joined.startswith("../"):
        return None
    return "" if joined == "." else joined


@lru_cache(maxsize=1 << 14)
def beside(folder: str, spelling: str) -> str | None:
    """Return the path of a spelling from a folder, as ``normalize`` does; None, too, from one package to elsewhere."""
    path = normalize(folder, spelling)
    return path if path is not None and package_of(path) == package_of(folder) else None


def wandering(spelling: str) -> bool:
    """Return whether a spelling could reach a file outside the folder it is searched in, on any system."""
    path = spelling.replace("\\", "/")
    return path.startswith("/") or path[1:2] == ":" or ".." in path.split("/")


class ProjectFiles:
    """A project's folders, listed once each. Paths are relative and posix.

    It shows the project as it was when a folder was first asked for, so it serves one plan, not a process. Listing
    instead of probing makes names case-exact on every system. A symbolic link out of the project is ``outside``,
    and so is all below it. Names that no include could spell are left out. ``given`` texts, by path, are files as well.
    With ``only``, the project is a store's: it has these files, each with this sha256, and what else is in its folder
    is not looked at. ``@NAME`` is an installed import package's folder, unless ``copies`` or a store has another.
    """

    def __init__(
        self,
        root: Path,
        given: Mapping[str, str] | None = None,
        *,
        only: Mapping[str, str] | None = None,
        copies: Mapping[str, Path] | None = None,
    ) -> None:
        self.root: Final = Path(os.path.realpath(root))
        self._texts: Final = dict(given or {})
        self._given: dict[str, dict[str, _Kind]] = {}
        for path in self._texts:
            _add(self._given, path, "file")
        self._listed: dict[str, dict[str, _Kind]] = {}
        #: What was asked of the project, with the answers.
        self.kinds: Final[dict[str, str | None]] = {}
        self.globs: Final[dict[str, list[str]]] = {}
        self._only: Final = only
        self._packages: Final[dict[str, tuple[Path, ...]]] = {
            mark: (folder.resolve(),) for mark, folder in (copies or {}).items()
        }
        for path in only or ():
            _add(self._listed, path, "file")

    def kind(self, path: str) -> _Kind | None:
        """Return what a path is, None when there is nothing (or neither a file nor a folder)."""
        if not path:
            return "folder"
        folder, _, name = path.rpartition("/")
        if self._only is None and path == package_of(path) and path not in self._given.get("", {}):
            found: _Kind | None = "folder" if self._package(path) else None
        else:
            found = self._entries(folder).get(name)
        self.kinds[path] = found
        return found

    def is_folder(self, path: str) -> bool:
        """Return whether a path, however it is spelled, is a folder of the project."""
        found = normalize("", path)
        return found is not None and self.kind(found) == "folder"

    def _entries(self, folder: str) -> dict[str, _Kind]:
        """Return the names in a folder with what they are; empty when it is not a folder."""
        if folder not in self._listed:
            is_there = self._only is None and self.kind(folder) in ("folder", _OUTSIDE)
            self._listed[folder] = self._scan(folder) if is_there else {}
        return self._listed[folder]

    def read(self, path: str) -> bytes:
        """Return a file's bytes. Raises InputError, of a store's StoreError, where it cannot be read or is another."""
        if path in self._texts:
            return self._texts[path].encode()
        if self._only is not None:
            return _intact(self.root / path, self._only.get(path, ""))
        if self.kind(path) == _OUTSIDE:
            package = package_of(path)
            advice = (
                f"out of the package {package}; install it again"
                if package
                else "out of the project; copy the file into it"
            )
            raise InputError(f"{path}: a symbolic link leads {advice}")
        try:
            return self._place(path).read_bytes()
        except OSError as error:
            raise InputError(f"{path}: cannot be read: {error.strerror}") from error

    def _package(self, mark: str) -> tuple[Path, ...]:
        if mark not in self._packages:
            try:
                folders = package_folders(mark.removeprefix(MARK))
                self._packages[mark] = tuple(folder.resolve() for folder in folders)
            except InputError:  # which the manifest's reader reports
                self._packages[mark] = ()
        return self._packages[mark]

    def _trees(self, path: str) -> tuple[tuple[Path, ...], str]:
        """Return the folders that a path may be below, the project's or a package's, and the path from there."""
        mark = package_of(path) if self._only is None else ""
        return (self._package(mark), path[len(mark) + 1 :]) if mark else ((self.root,), path)

    def _place(self, path: str) -> Path:
        trees, inner = self._trees(path)
        places = [tree / inner for tree in trees]
        return next((place for place in places if place.exists()), (places or [self.root / path])[0])

    def _scan(self, folder: str) -> dict[str, _Kind]:
        outside = self.kind(folder) == _OUTSIDE
        trees, inner = self._trees(folder)
        found: dict[str, _Kind] = {}
        for tree in reversed(trees):  # as imports do, the first that has it counts
            try:
                with os.scandir(tree / inner) as listing:
                    for entry in listing:
                        kind = _kind(entry)
                        if kind is not None and not _UNSPELLABLE.search(entry.name):
                            real = Path(os.path.realpath(entry.path)) if entry.is_symlink() else tree
                            alike = Path(tree.name, inner, entry.name).parts
                            # Some installers make a tree of links to another one.
                            is_copied = tree is not self.root and real.parts[-len(alike) :] == alike
                            is_inside = real.is_relative_to(tree) or is_copied
                            found[entry.name] = kind if is_inside and not outside else _OUTSIDE
            except (FileNotFoundError, NotADirectoryError):
                pass  # a folder of given files only, or one that was just removed; a link to a file outside the project
            except OSError as error:
                raise InputError(f"{folder or '.'}: cannot be listed: {error.strerror}") from error
        return {name: kind for name, kind in found.items() if folder or not name.startswith(MARK)} | self._given.get(
            folder, {}
        )

    def glob(self, pattern: str) -> Iterator[str]:
        """Return the files a normalized pattern matches, in order; ``**`` is any folders, dots are as in a shell."""
        if pattern not in self.globs:
            parts = pattern.split("/")
            self.globs[pattern] = sorted(set(self._glob("", [*parts, "*"] if parts[-1] == "**" else parts)))
        return iter(self.globs[pattern])

    def _glob(self, folder: str, parts: list[str]) -> Iterator[str]:
        first, *rest = parts
        names = self._entries(folder)
        if not folder and (kind := self.kind(first) if package_of(first) else None):
            names = {first: kind}  # which no listing has
        if first == "**":
            yield from self._glob(folder, rest)
        for name, kind in names.items():
            path = f"{folder}/{name}" if folder else name
            if name.startswith(".") and not first.startswith("."):
                continue
            if first == "**" and kind == "folder" and not self._place(path).is_symlink():
                yield from self._glob(path, parts)
            elif fnmatch.fnmatchcase(name, first) and first != "**":
                if rest:
                    yield from self._glob(path, rest)
                elif self.kind(path) == "file" or self._place(path).is_file():
                    yield path


def _intact(path: Path, digest: str) -> bytes:
    """Return what is in a store's file. Raises StoreError unless it has this sha256."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise StoreError(str(path), f"cannot read this source: {error.strerror}; reinstall the package") from error
    if sha256(data).hexdigest() != digest:
        raise StoreError(str(path), "this source does not match the digest in the index; reinstall the package")
    return data


def _kind(entry: os.DirEntry[str]) -> _Kind | None:
    try:
        return "file" if entry.is_file() else "folder" if entry.is_dir() else None
    except OSError:  # links that lead around in a circle
        return None


def _add(folders: dict[str, dict[str, _Kind]], path: str, kind: _Kind) -> None:
    """Enter a path into its folder, and that into its own."""
    folder, _, name = path.rpartition("/")
    folders.setdefault(folder, {})[name] = kind
    if folder:
        _add(folders, folder, "folder")
