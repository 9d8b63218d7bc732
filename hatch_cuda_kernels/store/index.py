"""What a store's index says: modules, kernels, images. Written by the build side, read by the run side.

A store folder holds ``kernels.tsv`` (one sorted line a kernel, so that a look-up bisects it) and one folder a module
with ``index.json``, ``details.json`` and the images. The sources with their header closures are in one folder for all
modules, and standard headers in one file.

The records are named tuples: a process that only loads a kernel pays for making the classes, half a millisecond a
dataclass.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from hatch_cuda_kernels.arch import (
    OLDEST_RELEASE,
    SmArch,
    cuda_release_for_arch,
    known_archs,
    parse_version,
    version_text,
)
from hatch_cuda_kernels.integrity import check_shape, each, file_name, inner_path, sha256
from hatch_cuda_kernels.records import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from hatch_cuda_kernels.image import Kind
    from hatch_cuda_kernels.signature import Parameter
    from hatch_cuda_kernels.store.launch_rules import LaunchRule

#: Raised when a change makes older readers misread an index; a reader refuses a schema it does not know.
#: 1 has each module's sources in its own folder, 2 has them in one for all modules, of which some may be linked.
INDEX_SCHEMA: Final = 2
_SCHEMAS: Final = (1, 2)
STORE_FOLDER: Final = "_kernels"
KERNELS_FILE: Final = "kernels.tsv"
INDEX_FILE: Final = "index.json"
DETAILS_FILE: Final = "details.json"
#: Beside ``kernels.tsv``, unless the manifest promises nothing.
PROMISES_FILE: Final = "promises.json"
#: No module is called so.
SOURCE_FOLDER: Final = "project.source"
_OWN_SOURCE_FOLDER: Final = "source"
STANDARD_FILE: Final = "standard_headers.json"
#: No image and no pack is larger. Seeking and reading take no number without bound.
_SIZE: Final = range(1 << 40)
_IMAGE: Final = {
    "file": file_name,
    "kind": frozenset({"cubin", "ptx", "ltoir"}),
    "arch": str,
    "sha256": str,
    "bytes": _SIZE,
    "ptx_isa": str,
    "registers": (int, None),
    "spills": (int, None),
    "lacks?": [str],
    "renames?": bool,
    "stored?": {"file": inner_path, "at": _SIZE, "size": _SIZE, "skip": _SIZE},
}
_RULE: Final = {
    "kernel": str,
    "grid": [str],
    "block": [str],
    "shared_mem": str,
    "attributes": {"cluster?": [int], "cooperative?": bool, "pdl?": bool, "priority?": int, "carveout?": int},
    "names": [str],
}
INDEX: Final = {
    "module": str,
    "source": inner_path,
    "source_sha256": str,
    "files": {inner_path: str},
    "outside": ([str], None),
    "headers": [str],
    "options": {str: (str, bool, int, None, [str], [[(str, None)]])},
    "globals": [str],
    "patterns": [{"pattern": str, "matrix": {str: [str]}}],
    "toolchain": {str: str},
    "images": [_IMAGE],
    "launch?": [_RULE],
    "front_end?": str,
    "units?": [{"source": inner_path, "source_sha256": str, "cut?": str, "asked": [str]}],
    "libraries?": [{"name": inner_path, "sha256": str}],
    "standard?": str,
    "asked?": [str],
    "cut?": str,
    "family?": str,
    "axes?": {str: str},
    "packages?": [
        {
            "package": str,
            "distribution?": str,
            "version?": str,
            "license?": str,
            "is_spdx?": bool,
            "license_files?": [str],
            "altered?": bool,
        }
    ],
    "editable?": {"root": str, "manifest": str, "manifest_sha256": str},
}
#: Where images are, of an index of which the rest does not count: a large one takes long to look through.
PLACES: Final = {"images": [{name: _IMAGE[name] for name in ("sha256", "bytes", "stored?")}]}
STANDARD: Final = {str: str}
_CUT: Final = {
    "edits": [[(str, int, bool)]],
    "default_device": bool,
    "variables": [str],
    "loses_constants": bool,
    "host_headers": [str],
    "unread": str,
    "declared": {
        "kernels": [
            {"name": str, "parameters": [each(str, str)], "is_template": bool, "has_c_linkage": bool, "file": str}
        ],
        "variables": [{"name": str, "is_table": bool, "file": str, "is_managed": bool}],
    },
    "implied": [str],
}
DETAILS: Final = {
    "names": [str],
    "resources": {str: {str: {str: int}}},
    "lowered?": {str: {str: str}},
    "cuts?": [_CUT],
    "levels?": [[(str, int)]],
    "family?": {
        "entry": str,
        "axes": {str: [str]},
        "names": [str],
        "file?": str,
        "matrix?": {str: [str]},
        "exclude?": [{str: str}],
        "define?": [each(str, str)],
        "launch?": [_RULE],
        "is_chunked?": bool,
        "files?": {inner_path: str},
    },
}


class KernelLine(NamedTuple):
    """One kernel (or variable) as ``kernels.tsv`` lists it."""

    key: str
    module: str
    lowered: str
    params: tuple[str, ...]
    name: str
    types: tuple[str, ...] = ()
    names: tuple[str, ...] = ()

    @property
    def is_variable(self) -> bool:
        """Whether it lists a device variable."""
        return self.key.startswith("&")

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """What the kernel takes, as far as it is known."""
        from hatch_cuda_kernels.signature import parameters_of  # not for look-ups

        return parameters_of(self.params, self.types, self.names)

    @classmethod
    def parse(cls, line: bytes) -> KernelLine:
        """Read one line. Raises ValueError if it is damaged."""
        fields = line.decode().split("\t")
        key, module, lowered, params, name, types, names = (*fields, "", "")[: max(len(fields), 7)]
        if not file_name(module):
            raise ValueError(f"{module!r} is not a module")
        parts = ((params, ","), (types, ";"), (names, ","))
        took, typed, called = (tuple(text.split(mark)) if text else () for text, mark in parts)
        return cls(key, module, lowered, took, name, typed, called)


def module_names(store: Path) -> list[str]:
    """Return the names of a store's modules, sorted."""
    names = (path.parent.name for path in store.glob(f"*/{INDEX_FILE}"))
    return sorted(name for name in names if name != SOURCE_FOLDER)


