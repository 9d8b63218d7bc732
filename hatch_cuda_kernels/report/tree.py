"""Where the bytes go: the files of a wheel as a tree of modules and their parts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from hatch_cuda_kernels.report.sizes import image_shares
from hatch_cuda_kernels.store.index import (
    DETAILS_FILE,
    INDEX_FILE,
    KERNELS_FILE,
    PROMISES_FILE,
    SOURCE_FOLDER,
    STANDARD_FILE,
    STORE_FOLDER,
)
from hatch_cuda_kernels.store.texts import DIGESTS_FILE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from hatch_cuda_kernels.report.sizes import FileSize

__all__ = ["KINDS", "Leaf", "leaves_of"]

#: Sorts of files, and what the legend calls them.
KINDS: Final = {
    "cubin": "CUBIN",
    "ptx": "PTX",
    "ltoir": "LTO-IR",
    "source": "source and headers",
    "index": "index and promises",
    "other": "other files",
}
_OTHER_FILES: Final = "other files"
_WHOLE_STORE: Final = "store"
#: What compiles at run time read, and what the boxes are called.
_SOURCES: Final = {SOURCE_FOLDER: "source", STANDARD_FILE: "standard headers"}


class Leaf(NamedTuple):
    """One box of the tree map."""

    group: str
    """A module, the store as a whole, or all other files."""
    name: str
    sort: str
    """A key of ``KINDS``."""
    bytes: int


def leaves_of(files: Sequence[FileSize], contents: Mapping[str, Any]) -> tuple[Leaf, ...]:
    """Return the boxes, largest first: one for each file, one for all sources, none for empty files.

    A file that packs several images is divided among them (``image_shares``).
    """
    shares = image_shares(files, contents)
    sizes: dict[tuple[str, str, str], int] = {}
    for file in files:
        parts: dict[tuple[str, str, str], int] = {
            (key.module, str(key.arch), key.kind): size for key, size in shares.get(file.path, {}).items()
        }
        for leaf, size in (parts or {_classify(file.path): file.bytes}).items():
            sizes[leaf] = sizes.get(leaf, 0) + size
    leaves = (Leaf(*leaf, size) for leaf, size in sizes.items() if size)
    return tuple(sorted(leaves, key=lambda leaf: (-leaf.bytes, leaf)))


def _classify(path: str) -> tuple[str, str, str]:
    """Return a file's group, name and sort."""
    _, inside, rest = f"/{path}".rpartition(f"/{STORE_FOLDER}/")
    if not inside:
        return _OTHER_FILES, path, "other"
    module, _, name = rest.partition("/")
    if module in _SOURCES:
        return _WHOLE_STORE, _SOURCES[module], "source"
    if not name:
        return _WHOLE_STORE, rest, "index" if rest in {KERNELS_FILE, PROMISES_FILE, DIGESTS_FILE} else "other"
    if name in {INDEX_FILE, DETAILS_FILE}:
        return module, name, "index"
    suffix = name.rpartition(".")[2]
    if suffix not in KINDS:
        return module, name, "other"
    return module, name.removeprefix(f"{module}.").removesuffix(f".{suffix}"), suffix
