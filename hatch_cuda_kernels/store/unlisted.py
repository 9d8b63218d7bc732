"""A combination of axes that the manifest does not list, as a module that is compiled where it is asked for.

It is made from the sources of the others of its family, as a build would make it if the manifest listed it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.names import base_name, family_key, normalize_name
from hatch_cuda_kernels.records import NamedTuple
from hatch_cuda_kernels.store.index import KernelLine, ModuleIndex
from hatch_cuda_kernels.store.texts import ModuleDetails

if TYPE_CHECKING:
    from hatch_cuda_kernels.execution_space import SourceSet
    from hatch_cuda_kernels.store.families import ModuleFamily


class UnlistedModule:
    """A combination of axes that the manifest does not list, as if it did. It has no images."""

    def __init__(
        self,
        family: ModuleFamily,
        base: ModuleIndex,
        axes: Mapping[str, str],
        levels: tuple[tuple[str, int, str], ...] = (),
    ) -> None:
        names = family.names_with(axes)
        self.family = family
        self.base = base.module
        """The module whose details have the family."""
        self.index: Final = family.index_with(base, axes)
        self.details = ModuleDetails(
            names=tuple(name for name in names if not (family.is_chunked and "<" in name)),
            resources={},
            levels=levels,
        )
        self.files = base.files | family.files
        """What of the shipped files its sources may read."""
        self.reading: SourceReading | None = None
        self._names = {normalize_name(name): name for name in names}

    @property
    def key(self) -> str:
        """What stands for it where the name of a module is asked for: no module is called so."""
        return family_key(self.index.family, self.index.axes)

    @property
    def line_to_add(self) -> str:
        """What to write into the manifest, so that it is listed."""
        values = {
            axis: value
            if value.isdecimal() or (value.isidentifier() and value.lower() != "null")
            else json.dumps(value)
            for axis, value in self.index.axes.items()
        }
        listed = ", ".join(f"{axis}: {value}" for axis, value in values.items())
        return f"{{{listed}}} under 'combinations:' of {self.family.entry!r} in the package's kernels.yaml"

    def find(self, key: str, base: Sequence[KernelLine]) -> list[KernelLine]:
        """Return the line of a name as ``kernels.tsv`` would have it, without what only a compile tells.

        ``base`` are the lines that the listed module has of it.
        """
        if key.startswith("<"):
            known = any(base_name(name) == key[1:] for name in self._names)
            return [KernelLine(key, self.key, "", (), key[1:])] if known else []
        if key in self._names:
            is_alone = self.family.is_chunked and "<" in key
            return [] if is_alone else [KernelLine(key, self.key, "", (), self._names[key])]
        same = [] if "<" in key else base[:1]
        return [KernelLine(key, self.key, one.lowered if one.is_variable else "", (), one.name) for one in same]

    def kernels(self, declared: Iterable[str]) -> tuple[str, ...]:
        """Return the names of its kernels: those that the manifest lists, and those that its sources declare."""
        return tuple(sorted({*self._names.values(), *declared}))


class SourceReading(NamedTuple):
    """What the sources of a combination were read as."""

    module: ModuleIndex
    """The module's index with it."""
    is_here: bool
    """Whether headers from outside the project are those that are installed, and not those of the build."""
    kernels: tuple[str, ...]
    """Kernels that the sources declare, but for templates."""
    sources: SourceSet | None = None
    """Where they have just been read."""