class UnitRecord(NamedTuple):
    """One source of a module."""

    source: str
    sha256: str
    """Digest of the source and its header closure as NVRTC saw them."""
    asked: tuple[str, ...] = ()
    """Names, of project files or standard headers, that the toolkit's headers asked for."""
    cut: str = ""
    """Digest of what was cut of it and its headers, which is among the module's details."""

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object of the index."""
        data = {"source": self.source, "source_sha256": self.sha256, "asked": list(self.asked)}
        return data | ({"cut": self.cut} if self.cut else {})

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> UnitRecord:
        """Read what ``to_json`` wrote, and an index's shape holds."""
        return cls(data["source"], data["source_sha256"], tuple(data.get("asked", ())), data.get("cut", ""))


class ModuleIndex(NamedTuple):
    """``index.json`` of one module: what was compiled, from what, by what, and the images it gave.

    It is read for every first look-up, so nothing in it grows with the number of kernels; see ModuleDetails.
    """

    module: str
    units: tuple[UnitRecord, ...]
    """The sources; most modules have one."""
    files: dict[str, str]
    """Every file of the closure, all of which are shipped: project-relative path, sha256 of its bytes."""
    outside: tuple[str, ...] | None
    """Headers that are not the project's, as spelled; None when no toolkit header can have a part in the images."""
    headers: tuple[str, ...]
    """Declared globs of headers that computed includes may name."""
    options: dict[str, Any]
    """What ``canonical_options`` gives."""
    globals: tuple[str, ...]
    patterns: tuple[dict[str, Any], ...]
    """Declared instance patterns and their matrix, for ``store.instantiate``."""
    toolchain: dict[str, str]
    images: tuple[ImageRecord, ...]
    launch: tuple[dict[str, Any], ...] = ()
    """The manifest's rules by which kernels are launched without brackets; see LaunchRule."""
    front_end: str = "per-arch"
    """How the images shared NVRTC's front end: ``lto`` or ``ptx`` where one architecture's run served others."""
    names: tuple[str, ...] = ()
    """Of ModuleDetails, once they are read."""
    standard: str = ""
    """Digest of the file with the store's standard headers; empty where the closure has none."""
    libraries: tuple[tuple[str, str], ...] = ()
    """What is linked besides, in order: ``cudadevrt`` or a file's project-relative path, with its digest."""
    family: str = ""
    """What the modules of one entry are called that have different ``axes``; empty for any other module."""
    axes: dict[str, str] = {}  # noqa: RUF012 - never changed
    """The values that the module has of the axes in the entry's name."""
    packages: tuple[dict[str, Any], ...] = ()
    """The distributions of the packages whose headers are among the files; see PackageRecord."""
    editable: dict[str, str] | None = None
    """Only in an editable install: the project root, relative to the store, and the manifest with its digest."""
    schema: int = INDEX_SCHEMA

    @property
    def source_folder(self) -> str:
        """The folder of the shipped files, in project layout, relative to the store."""
        return f"{self.module}/{_OWN_SOURCE_FOLDER}" if self.schema == 1 else SOURCE_FOLDER

    @property
    def toolkit_headers(self) -> str:
        """What the build recorded of the headers that it took from the toolkit's folders; empty for none."""
        return self.toolchain.get("headers", "")

    @property
    def outer_headers(self) -> str:
        """What the build took from outside the project, as text: toolkit headers and standard headers."""
        return f"{self.toolkit_headers}; {self.standard}"

    def launch_rule(self, kernel: str) -> LaunchRule | None:
        """Return the manifest's rule for a kernel of the module, or None."""
        from hatch_cuda_kernels.store.launch_rules import LaunchRule, find_rule  # few kernels have a rule

        return find_rule(map(LaunchRule.from_json, self.launch), kernel)

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

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object of ``index.json``, which has no details."""
        first, *others = self.units
        facts = self._replace(names=(), libraries=())._asdict().items()
        stated = {name: value for name, value in facts if value != self._field_defaults.get(name, ...)}
        data = {name: list(value) if isinstance(value, tuple) else value for name, value in stated.items()}
        data |= {"schema": self.schema, "images": [image.to_json() for image in self.images]}
        data |= {name: value for name, value in first.to_json().items() if value}
        del data["units"]
        if self.is_linked:
            data["units"] = [unit.to_json() for unit in others]
            data["libraries"] = [{"name": name, "sha256": digest} for name, digest in self.libraries]
        return data

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> ModuleIndex:
        """Read what ``to_json`` wrote. Raises ValueError on other data."""
        check_shape(data, {"schema": int})
        if data["schema"] not in _SCHEMAS:
            message = f"index schema {data['schema']} is not {INDEX_SCHEMA}: written by another hatch-cuda-kernels"
            raise ValueError(message)
        check_shape(data, INDEX)
        plain = ((name, data[name]) for name in cls._fields if name in data)
        fields: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in plain}
        fields["units"] = tuple(map(UnitRecord.from_json, [data, *data.get("units", ())]))
        fields["images"] = tuple(map(ImageRecord.from_json, data["images"]))
        fields["libraries"] = tuple((found["name"], found["sha256"]) for found in data.get("libraries", ()))
        return cls(**fields | {"names": ()})


class Stored(NamedTuple):
    """Where an image is if not in a file by its name: in a pack, or in the file of an identical image."""

    file: str
    """Relative to the store's folder, posix."""
    at: int = 0
    """Offset of the pack's block that holds the image, in bytes."""
    size: int = 0
    """Bytes of that block as it is packed; 0 where ``file`` is the image as it is."""
    skip: int = 0
    """Offset of the image in the unpacked block, in bytes."""


