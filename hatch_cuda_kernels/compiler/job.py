"""What is compiled and what comes out. Both travel to worker processes and other hosts, so both are plain values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from hatch_cuda_kernels.compiler.key import cache_key, expressions

if TYPE_CHECKING:
    from hatch_cuda_kernels.arch import SmArch
    from hatch_cuda_kernels.compiler.program import Program
    from hatch_cuda_kernels.compiler.toolchain import Toolchain
    from hatch_cuda_kernels.image import Finisher, Kind, Symbol
    from hatch_cuda_kernels.options import NvrtcOptions

__all__ = ["CompileJob", "Compiled", "Finished"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CompileJob:
    """One module for one architecture, complete in itself: it compiles the same in any process on any host.

    ``arch`` is real; a virtual architecture is the ``ptx`` (or ``ltoir``) of the same compile, whose CUBIN proves that
    the PTX can be assembled. Where other jobs will finish what it gives, this one can do without (``assembled``).
    """

    module: str
    source_path: str
    program: Program
    options: NvrtcOptions
    arch: SmArch
    kinds: tuple[Kind, ...]
    """Empty where NVRTC is only to say whether its front end takes the source and the names."""
    names: tuple[str, ...] = ()
    globals: tuple[str, ...] = ()
    finisher: Finisher = "nvrtc"
    """What makes the CUBIN, here or (from PTX) in other jobs."""
    assembled: bool = True
    """Whether it is made here; not of an ``object``, nor of a unit's LTO-IR, which lack what other units define."""

    @property
    def is_unit(self) -> bool:
        """Whether the source is one of a module's units: what is made of it has to be linked."""
        return self.finisher == "nvjitlink" and not self.assembled

    @property
    def uses_toolkit_headers(self) -> bool:
        """Whether the toolkit's headers can have a part in the image."""
        return self.program.toolkit is not None

    @property
    def expressions(self) -> tuple[str, ...]:
        """Every name expression NVRTC is asked for: kernels as written, variables as ``&name``."""
        return expressions(self.names, self.globals)

    def image_arch(self, kind: Kind) -> SmArch:
        """Return the architecture an image of this kind has: virtual for PTX and LTO-IR."""
        return self.arch if kind in {"cubin", "object"} else self.arch.as_virtual

    def key(self, kind: Kind, toolchain: Toolchain) -> str:
        """Return the key of one image of this job; the toolchain may be the whole one or what has a part in the job."""
        toolchain = self.toolchain(toolchain)
        return cache_key(
            source_sha256=self.program.sha256,
            options=self.options.canonical(),
            arch=self.image_arch(kind),
            kind=kind,
            names=self.names,
            variables=self.globals,
            toolchain=toolchain.key_part,
            finisher=self.finisher if self.assembled else None,
        )

    def toolchain(self, found: Toolchain) -> Toolchain:
        """Return what of a toolchain has a part in this job's images."""
        return found.of_compile(self.program.toolkit, finisher=self.finisher if self.assembled else "nvrtc")


class Finished(NamedTuple):
    """What ptxas or nvJitLink made, and what it said."""

    image: bytes
    log: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiled:
    """What one job gave: its images, and what the images were found to hold."""

    images: dict[Kind, bytes]
    kernels: tuple[Symbol, ...]
    globals: tuple[Symbol, ...]
    resources: dict[str, dict[str, int]]
    """Per lowered name: registers, shared, stack, spill_stores, spill_loads."""
    ptx_isa: tuple[int, int]
    toolchain: Toolchain
    log: str
    """NVRTC's warnings; empty when there are none."""
    seconds: float
