"""What a module's index says of one image, and where the image is.

Named tuples, as in ``store.index``: their classes take less time to make than dataclasses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from hatch_cuda_kernels.arch import SmArch
from hatch_cuda_kernels.versions import parse_version, version_text

if TYPE_CHECKING:
    from hatch_cuda_kernels.image import Kind

__all__ = ["ImageRecord", "Stored"]


class Stored(NamedTuple):
    """Where an image's bytes are if it has no file of its own: in a pack, or in the file of an identical image."""

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
    """Of ModuleDetails, once they are read; see ModuleIndex.with_details."""

    def most(self, *names: str) -> int | None:
        """Return the largest sum of the named resources over the kernels, None when they are not recorded."""
        sums = [sum(kernel[name] for name in names) for kernel in self.resources.values() if kernel.keys() >= {*names}]
        return max(sums, default=None)

    def with_summary(self) -> ImageRecord:
        """Return the record with the registers and spills that its resources give."""
        return self._replace(registers=self.most("registers"), spills=self.most("spill_stores", "spill_loads"))

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object of the index."""
        data: dict[str, Any] = {
            "file": self.file,
            "kind": self.kind,
            "arch": str(self.arch),
            "sha256": self.sha256,
            "bytes": self.bytes,
            "ptx_isa": version_text(self.ptx_isa),
            "registers": self.registers,
            "spills": self.spills,
        }
        if self.lacks:
            data["lacks"] = list(self.lacks)
        if self.renames:
            data["renames"] = True
        if self.stored is not None:
            data["stored"] = self.stored._asdict()
        return data

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> ImageRecord:
        """Read what ``to_json`` wrote and an index's shape holds. Raises ValueError for an unknown architecture."""
        return cls(
            file=data["file"],
            kind=data["kind"],
            arch=SmArch.parse(data["arch"]),
            sha256=data["sha256"],
            bytes=data["bytes"],
            ptx_isa=parse_version(data["ptx_isa"]),
            registers=data["registers"],
            spills=data["spills"],
            lacks=tuple(data.get("lacks", ())),
            renames=bool(data.get("renames", False)),
            stored=Stored(*(data["stored"][name] for name in Stored._fields)) if "stored" in data else None,
        )
