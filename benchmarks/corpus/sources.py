"""Which files of which repositories are compiled: the list, and the kernel sources in a checkout."""

from __future__ import annotations

import posixpath
import re
import tomllib
from dataclasses import dataclass
from dataclasses import field as own_field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prepared import ADDED

if TYPE_CHECKING:
    from collections.abc import Mapping

LIST = Path(__file__).with_name("list.toml")
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:[^\"\\\n]|\\.)*\"", re.DOTALL)
_INCLUDED = re.compile(r'^[ \t]*#[ \t]*include[ \t]*["<]([^">\n]+\.cu)[">]', re.MULTILINE)
_TEXT_FILES = {".c", ".cc", ".cpp", ".cu", ".cuh", ".cxx", ".h", ".hh", ".hpp", ".inc", ".inl"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    """One entry of the list. Paths are relative to the checkout; ``{folder}`` in one is the source's own folder.

    An include folder is also looked for among what its build adds.
    """

    name: str
    commit: str
    field: str
    folders: tuple[str, ...]
    """Where the sources are; ``*`` in one is any name."""
    include: tuple[str, ...] = ()
    define: tuple[tuple[str, str | None], ...] = ()
    std: str = "c++17"
    arch: str = "sm_90"
    """What its sources are compiled for: one with ``a`` where its build has that."""
    pre_include: tuple[str, ...] = ()
    """Headers that its build includes before each source."""
    needs: Mapping[str, str] = own_field(default_factory=dict, hash=False)
    """Folders that its build adds, and where these are among the checkouts."""
    configured: Mapping[str, Mapping[str, Any]] = own_field(default_factory=dict, hash=False)
    """Headers that its build writes, with the template (``from``) and the values."""
    empty: tuple[str, ...] = ()
    """Others, of which no device code uses anything."""

    @property
    def checkout(self) -> str:
        """The name of its folder among the checkouts."""
        return self.name.replace("/", "+")

    def include_of(self, source: str, root: Path) -> tuple[str, ...]:
        """Return the include folders that the manifest would state for a source, those that are there."""
        own = source.rpartition("/")[0]
        stated = [path.format(folder=own) or "." for path in self.include]
        added = [posixpath.normpath(f"{ADDED}/{folder}") for folder in stated]
        both = (folder for pair in zip(stated, added, strict=True) for folder in pair)
        return tuple(folder for folder in both if (root / folder).is_dir())


def load_list(path: Path = LIST) -> list[Repository]:
    found = []
    for name, entry in tomllib.loads(path.read_text())["repositories"].items():
        define = tuple((key, None if value is True else str(value)) for key, value in entry.pop("define", {}).items())
        lists = {key: tuple(value) if isinstance(value, list) else value for key, value in entry.items()}
        found.append(Repository(name=name, define=define, **lists))
    return found


def kernel_sources(repository: Repository, root: Path) -> list[str]:
    """Return the .cu files that define a kernel and are no fragment of another file, by path."""
    fragments = _fragments(root)
    found = {path for pattern in repository.folders for path in root.glob(f"{pattern}/**/*.cu") if path.is_file()}
    names = sorted(path.relative_to(root).as_posix() for path in found if ADDED not in path.parts)
    return [name for name in names if _defines_kernel(root / name) and not _is_fragment(name, fragments)]


def _defines_kernel(path: Path) -> bool:
    return "__global__" in _COMMENT.sub(" ", read(path))


def _is_fragment(name: str, spelled: frozenset[str]) -> bool:
    parts = name.split("/")
    return any("/".join(parts[start:]) in spelled for start in range(len(parts)))


@cache
def _fragments(root: Path) -> frozenset[str]:
    """Return how .cu files are spelled in includes, without what leads up and out of folders."""
    found: set[str] = set()
    for path in root.rglob("*"):
        if path.suffix in _TEXT_FILES and path.is_file():
            found |= {re.sub(r"^(?:\.{1,2}/)+", "", spelled) for spelled in _INCLUDED.findall(read(path))}
    return frozenset(found)


def read(path: Path) -> str:
    return path.read_bytes().decode("utf-8", "replace")
