"""What is made of the images of other compiles.

That is an architecture that shares another one's front-end run, whose PTX or LTO-IR is finished for it, or a module of
several units (or with libraries), whose objects are linked.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from hatch_cuda_kernels.compiler.key import finish_key
from hatch_cuda_kernels.includes import DEVICE_RUNTIME

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeAlias

    from hatch_cuda_kernels.arch import SmArch
    from hatch_cuda_kernels.cache import Entry
    from hatch_cuda_kernels.compiler.job import Compiled, CompileJob
    from hatch_cuda_kernels.compiler.toolchain import Toolchain
    from hatch_cuda_kernels.image import Finisher, Kind, Symbol
    from hatch_cuda_kernels.includes import DeviceLibrary

    Job: TypeAlias = "CompileJob | FinishJob"

__all__ = ["FinishInput", "FinishJob"]


class FinishInput(NamedTuple):
    """One image to finish, and what its compile said of it."""

    image: bytes
    kernels: tuple[Symbol, ...]
    globals: tuple[Symbol, ...]
    ptx_isa: tuple[int, int]
    log: str = ""
    """Its compiler's warnings."""

    @classmethod
    def of(cls, image: bytes, known: Compiled | Entry) -> FinishInput:
        """Return an image with what its compile, or its cache entry, says of it."""
        return cls(image, known.kernels, known.globals, known.ptx_isa, known.log)


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishJob:
    """One module for one architecture, made from the images of other compiles.

    It has its keys when it is planned; with its inputs it is complete in itself, as a CompileJob is. Without them, they
    are compiled first.
    """

    fronts: tuple[CompileJob, ...]
    """What gives the inputs: the compile whose front-end run is shared, or those of the module's units, in order."""
    arch: SmArch
    """Real; its virtual form is the ``ptx`` that nvJitLink writes from LTO-IR."""
    kinds: tuple[Kind, ...]
    libraries: tuple[DeviceLibrary, ...] = ()
    """What is linked besides."""
    inputs: tuple[FinishInput, ...] = ()

    def starting_from(self, inputs: Sequence[FinishInput]) -> FinishJob:
        """Return the job with its inputs, in the order of ``fronts``."""
        return replace(self, inputs=tuple(inputs))

    @property
    def module(self) -> str:
        """The module's name."""
        return self.fronts[0].module

    @property
    def uses_toolkit_headers(self) -> bool:
        """Whether the toolkit's headers can have a part in the image."""
        return self.fronts[0].uses_toolkit_headers

    @property
    def finisher(self) -> Finisher:
        """What makes the images."""
        return self.fronts[0].finisher

    @property
    def input_kind(self) -> Kind:
        """What they are made from: what a compile makes last."""
        return self.fronts[0].kinds[-1]

    def image_arch(self, kind: Kind) -> SmArch:
        """Return the architecture an image of this kind has: virtual for PTX."""
        return self.arch if kind == "cubin" else self.arch.as_virtual

    def key(self, kind: Kind, toolchain: Toolchain) -> str:
        """Return the key of one image of this job: those of its inputs, the target, and the finisher's version."""
        used = self.toolchain(toolchain)
        return finish_key(
            front_ends=[front.key(self.input_kind, toolchain) for front in self.fronts],
            libraries=[library.sha256 for library in self.libraries],
            arch=self.image_arch(kind),
            kind=kind,
            finisher=self.finisher,
            version=used.ptxas if self.finisher == "ptxas" else used.nvjitlink,
        )

    def toolchain(self, found: Toolchain) -> Toolchain:
        """Return what of a toolchain has a part in this job's images."""
        used = found.of_compile(self.fronts[0].program.toolkit, finisher=self.finisher)
        runtime = (library.version for library in self.libraries if library.name == DEVICE_RUNTIME)
        return used._replace(cudadevrt=next(runtime, ""))
