"""The CUDA sources of a project, and the folders that their includes mean."""

from __future__ import annotations

import os
import posixpath
import re
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.compiler.missing_header import is_known
from hatch_cuda_kernels.host_code.includes import is_library_header
from hatch_cuda_kernels.source.closure_reader import read_closure
from hatch_cuda_kernels.source.lexer import COMMENT, STRING
from hatch_cuda_kernels.source.project import Project

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

__all__ = ["count_kernels", "include_folders", "kernel_sources", "list_files"]

_SKIPPED: Final = frozenset({"__pycache__", "build", "dist", "node_modules", "site-packages"})
_NOISE: Final = re.compile(f"{STRING}|{COMMENT}")
_INCLUDED: Final = re.compile(r'^[ \t]*#[ \t]*include[ \t]*["<](?:\.{1,2}/)*([^">\n]+\.cu)[">]', re.MULTILINE)
_TEXTS: Final = (".c", ".cc", ".cpp", ".cu", ".cuh", ".cxx", ".h", ".hh", ".hpp", ".inc", ".inl")
_MOST_ROUNDS: Final = 10


def list_files(root: Path) -> list[str]:
    """Return a project's C++ files, by path; not those in hidden folders, environments and what a build made."""
    found = []
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(one for one in folders if one[0] != "." and one not in _SKIPPED)
        if "pyvenv.cfg" in names:
            folders.clear()
            continue
        beside = "" if (at := os.path.relpath(folder, root).replace(os.sep, "/")) == "." else f"{at}/"
        found += [f"{beside}{name}" for name in sorted(names) if name.endswith(_TEXTS)]
    return found


def kernel_sources(root: Path, files: Iterable[str]) -> list[str]:
    """Return the .cu files that define a kernel, but for those that other files include."""
    texts = {path: (root / path).read_bytes().decode(errors="replace") for path in files}
    fragments = tuple(f"/{name}" for text in texts.values() for name in _INCLUDED.findall(text))
    sources = (path for path in texts if path.endswith(".cu") and not f"/{path}".endswith(fragments or ("//",)))
    return [path for path in sources if count_kernels([texts[path]])]


def count_kernels(texts: Iterable[str]) -> int:
    """Return how often texts say ``__global__``: no fewer than the kernels that they define."""
    return sum(_NOISE.sub(" ", text).count("__global__") for text in texts)


def include_folders(root: Path, source: str, files: Sequence[str], known: Sequence[str] = ()) -> list[str]:
    """Return ``known`` and the folders that hold what a source and its headers include, and that is not beside them.

    Of several files that answer to a name, the one that shares most of its path with the source is taken. Raises
    InputError for a source that cannot be read.
    """
    project = Project(root)
    folders = list(known)
    for _ in range(_MOST_ROUNDS):
        missing = read_closure(root, source, include=folders, project=project).outside
        wanted = (name for name in missing if not is_known(name) and not is_library_header(name))
        fresh = dict.fromkeys(_folder_of(name, source, files) for name in wanted)
        fresh = dict.fromkeys(folder for folder in fresh if folder and folder not in folders)
        if not fresh:
            break
        folders += fresh
    return folders


def _folder_of(name: str, source: str, files: Sequence[str]) -> str:
    """Return the folder from which a header has a name; empty where none has."""
    found = [path for path in files if f"/{path}".endswith(f"/{name}")]
    if not found or name.startswith("."):
        return ""
    best = max(found, key=lambda path: (len(posixpath.commonprefix([path, source])), -len(path)))
    return best.removesuffix(name).rstrip("/") or "."
