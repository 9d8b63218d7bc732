"""The files of a project, and the macros that let kernels in their branches in."""

from __future__ import annotations

import os
from collections import defaultdict
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.cpp import SourceFile, evaluate, is_identifier, parse_define
from hatch_cuda_kernels.names import VIRTUAL_ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from hatch_cuda_kernels.cpp import Condition, Directive, Macro, TranslationUnit

_SKIPPED: Final = frozenset({"__pycache__", "build", "dist", "node_modules", "site-packages"})
_TEXTS: Final = (".c", ".cc", ".cpp", ".cu", ".cuh", ".cxx", ".h", ".hh", ".hpp", ".inc", ".inl")


def list_files(root: Path, suffixes: tuple[str, ...] = _TEXTS) -> list[str]:
    """Return a project's files with some suffixes, by path; not those in hidden folders, environments or builds.

    The suffixes are those of C++ by default.
    """
    found = []
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(one for one in folders if one[0] != "." and one not in _SKIPPED)
        if "pyvenv.cfg" in names:
            folders.clear()
            continue
        beside = "" if (at := os.path.relpath(folder, root).replace(os.sep, "/")) == "." else f"{at}/"
        named = (name for name in sorted(names) if name.endswith(suffixes))
        found += [f"{beside}{name}" for name in named if os.path.isfile(f"{folder}/{name}")]  # noqa: PTH113 - no pipe
    return found


def needed_macros(unit: TranslationUnit) -> dict[tuple[str, int], tuple[str, ...]]:
    """Return the kernels in branches that are off for want of macros alone, by path and line, with these."""
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
