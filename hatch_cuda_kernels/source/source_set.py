"""All that a module is made of: its units (each a source with its header closure) and the libraries beside them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from hatch_cuda_kernels.execution_space.kernels import Declared
from hatch_cuda_kernels.names import VIRTUAL_ROOT

if TYPE_CHECKING:
    from hatch_cuda_kernels.source.closure import Closure
    from hatch_cuda_kernels.source.dropped import Dropped
    from hatch_cuda_kernels.source.library import DeviceLibrary

__all__ = ["SourceSet"]


@dataclass(frozen=True)
class SourceSet:
    """The sources and libraries of a module. Paths are project-relative and posix."""

    units: tuple[Closure, ...]
    """In the order of the manifest; most modules have one."""
    libraries: tuple[DeviceLibrary, ...] = ()
    """Those that are files of the project."""
    levels: tuple[tuple[str, int, str], ...] = ()
    """File, offset and level of each declaration of which more was cut than the rules say, as NVRTC refused it."""

    @cached_property
    def files(self) -> dict[str, str]:
        """The digest of every file of the project that has a part in it, by path."""
        found = {path: digest for unit in self.units for path, digest in unit.files}
        found |= {library.name: library.sha256 for library in self.libraries}
        return dict(sorted(found.items()))

    @cached_property
    def texts(self) -> dict[str, str]:
        """Every source and header as compilers see it, by its name in memory."""
        texts = {name: text for unit in self.units for name, text in unit.headers}
        return texts | {unit.program_name: unit.source for unit in self.units}

    @property
    def project_texts(self) -> dict[str, str]:
        """Those of them that are files of the project."""
        return {name: text for name, text in self.texts.items() if name.startswith(VIRTUAL_ROOT)}

    @property
    def outside(self) -> tuple[str, ...]:
        """Headers that are not the project's, as they are spelled."""
        return tuple(sorted({name for unit in self.units for name in unit.outside}))

    @property
    def standard(self) -> tuple[str, ...]:
        """Names in memory of standard headers."""
        return tuple(sorted({name for unit in self.units for name in unit.standard}))

    @cached_property
    def declared(self) -> Declared:
        """The kernels and variables of device code that the project's texts declare."""
        return Declared.together(unit.cut.declared for unit in self.units)

    @property
    def dropped(self) -> tuple[Dropped, ...]:
        """What of the project's texts was left out as host code, by place."""
        return tuple(sorted({found for unit in self.units for found in unit.dropped}))

    @property
    def named(self) -> tuple[str, ...]:
        """Those of the standard headers that files of the project name."""
        return tuple(sorted({name for unit in self.units for name in unit.named}))
