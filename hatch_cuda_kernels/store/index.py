"""What a store's index says: modules, kernels, images. Written by the build side, read by the run side.

A store folder holds ``kernels.tsv`` (one sorted line a kernel, so that a look-up bisects it) and one folder a module
with ``index.json``, ``details.json``, the images, and the source with its header closure under ``source/``; standard
headers are in one file for all modules.

They are named tuples: a process that only loads a kernel pays for making the classes, half a millisecond a dataclass.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from hatch_cuda_kernels.digest import sha256
from hatch_cuda_kernels.shape import check_shape
from hatch_cuda_kernels.store.image_record import ImageRecord
from hatch_cuda_kernels.store.shapes import DETAILS, INDEX

__all__ = [
    "DETAILS_FILE",
    "INDEX_FILE",
    "KERNELS_FILE",
    "SOURCE_FOLDER",
    "STANDARD_FILE",
    "STORE_FOLDER",
    "ModuleDetails",
    "ModuleIndex",
    "UnitRecord",
]

#: Raised when a change makes older readers misread an index; a reader refuses a schema it does not know.
INDEX_SCHEMA: Final = 1
#: Of a module that is linked from several things, of which readers of schema 1 would compile the first.
LINKED_SCHEMA: Final = 2
STORE_FOLDER: Final = "_kernels"
KERNELS_FILE: Final = "kernels.tsv"
INDEX_FILE: Final = "index.json"
DETAILS_FILE: Final = "details.json"
SOURCE_FOLDER: Final = "source"
STANDARD_FILE: Final = "standard_headers.json"


class UnitRecord(NamedTuple):
    """One source of a module."""

    source: str
    """Its project-relative path."""
    sha256: str
    """Digest of the source and its header closure as NVRTC saw them."""
    asked: tuple[str, ...] = ()
    """Names, of project files or standard headers, that the toolkit's headers asked for."""

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object of the index."""
        return {"source": self.source, "source_sha256": self.sha256, "asked": list(self.asked)}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> UnitRecord:
        """Read what ``to_json`` wrote, and an index's shape holds."""
        return cls(data["source"], data["source_sha256"], tuple(data.get("asked", ())))


class ModuleIndex(NamedTuple):
    """``index.json`` of one module: what was compiled, from what, by what, and the images it gave.

    It is read for every first look-up, so nothing in it grows with the number of kernels; see ModuleDetails.
    """

    module: str
    units: tuple[UnitRecord, ...]
    """The sources; most modules have one."""
    files: dict[str, str]
    """Every file shipped under ``source/``: project-relative path, sha256 of its bytes."""
    outside: tuple[str, ...] | None
    """Headers that are not the project's, as spelled; None when no toolkit header can have a part in the images."""
    headers: tuple[str, ...]
    """Declared globs of headers that the include scan cannot see."""
    options: dict[str, Any]
    """``NvrtcOptions.canonical()``."""
    globals: tuple[str, ...]
    """Device variables the host sets."""
    patterns: tuple[dict[str, Any], ...]
    """Declared instance patterns and their matrix, for ``store.instantiate``."""
    toolchain: dict[str, str]
    images: tuple[ImageRecord, ...]
    front_end: str = "per-arch"
    """How the images shared NVRTC's front end: ``lto`` or ``ptx`` where one architecture's run served others."""
    names: tuple[str, ...] = ()
    """Of ModuleDetails, once they are read."""
    standard: str = ""
    """Digest of the file with the store's standard headers; empty where the closure has none."""
    libraries: tuple[tuple[str, str], ...] = ()
    """What is linked besides, in order: ``cudadevrt`` or a file's project-relative path, with its digest."""
    editable: dict[str, str] | None = None
    """Only in an editable install: the project root, relative to the store, and the manifest with its digest."""

    @property
    def sources(self) -> tuple[str, ...]:
        """Project-relative paths of the sources."""
        return tuple(unit.source for unit in self.units)

    @property
    def is_linked(self) -> bool:
        """Whether the images are linked from several things."""
        return len(self.units) > 1 or bool(self.libraries)

    @property
    def source_sha256(self) -> str:
        """Digest of everything that compilers and linkers saw of the project, and of the libraries."""
        if not self.is_linked:
            return self.units[0].sha256
        digests = [*(unit.sha256 for unit in self.units), *(digest for _, digest in self.libraries)]
        return sha256("\n".join(digests).encode()).hexdigest()

    def with_details(self, details: ModuleDetails) -> ModuleIndex:
        """Return the index with its names, and its images with their resources."""
        images = (
            image._replace(resources=details.resources.get(image.file, {}), lowered=details.lowered.get(image.file, {}))
            for image in self.images
        )
        return self._replace(names=details.names, images=tuple(images))

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object of ``index.json``, which has no details."""
        data: dict[str, Any] = {
            "schema": LINKED_SCHEMA if self.is_linked else INDEX_SCHEMA,
            "module": self.module,
            "source": self.units[0].source,
            "source_sha256": self.units[0].sha256,
            "files": self.files,
            "outside": None if self.outside is None else list(self.outside),
            "headers": list(self.headers),
            "options": self.options,
            "globals": list(self.globals),
            "patterns": list(self.patterns),
            "toolchain": self.toolchain,
            "images": [image.to_json() for image in self.images],
        }
        if self.front_end != "per-arch":
            data["front_end"] = self.front_end
        if self.standard:
            data["standard"] = self.standard
        if self.units[0].asked:
            data["asked"] = list(self.units[0].asked)
        if self.is_linked:
            data["units"] = [unit.to_json() for unit in self.units[1:]]
            data["libraries"] = [{"name": name, "sha256": digest} for name, digest in self.libraries]
        if self.editable is not None:
            data["editable"] = self.editable
        return data

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> ModuleIndex:
        """Read what ``to_json`` wrote. Raises ValueError on other data."""
        check_shape(data, {"schema": int})
        if data["schema"] not in {INDEX_SCHEMA, LINKED_SCHEMA}:
            known = f"neither {INDEX_SCHEMA} nor {LINKED_SCHEMA}"
            message = f"index schema {data['schema']} is {known}: written by another hatch-cuda-kernels"
            raise ValueError(message)
        check_shape(data, INDEX)
        return cls(
            module=data["module"],
            units=tuple(map(UnitRecord.from_json, [data, *data.get("units", ())])),
            files=data["files"],
            outside=None if data["outside"] is None else tuple(data["outside"]),
            headers=tuple(data["headers"]),
            options=data["options"],
            globals=tuple(data["globals"]),
            patterns=tuple(data["patterns"]),
            toolchain=data["toolchain"],
            images=tuple(ImageRecord.from_json(image) for image in data["images"]),
            front_end=data.get("front_end", "per-arch"),
            standard=data.get("standard", ""),
            libraries=tuple((found["name"], found["sha256"]) for found in data.get("libraries", ())),
            editable=data.get("editable"),
        )


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

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object of ``details.json``."""
        data = {"schema": INDEX_SCHEMA, "names": list(self.names), "resources": self.resources}
        return data | ({"lowered": self.lowered} if self.lowered else {})

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> ModuleDetails:
        """Read what ``to_json`` wrote. Raises ValueError on other data."""
        check_shape(data, DETAILS)
        return cls(names=tuple(data["names"]), resources=data["resources"], lowered=data.get("lowered", {}))
