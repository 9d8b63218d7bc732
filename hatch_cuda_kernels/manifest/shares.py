"""Which file takes which instances, where an entry with a ``*`` lists the instances of several files."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from hatch_cuda_kernels.errors import InputError
from hatch_cuda_kernels.names import base_name
from hatch_cuda_kernels.patterns import placeholders

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from hatch_cuda_kernels.manifest.kinds import Item
    from hatch_cuda_kernels.source.project_files import ProjectFiles

__all__ = ["share_instances"]

#: A function's name, where it is declared or called; ``__global__`` before it may be a macro's.
_FUNCTION: Final = re.compile(r"([^\W\d]\w*)\s*\(")


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
    from hatch_cuda_kernels.source.declarations import find_declarations  # most manifests have no such entry
    from hatch_cuda_kernels.source.lexer import blank_literals

    texts = {path: _text(files, path) for path in paths}
    kernels = _owners({path: find_declarations(text) for path, text in texts.items()})
    functions = _owners({path: _FUNCTION.findall(blank_literals(text)) for path, text in texts.items()})
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


def _text(files: ProjectFiles, path: str) -> str:
    """Return a file's text; none if it cannot be read, which the plan reports."""
    try:
        return files.read(path).decode(errors="replace")
    except InputError:
        return ""
