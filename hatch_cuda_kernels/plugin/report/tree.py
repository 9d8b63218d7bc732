"""Where the bytes go: the files of a wheel as a tree of modules and what they consist of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from hatch_cuda_kernels.image import INDEX_FILE, KERNELS_FILE, SOURCE_FOLDER, STORE_FOLDER

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

    from hatch_cuda_kernels.plugin.report.subject import FileSize

__all__ = ["KINDS", "Leaf", "leaves_of"]

#: Sort of file, and what the legend calls it.
KINDS: Final = {
    "cubin": "CUBIN",
    "ptx": "PTX",
    "ltoir": "LTO-IR",
    "source": "source and headers",
    "index": "index",
    "other": "other files",
}
_OTHER_FILES: Final = "other files"
_WHOLE_STORE: Final = "store"


class Leaf(NamedTuple):
    """One box of the tree map."""

    group: str
    """A module, the store as a whole, or all other files."""
    name: str
    sort: str
    """A key of ``KINDS``."""
    bytes: int


def leaves_of(files: Iterable[FileSize], contents: Mapping[str, Any]) -> tuple[Leaf, ...]:
    """Return the boxes, largest first: one a file, one for a module's sources together; empty files have none.

    A file that packs several images is shared among them by their sizes.
    """
    packed = _packed(contents)
    sizes: dict[tuple[str, str, str], float] = {}
    for file in files:
        inside = packed.get(file.path.rpartition(f"{STORE_FOLDER}/")[2], {}) if STORE_FOLDER in file.path else {}
        total = sum(inside.values())
        shares = {leaf: file.bytes * size / total for leaf, size in inside.items()} if total else None
        for leaf, size in (shares or {_classify(file.path): file.bytes}).items():
            sizes[leaf] = sizes.get(leaf, 0) + size
    leaves = (Leaf(*leaf, round(size)) for leaf, size in sizes.items() if round(size))
    return tuple(sorted(leaves, key=lambda leaf: (-leaf.bytes, leaf)))


def _packed(contents: Mapping[str, Any]) -> dict[str, dict[tuple[str, str, str], int]]:
    """Return the images that share a file, by that file: each as its box is called, with its own bytes."""
    found: dict[str, dict[tuple[str, str, str], int]] = {}
    for module, image in _images(contents):
        stored = image.get("stored")
        if stored and stored["size"]:  # of no size of its own: the very bytes of another image, at no cost
            found.setdefault(stored["file"], {})[module, image["arch"], image["kind"]] = image["bytes"]
    return found


def _images(contents: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, module in contents["modules"].items():
        for image in module["images"]:
            yield name, image


def _classify(path: str) -> tuple[str, str, str]:
    """Return a file's group, name and sort."""
    _, inside, rest = f"/{path}".rpartition(f"/{STORE_FOLDER}/")
    if not inside:
        return _OTHER_FILES, path, "other"
    module, _, name = rest.partition("/")
    if not name:
        return _WHOLE_STORE, rest, "index" if rest == KERNELS_FILE else "other"
    if name.startswith(f"{SOURCE_FOLDER}/"):
        return module, SOURCE_FOLDER, "source"
    if name == INDEX_FILE:
        return module, name, "index"
    suffix = name.rpartition(".")[2]
    if suffix not in KINDS:
        return module, name, "other"
    return module, name.removeprefix(f"{module}.").removesuffix(f".{suffix}"), suffix
