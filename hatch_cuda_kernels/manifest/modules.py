"""From the entries of a manifest to modules and instances: ``*`` in names, placeholders in instances."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from typing import TYPE_CHECKING, Any, Final

from hatch_cuda_kernels.errors import InputError, suggest
from hatch_cuda_kernels.manifest.kinds import IDENTIFIER, Item
from hatch_cuda_kernels.manifest.model import Named, Pattern
from hatch_cuda_kernels.manifest.yaml_text import shorten
from hatch_cuda_kernels.names import base_name, expand, placeholders

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from hatch_cuda_kernels.includes import ProjectFiles

#: The limit for all modules together: far more than NVRTC compiles in a day, and few enough to list.
MOST_INSTANCES: Final = 100_000


def expand_instances(
    module: Mapping[str, Any], *, counted_only: bool = False
) -> tuple[tuple[Named, ...], tuple[Pattern, ...]]:
    """Return a module's name expressions and its patterns, in the order written; the first axis varies slowest.

    Notes unknown placeholders, unused axes and duplicate names as problems. With ``counted_only`` it expands nothing.
    """
    instances, matrix = _instances_of(module)
    used = _axes(instances)
    for name, axis in matrix.items():
        if name not in used and IDENTIFIER.fullmatch(name):
            axis.spot.report(f"no instance uses {{{name}}}; remove it or write an instance with it")
    patterns = []
    for item in instances:
        names = placeholders(item.value)
        for name in names:
            if name not in matrix:
                item.spot.report(f"unknown placeholder {{{name}}}{suggest(name, matrix, '; add it to the matrix')}")
        if all(name in matrix and matrix[name].value for name in names):
            axes = tuple((name, axis.value) for name, axis in matrix.items() if name in names)
            patterns.append((item, Pattern(text=item.value, matrix=axes)))
    seen = {kernel.value: kernel.spot.path for kernel in module.get("kernels") or ()}
    expanded: list[Named] = []
    for item, pattern in () if counted_only else patterns:
        expanded += _expand(item, pattern, seen)
    return tuple(expanded), tuple(pattern for _, pattern in patterns if pattern.matrix)


def _instances_of(module: Mapping[str, Any]) -> tuple[Sequence[Item], Mapping[str, Item]]:
    """Return a module's ``instances`` and ``matrix``; none if one of them was refused."""
    instances, matrix = module.get("instances", ()), module.get("matrix", {})
    return ((), {}) if instances is None or matrix is None else (instances, matrix)


def _axes(instances: Iterable[Item]) -> set[str]:
    return {name for item in instances for name in placeholders(item.value)}


def exceeds_limit(modules: Iterable[Mapping[str, Any]]) -> bool:
    """Return whether modules together exceed the limit of instances, and note that as a problem of the instances."""
    count = 0
    for instances, matrix in map(_instances_of, modules):
        for item in instances:
            axes = (matrix[name].value for name in placeholders(item.value) if name in matrix)
            count += math.prod(len(values or ()) for values in axes)
            if count > MOST_INSTANCES:
                advice = "shorten a matrix, or split the modules between packages"
                item.spot.report(f"with these, the manifest has more than {MOST_INSTANCES} instances; {advice}")
                return True
    return False


def _expand(item: Item, pattern: Pattern, seen: dict[str, str]) -> list[Named]:
    """Return a pattern's names. Only the first duplicate is reported: the others tend to have the same cause."""
    texts = list(expand(pattern.text, dict(pattern.matrix)))
    repeated = None
    for text in texts:
        repeated = repeated or (text if text in seen else None)
        seen.setdefault(text, item.spot.path)
    if repeated is not None:
        item.spot.report(f"{shorten(repeated)} is listed twice (first by {seen[repeated]})")
    where = item.spot.where
    return [Named(text=text, where=where) for text in texts]


