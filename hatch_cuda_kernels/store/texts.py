"""The texts of a store's files beside the indexes: ``kernels.tsv``, ``details.json`` and ``digests.json``.

A build writes them, and ``verify`` compares what was shipped with them. No look-up needs any of this.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

from hatch_cuda_kernels.integrity import check_shape, sha256
from hatch_cuda_kernels.names import axes_key, base_name, family_key, listed_module, normalize_name
from hatch_cuda_kernels.records import NamedTuple
from hatch_cuda_kernels.store.index import (
    DETAILS,
    DETAILS_FILE,
    INDEX_FILE,
    KERNELS_FILE,
    PROMISES_FILE,
    ModuleIndex,
    module_names,
)

if TYPE_CHECKING:
    from pathlib import Path

    from hatch_cuda_kernels.execution_space import ClosureCut
    from hatch_cuda_kernels.image import Symbol
    from hatch_cuda_kernels.store.families import ModuleFamily

DETAILS_SCHEMA: Final = 1
#: Beside ``kernels.tsv``. The indexes have the digests of images and sources, and this file those of the indexes.
DIGESTS_FILE: Final = "digests.json"
DIGESTS_SCHEMA: Final = 1


class ModuleDetails(NamedTuple):
    """``details.json`` of one module: what only a compile or a listing asks for, however many kernels there are."""

    names: tuple[str, ...]
    """Name expressions every image was compiled with."""
    resources: dict[str, dict[str, dict[str, int]]]
    """Per image and lowered name of ``kernels.tsv``: registers, shared, stack, spill_stores, spill_loads (bytes).

    Of CUBINs only.
    """
    lowered: dict[str, dict[str, str]] = {}  # noqa: RUF012 - never changed
    """Per image that renames, by the key in ``kernels.tsv``: the lowered names that differ from those listed there."""
    cuts: tuple[ClosureCut, ...] = ()
    """What was cut of each source and its headers; none where nothing was of any."""
    levels: tuple[tuple[str, int, str], ...] = ()
    """File, offset and level of each declaration of which more is cut, as NVRTC refused it."""
    family: ModuleFamily | None = None
    """In one module of each entry with axes in its name: by which a combination that is not listed is compiled."""

    def add_to(self, index: ModuleIndex) -> ModuleIndex:
        """Return an index with its names, and its images with their resources."""
        images = (
            image._replace(resources=self.resources.get(image.file, {}), lowered=self.lowered.get(image.file, {}))
            for image in index.images
        )
        return index._replace(names=self.names, images=tuple(images))

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object of ``details.json``."""
        data = {"schema": DETAILS_SCHEMA, "names": list(self.names), "resources": self.resources}
        data |= {"lowered": self.lowered} if self.lowered else {}
        data |= {"levels": self.levels} if self.levels else {}
        data |= {"family": self.family.to_json()} if self.family else {}
        return data | ({"cuts": [cut.to_json() for cut in self.cuts]} if self.cuts else {})

    @staticmethod
    def names_in(data: dict[str, Any]) -> tuple[str, ...]:
        """Return the names alone, which a look-up in the cache needs. Raises ValueError on other data."""
        check_shape(data, DETAILS)
        return tuple(data["names"])

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> ModuleDetails:
        """Read what ``to_json`` wrote. Raises ValueError on other data."""
        check_shape(data, DETAILS)
        cuts: tuple[ClosureCut, ...] = ()
        if "cuts" in data:
            from hatch_cuda_kernels.execution_space import ClosureCut  # most modules are compiled as they are

            cuts = tuple(map(ClosureCut.from_json, data["cuts"]))
        family = None
        if "family" in data:
            from hatch_cuda_kernels.store.families import ModuleFamily  # few modules have one

            family = ModuleFamily.from_json(data["family"])
        return cls(
            family=family,
            names=tuple(data["names"]),
            resources=data["resources"],
            lowered=data.get("lowered", {}),
            cuts=cuts,
            levels=tuple((file, offset, level) for file, offset, level in data.get("levels", ())),
        )


class ListedModule(NamedTuple):
    """What ``kernels.tsv`` lists of one module."""

    module: str
    kernels: Sequence[Symbol]
    globals: Sequence[Symbol]
    family: str
    axes: dict[str, str]
    has_family: bool = False
    """Whether its details say how other values of the axes are compiled."""


def kernels_text(modules: Iterable[ListedModule]) -> str:
    """Return ``kernels.tsv``: a line for each kernel, variable, template and module of a family, sorted bytewise.

    A line has key, module, lowered name, PTX's parameter types and name; those of kernels are followed by the C++ types
    of the parameters and their names, as far as these are known.
    """
    lines = set()
    for module, kernels, variables, family, axes, has_family in modules:
        if family and module == listed_module(module):
            lines.add((family_key(family, axes), module, "", "", family))
        if has_family:
            lines.add((axes_key(family, axes), module, "", "", family))
        for symbol in kernels:
            key = normalize_name(symbol.name)
            types = (";".join(symbol.types),) if symbol.types or symbol.names else ()
            names = (",".join(symbol.names),) if symbol.names else ()
            lines.add((key, module, symbol.lowered, ",".join(symbol.params), symbol.name, *types, *names))
            if "<" in key and module == listed_module(module):
                lines.add((f"<{base_name(key)}", module, "", "", base_name(key)))
        for symbol in variables:
            fields = (module, symbol.lowered, ",".join(symbol.params), symbol.name)
            lines.add((f"&{normalize_name(symbol.name)}", *fields))
    return "".join(f"{line}\n" for line in sorted(("\t".join(fields) for fields in lines), key=str.encode))


def json_text(data: dict[str, Any]) -> str:
    """Return the text of a JSON file: equal for equal data."""
    return f"{json.dumps(data, indent=1, sort_keys=True)}\n"


def digests_text(store: Path) -> str:
    """Return ``digests.json`` of a store, as ``digests_of`` does."""

    def read(name: str) -> bytes | None:
        path = store / name
        return path.read_bytes() if path.is_file() else None

    return digests_of(module_names(store), read)


def digests_of(modules: Iterable[str], read: Callable[[str], bytes | None]) -> str:
    """Return ``digests.json`` of a store with these modules: the sha256 of the files that no index lists.

    A module's ``index.json`` and ``details.json`` share one: digests do not compress. ``read`` returns a file, or None.
    """
    files = {name: [name] for name in (KERNELS_FILE, PROMISES_FILE)}
    files |= {name: [f"{name}/{INDEX_FILE}", f"{name}/{DETAILS_FILE}"] for name in modules}
    texts = {name: [data for path in paths if (data := read(path)) is not None] for name, paths in files.items()}
    digests = {name: module_digest(parts) for name, parts in texts.items() if parts}
    return json_text({"schema": DIGESTS_SCHEMA, "sha256": digests})


def module_digest(texts: Iterable[bytes]) -> str:
    """Return the digest of a module's ``index.json`` with its ``details.json``, or of another file."""
    return sha256(b"".join(texts)).hexdigest()


def read_digests(data: Any) -> dict[str, str]:
    """Return the digests by file or module, of what ``digests.json`` holds. Raises ValueError on other data."""
    check_shape(data, {"sha256": {str: str}})
    digests: dict[str, str] = data["sha256"]
    return digests