class ImageRecord(NamedTuple):
    """One image of a module as the index lists it."""

    file: str
    """What the image is called: its file in the module's folder, unless ``stored`` names another place."""
    kind: Kind
    arch: SmArch
    sha256: str
    bytes: int
    ptx_isa: tuple[int, int]
    """ISA of the PTX this compile wrote; for a CUBIN, the toolkit's."""
    registers: int | None = None
    """Most registers a thread of any kernel needs; None for PTX."""
    spills: int | None = None
    """Most bytes of spill stores and loads of any kernel; None for PTX."""
    lacks: tuple[str, ...] = ()
    """Lowered names of kernels that other images of the module have and this one has not."""
    renames: bool = False
    """Whether kernels or variables have other lowered names here than in ``kernels.tsv``; ModuleDetails has them."""
    stored: Stored | None = None
    lowered: dict[str, str] = {}  # noqa: RUF012 - never changed
    """Of ModuleDetails, once they are read: lowered names that are not those of ``kernels.tsv``, by its key."""
    resources: dict[str, dict[str, int]] = {}  # noqa: RUF012 - never changed
    """Of ModuleDetails, once they are read; see ModuleDetails.add_to."""

    @property
    def cuda_major(self) -> int:
        """The CUDA major that wrote the image."""
        return self.release[0]

    @property
    def release(self) -> tuple[int, int]:
        """The toolkit release that wrote the image: PTX ISA 8.8 is CUDA 12.9's, 9.m is CUDA 13.m's."""
        major, minor = self.ptx_isa
        return major + 4, minor + (major == 8)

    def most(self, *names: str) -> int | None:
        """Return the largest sum of the named resources over the kernels, None when they are not recorded."""
        sums = [sum(kernel[name] for name in names) for kernel in self.resources.values() if kernel.keys() >= {*names}]
        return max(sums, default=None)

    def with_summary(self) -> ImageRecord:
        """Return the record with the registers and spills that its resources give."""
        return self._replace(registers=self.most("registers"), spills=self.most("spill_stores", "spill_loads"))

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object of the index."""
        texts = {"arch": str(self.arch), "ptx_isa": version_text(self.ptx_isa)}
        names = self._fields[: self._fields.index("lacks")]  # in this order where people read it
        data: dict[str, Any] = {name: texts.get(name, getattr(self, name)) for name in names}
        data |= {"lacks": list(self.lacks)} if self.lacks else {}
        data |= {"renames": True} if self.renames else {}
        return data | ({} if self.stored is None else {"stored": self.stored._asdict()})

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> ImageRecord:
        """Read what ``to_json`` wrote and an index's shape holds. Raises ValueError for an unknown architecture."""
        return cls(
            **{name: data[name] for name in ("file", "kind", "sha256", "bytes", "registers", "spills")},
            arch=SmArch.parse(data["arch"]),
            ptx_isa=parse_version(data["ptx_isa"]),
            lacks=tuple(data.get("lacks", ())),
            renames=data.get("renames", False),
            stored=Stored(*(data["stored"][name] for name in Stored._fields)) if "stored" in data else None,
        )


def what_to_build(images: Collection[ImageRecord], arch: SmArch, *, start: str, end: str) -> str:
    """Return advice that names, between two words, what gives a module with these images code for an architecture.

    That is PTX, which the driver compiles, where no known release makes machine code; empty where nothing helps.
    """
    built = max((image.release for image in images), default=(13, 0))  # what a manifest takes by itself
    for major in (built[0], 13, 12):
        first = cuda_release_for_arch(arch, major=major)
        if first is not None:
            needed = max(first, OLDEST_RELEASE)
            is_enough = needed[0] == built[0] and needed <= built
            return f"{start} {arch} {end}" + ("" if is_enough else f', with cuda: "{version_text(needed)}"')
    lower = [one.as_virtual for one in known_archs(built) if one.capability < arch.capability]
    has_ptx = any(image.kind == "ptx" and image.arch.refusal(arch.capability) is None for image in images)
    if not lower or has_ptx:
        return ""
    return f"{start} {lower[-1]} {end}, which the driver compiles: no known CUDA release compiles {arch}"
