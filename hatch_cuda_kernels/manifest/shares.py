"""Which file takes which instances, where an entry with a ``*`` lists the instances of several files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from hatch_cuda_kernels.errors import InputError
from hatch_cuda_kernels.names import base_name
from hatch_cuda_kernels.patterns import placeholders

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from hatch_cuda_kernels.includes import ProjectFiles
    from hatch_cuda_kernels.manifest.kinds import Item

__all__ = ["share_instances"]


class _Functions(NamedTuple):
    """The names of the functions that a file declares."""

    kernels: frozenset[str]
    functions: frozenset[str]
    """All of them; a macro of a header may stand for the mark of a kernel."""


def share_instances(
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
    read = {path: _functions(files, path) for path in paths}
    kernels = _owners({path: found.kernels for path, found in read.items()})
    functions = _owners({path: found.functions for path, found in read.items()})
    unused = matrix.keys() - _axes(instances)
    for path in paths:
        share = tuple(
            item for item in instances if path in (kernels.get(_kernel(item)) or functions.get(_kernel(item)) or paths)
        )
        axes = _axes(share) | unused
        yield path, {"instances": share, "matrix": {name: axis for name, axis in matrix.items() if name in axes}}


def _kernel(item: Item) -> str:
    return base_name(item.value).rpartition("::")[2]


def _axes(instances: Sequence[Item]) -> set[str]:
    return {name for item in instances for name in placeholders(item.value)}


def _owners(declared: Mapping[str, Iterable[str]]) -> dict[str, set[str]]:
    """Return the files that declare a name, by name."""
    owners: dict[str, set[str]] = {}
    for path, names in declared.items():
        for name in names:
            owners.setdefault(name, set()).add(path)
    return owners


def _functions(files: ProjectFiles, path: str) -> _Functions:
    """Return the functions that a file declares, as far as it can be read without what it includes."""
    from hatch_cuda_kernels.cpp import SourceFile, TextError, UnbalancedError, read_alone  # most manifests need none

    try:
        text = files.read(path).decode(errors="replace")
        found = [one for one in read_alone(SourceFile(path, text)) if one.kind in {"function", "instantiation"}]
    except (InputError, TextError, UnbalancedError):  # the plan reports it
        return _Functions(frozenset(), frozenset())
    kernels = (one.name for one in found if "__global__" in one.words)
    return _Functions(frozenset(kernels), frozenset(one.name for one in found))
