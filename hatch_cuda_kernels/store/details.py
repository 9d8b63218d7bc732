"""What a store says of each kernel of a module: only compiles and listings ask for it, so no look-up pays for it."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from hatch_cuda_kernels.execution_space import ClosureCut
from hatch_cuda_kernels.shape import check_shape
from hatch_cuda_kernels.store.shapes import DETAILS

__all__ = ["ModuleDetails"]

DETAILS_SCHEMA: Final = 1


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
    """Of an editable store: file, offset and level of each declaration of which more is cut, as NVRTC refused it."""

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object of ``details.json``."""
        data = {"schema": DETAILS_SCHEMA, "names": list(self.names), "resources": self.resources}
        data |= {"lowered": self.lowered} if self.lowered else {}
        data |= {"levels": self.levels} if self.levels else {}
        return data | ({"cuts": [cut.to_json() for cut in self.cuts]} if self.cuts else {})

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> ModuleDetails:
        """Read what ``to_json`` wrote. Raises ValueError on other data."""
        check_shape(data, DETAILS)
        return cls(
            names=tuple(data["names"]),
            resources=data["resources"],
            lowered=data.get("lowered", {}),
            cuts=tuple(map(ClosureCut.from_json, data.get("cuts", ()))),
            levels=tuple((file, offset, level) for file, offset, level in data.get("levels", ())),
        )
