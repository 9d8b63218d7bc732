"""An architecture that shares another one's front-end run: it is finished from that run's PTX or LTO-IR."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from hatch_cuda_kernels.compiler.key import finish_key

if TYPE_CHECKING:
    from typing import TypeAlias

    from hatch_cuda_kernels.arch import SmArch
    from hatch_cuda_kernels.cache import Entry
    from hatch_cuda_kernels.compiler.job import Compiled, CompileJob
    from hatch_cuda_kernels.compiler.toolchain.installed import Toolchain
    from hatch_cuda_kernels.image import Finisher, Kind, Symbol

    Job: TypeAlias = "CompileJob | FinishJob"

__all__ = ["FinishInput", "FinishJob"]


class FinishInput(NamedTuple):
    """The image to finish, and what its compile said of it."""

    image: bytes
    kernels: tuple[Symbol, ...]
    globals: tuple[Symbol, ...]
    ptx_isa: tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishJob:
    """One module for one architecture, made from the image of another compile.

    It has its keys when it is planned; with its input it is complete in itself, as a CompileJob is.
    """

    front: CompileJob
    """The compile whose front-end run is shared."""
    arch: SmArch
    """Real; its virtual form is the ``ptx`` that nvJitLink writes from LTO-IR."""
    kinds: tuple[Kind, ...]
    input: FinishInput | None = None

    def starting_from(self, image: bytes, known: Compiled | Entry) -> FinishJob:
        """Return the job with its input: the image, and what its compile, or its cache entry, says of it."""
        return replace(self, input=FinishInput(image, known.kernels, known.globals, known.ptx_isa))

    @property
    def module(self) -> str:
        """The module's name."""
        return self.front.module

    @property
    def uses_toolkit_headers(self) -> bool:
        """Whether the toolkit's headers can have a part in the image."""
        return self.front.uses_toolkit_headers

    @property
    def finisher(self) -> Finisher:
        """What makes the images."""
        return self.front.finisher

    @property
    def input_kind(self) -> Kind:
        """What they are made from."""
        return "ltoir" if self.front.options.lto else "ptx"

    def image_arch(self, kind: Kind) -> SmArch:
        """Return the architecture an image of this kind has: virtual for PTX."""
        return self.arch if kind == "cubin" else self.arch.as_virtual

    def key(self, kind: Kind, toolchain: Toolchain) -> str:
        """Return the key of one image of this job: that of its input, the target, and the finisher's version."""
        used = self.toolchain(toolchain)
        return finish_key(
            front_end=self.front.key(self.input_kind, toolchain),
            arch=self.image_arch(kind),
            kind=kind,
            finisher=self.finisher,
            version=used.ptxas if self.finisher == "ptxas" else used.nvjitlink,
        )

    def toolchain(self, found: Toolchain) -> Toolchain:
        """Return what of a toolchain has a part in this job's images."""
        return found.of_compile(self.front.program.toolkit, finisher=self.finisher)
