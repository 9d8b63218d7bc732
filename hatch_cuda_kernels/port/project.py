"""The CUDA sources of a project: which files there are, which folders their includes mean, what stands in branches."""

from __future__ import annotations

import os
import posixpath
from collections import defaultdict
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.compiler import is_known
from hatch_cuda_kernels.cpp import SourceFile, evaluate, is_identifier, lex, parse_define
from hatch_cuda_kernels.includes import Project, read_closure
from hatch_cuda_kernels.libraries import is_library_header
from hatch_cuda_kernels.names import VIRTUAL_ROOT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from hatch_cuda_kernels.cpp import Condition, Directive, Macro, TranslationUnit

_SKIPPED: Final = frozenset({"__pycache__", "build", "dist", "node_modules", "site-packages"})
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
    fragments = tuple(f"/{name}" for text in texts.values() for name in _included_sources(text))
    sources = (path for path in texts if path.endswith(".cu") and not f"/{path}".endswith(fragments or ("//",)))
    return [path for path in sources if "__global__" in texts[path] and "__global__" in lex(texts[path])]


def _included_sources(text: str) -> Iterator[str]:
    """Yield the names of the .cu files that a text includes, without the folders above."""
    for directive in SourceFile("", text).directives if ".cu" in text else ():
        if directive.word == "include" and directive.header.endswith(".cu"):
            yield "/".join(part for part in directive.header.split("/") if part not in {".", ".."})


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


def needed_macros(unit: TranslationUnit) -> dict[tuple[str, int], tuple[str, ...]]:
    """Return the kernels in branches that no compile sees, by path and line, with the macros that would let them in.

    There are none where something else than a macro that nothing defines is in the way.
    """
    asked: dict[tuple[str, int], list[Condition]] = defaultdict(list)
    for one in unit.conditions:
        if one.file.name.startswith(VIRTUAL_ROOT) and "__global__" in one.file.text:
            asked[one.file.name, one.directive.start].append(one)
    found: dict[tuple[str, int], tuple[str, ...]] = {}
    for (name, _), conditions in asked.items():
        file, directive, _, time = conditions[-1]
        lines = [*_kernel_lines(file, directive)] if all(one.holds is False for one in conditions) else []
        if lines and (macros := _satisfying(directive, time, unit)):
            found |= {(name.removeprefix(VIRTUAL_ROOT), line): macros for line in lines}
    return found


def _kernel_lines(file: SourceFile, directive: Directive) -> Iterator[int]:
    """Yield the line of the first kernel between any two directives of the branch that one opens."""
    at = file.directives.index(directive)
    for run in range(at + 1, file.groups[at] + 1):
        tokens = file.tokens(run)
        if "__global__" in tokens:
            yield file.line(file.starts(run)[tokens.index("__global__")])


def _satisfying(directive: Directive, time: int, unit: TranslationUnit) -> tuple[str, ...]:
    """Return macros that nothing defines and whose definition lets a condition hold; none where these do not do it."""
    names = dict.fromkeys(filter(is_identifier, directive.texts))
    free = [name for name in names if name[0] != "_" and name != "defined" and unit.macros.at(name, time) == (None,)]
    for chosen in (*([name] for name in free), free):
        given = {name: (parse_define(name, None),) for name in chosen}

        def look_up(name: str, given: Mapping[str, tuple[Macro | None, ...]] = given) -> tuple[Macro | None, ...]:
            return given.get(name) or unit.macros.at(name, time)

        if chosen and evaluate(directive, look_up):
            return tuple(chosen)
    return ()
