"""What a store's index says: modules, kernels, images. Written by the build side, read by the run side.

A store folder holds ``kernels.tsv`` (one sorted line a kernel, so that a look-up bisects it) and one folder a module
with ``index.json``, the images, and the source with its header closure under ``source/``.

These are named tuples because a process that only loads a kernel pays for making the classes: a dataclass takes half a
millisecond each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from hatch_cuda_kernels.arch import SmArch

if TYPE_CHECKING:
    from pathlib import Path

__all__ = [
    "INDEX_FILE",
    "INDEX_SCHEMA",
    "KERNELS_FILE",
    "SOURCE_FOLDER",
    "STORE_FOLDER",
    "Image",
    "ImageRecord",
    "Kind",
    "ModuleIndex",
    "Origin",
    "Symbol",
]

Kind = Literal["cubin", "ptx", "ltoir"]
Origin = Literal["prebuilt", "cached", "jitted"]

#: Raised when a change makes older readers misread an index; a reader refuses a schema it does not know.
INDEX_SCHEMA: Final = 1
STORE_FOLDER: Final = "_kernels"
KERNELS_FILE: Final = "kernels.tsv"
INDEX_FILE: Final = "index.json"
SOURCE_FOLDER: Final = "source"


class Symbol(NamedTuple):
    """A kernel or a device variable: its name expression, its lowered name, and for a kernel its parameter types.

    Types are PTX's own words (``u64``, ``f32``), ``ptr`` for a known pointer, ``b8[16]:8`` for 16 bytes aligned to 8.
    """

    name: str
    lowered: str
    params: tuple[str, ...] = ()


class ImageRecord(NamedTuple):
    """One image of a module as the index lists it; ``file`` is relative to the module's folder."""

    file: str
    kind: Kind
    arch: SmArch
    sha256: str
    bytes: int
    ptx_isa: tuple[int, int]
    """ISA of the PTX this compile wrote; for a CUBIN, the toolkit's."""
    resources: dict[str, dict[str, int]]
    """Per lowered name: registers, shared, stack, spill_stores, spill_loads (bytes); empty for PTX."""
    lacks: tuple[str, ...] = ()
    """Lowered names of kernels that other images of the module have and this one has not."""

    def most(self, *names: str) -> int | None:
        """Return the largest sum of the named resources over the kernels, None when they are not recorded."""
        sums = [sum(kernel[name] for name in names) for kernel in self.resources.values() if names[0] in kernel]
        return max(sums, default=None)

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object of the index."""
        data: dict[str, Any] = {
            "file": self.file,
            "kind": self.kind,
            "arch": str(self.arch),
            "sha256": self.sha256,
            "bytes": self.bytes,
            "ptx_isa": f"{self.ptx_isa[0]}.{self.ptx_isa[1]}",
            "registers": self.most("registers"),
            "spills": self.most("spill_stores", "spill_loads"),
        }
        if self.resources:
            data["resources"] = self.resources
        if self.lacks:
            data["lacks"] = list(self.lacks)
        return data

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> ImageRecord:
        """Read what ``to_json`` wrote. Raises KeyError or ValueError on other data."""
        major, _, minor = data["ptx_isa"].partition(".")
        return cls(
            file=data["file"],
            kind=data["kind"],
            arch=SmArch.parse(data["arch"]),
            sha256=data["sha256"],
            bytes=data["bytes"],
            ptx_isa=(int(major), int(minor)),
            resources=data.get("resources", {}),
            lacks=tuple(data.get("lacks", ())),
        )


class ModuleIndex(NamedTuple):
    """``index.json`` of one module: what was compiled, from what, by what, and the images it gave."""

    module: str
    source: str
    """Project-relative path of the source."""
    source_sha256: str
    """Digest of the source and its header closure as NVRTC saw them."""
    files: dict[str, str]
    """Every file shipped under ``source/``: project-relative path, sha256 of its bytes."""
    outside: tuple[str, ...] | None
    """Headers that are not the project's, as spelled; None when no toolkit header can have a part in the images."""
    headers: tuple[str, ...]
    """Declared globs of headers that the include scan cannot see."""
    options: dict[str, Any]
    """``NvrtcOptions.canonical()``."""
    names: tuple[str, ...]
    """Name expressions every image was compiled with."""
    globals: tuple[str, ...]
    """Device variables the host sets."""
    patterns: tuple[dict[str, Any], ...]
    """Declared instance patterns and their matrix, for ``store.instantiate``."""
    toolchain: dict[str, str]
    images: tuple[ImageRecord, ...]
    front_end: str = "per-arch"
    """How the images shared NVRTC's front end: ``lto`` or ``ptx`` where one architecture's run served others."""
    editable: dict[str, str] | None = None
    """Only in an editable install: the project root, relative to the store, and the manifest with its digest."""

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object of ``index.json``."""
        data: dict[str, Any] = {
            "schema": INDEX_SCHEMA,
            "module": self.module,
            "source": self.source,
            "source_sha256": self.source_sha256,
            "files": self.files,
            "outside": None if self.outside is None else list(self.outside),
            "headers": list(self.headers),
            "options": self.options,
            "names": list(self.names),
            "globals": list(self.globals),
            "patterns": list(self.patterns),
            "toolchain": self.toolchain,
            "images": [image.to_json() for image in self.images],
        }
        if self.front_end != "per-arch":
            data["front_end"] = self.front_end
        if self.editable is not None:
            data["editable"] = self.editable
        return data

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> ModuleIndex:
        """Read what ``to_json`` wrote. Raises KeyError, TypeError or ValueError on other data."""
        if data["schema"] != INDEX_SCHEMA:
            message = f"index schema {data['schema']} is not {INDEX_SCHEMA}: written by another hatch-cuda-kernels"
            raise ValueError(message)
        return cls(
            module=data["module"],
            source=data["source"],
            source_sha256=data["source_sha256"],
            files=data["files"],
            outside=None if data["outside"] is None else tuple(data["outside"]),
            headers=tuple(data["headers"]),
            options=data["options"],
            names=tuple(data["names"]),
            globals=tuple(data["globals"]),
            patterns=tuple(data["patterns"]),
            toolchain=data["toolchain"],
            images=tuple(ImageRecord.from_json(image) for image in data["images"]),
            front_end=data.get("front_end", "per-arch"),
            editable=data.get("editable"),
        )


class Image(NamedTuple):
    """One loadable image and where it came from."""

    module: str
    origin: Origin
    arch: SmArch
    kind: Kind
    data: bytes
    sha256: str
    path: Path | None = None
    """The file it was read from; None for an image that lives in memory only."""
    kernels: tuple[Symbol, ...] = ()
    """What a recorded image holds; empty for a prebuilt one, whose kernels the store lists."""

    def __repr__(self) -> str:
        return f"<Image {self.module} {self.origin} {self.arch} {self.kind}, {len(self.data)} bytes>"