def _share_instances(
    values: Mapping[str, Any], paths: Sequence[str], files: ProjectFiles
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each file of an entry with its share of the ``instances`` and of the axes of the ``matrix``.

    A file takes the instances of kernels that it declares; where no file declares one as ``__global__``, those of its
    functions, because a macro may stand for the mark. What no file declares, as when a header does, belongs to all.
    """
    instances: Sequence[Item] = values.get("instances") or ()
    matrix: Mapping[str, Item] = values.get("matrix") or {}
    if not instances:
        yield from ((path, {}) for path in paths)
        return
    kernels: dict[str, set[str]] = defaultdict(set)
    functions: dict[str, set[str]] = defaultdict(set)
    for path in paths:
        for name, is_kernel in _functions(files, path):
            functions[name].add(path)
            if is_kernel:
                kernels[name].add(path)
    wanted = [(item, base_name(item.value).rpartition("::")[2]) for item in instances]
    unused = matrix.keys() - _axes(instances)
    for path in paths:
        share = tuple(item for item, name in wanted if path in (kernels.get(name) or functions.get(name) or paths))
        axes = _axes(share) | unused
        yield path, {"instances": share, "matrix": {name: axis for name, axis in matrix.items() if name in axes}}


def _functions(files: ProjectFiles, path: str) -> list[tuple[str, bool]]:
    """Return the functions that a file declares without what it includes, each with whether it is marked a kernel."""
    from hatch_cuda_kernels.cpp import SourceFile, TextError, UnbalancedError, read_alone  # most manifests need none

    try:
        declared = [*read_alone(SourceFile(path, files.read(path).decode(errors="replace")))]
    except (InputError, TextError, UnbalancedError):  # the plan reports it
        return []
    return [(one.name, "__global__" in one.words) for one in declared if one.kind in {"function", "instantiation"}]


ENTRY_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*(?:\*[A-Za-z0-9_-]*)?|\*[A-Za-z0-9_-]*")
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
#: What stands for a list of sources, which has no ``*``.
_JOINED: Final = "sources"
#: Windows opens a device for a file or folder of these names.
_WINDOWS_DEVICES: Final = re.compile(r"con|prn|aux|nul|(com|lpt)[0-9]", re.IGNORECASE)


def name_modules(entries: Mapping[str, Item]) -> dict[str, Item]:
    """Return the modules of a manifest's entries by name, each with its entry; None for one that was refused."""
    modules: dict[str, Item] = {}
    folded: dict[str, str] = {}
    for entry, item in entries.items():
        for name, values in _modules_of(entry, item):
            if _WINDOWS_DEVICES.fullmatch(name):
                item.spot.report(f"{name!r} cannot be a folder on Windows; choose another name")
            first = folded.setdefault(name.lower(), name)
            if name in modules:
                item.spot.report(f"{modules[name].spot.path} gives a module {name!r}, too; give them different names")
            elif first != name:
                item.spot.report(f"{name!r} and {first!r} differ only in case, and would be one folder on some systems")
            modules.setdefault(name, Item(values, item.spot))
    return modules


def _modules_of(entry: str, item: Item) -> Iterator[tuple[str, dict[str, object] | None]]:
    values = item.value or {}
    source = values.get("source") or (_JOINED if values.get("sources") else None)
    if source is None:  # refused, or missing
        yield entry, item.value
    elif ("*" in entry) != ("*" in source):
        one, other = ("name", "source") if "*" in entry else ("source", "name")
        item.spot.report(f"the {one} has a * and the {other} has none; with one in both, each file is a module")
    elif "*" not in entry:
        yield entry, item.value | {"entry": entry}
    else:
        before, after = source.split("*")
        files = item.spot.reading.files
        for path, share in _share_instances(item.value, tuple(files.glob(source)), files):
            name = entry.replace("*", path[len(before) : len(path) - len(after)])
            if _NAME.fullmatch(name):
                yield name, item.value | share | {"source": path, "entry": entry}
            else:
                problem = "which is not a module name (letters, digits, _ and -); rename it"
                item.spot.report(f"{path} would be the module {name!r}, {problem}")
