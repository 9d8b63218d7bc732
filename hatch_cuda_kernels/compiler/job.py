"""What is compiled and what comes out. Both travel to worker processes and other hosts, so both are plain values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hatch_cuda_kernels.compiler.key import cache_key, expressions

if TYPE_CHECKING:
    from hatch_cuda_kernels.arch import SmArch
    from hatch_cuda_kernels.compiler.program import Program
    from hatch_cuda_kernels.compiler.toolchain.installed import Toolchain
    from hatch_cuda_kernels.image import Finisher, Kind, Symbol
    from hatch_cuda_kernels.options import NvrtcOptions

__all__ = ["CompileJob", "Compiled"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CompileJob:
    """One module for one architecture, complete in itself: it compiles the same in any process on any host.

    ``arch`` is real; a virtual architecture is the ``ptx`` (or ``ltoir``) of the same compile, whose CUBIN proves that
    the PTX can be assembled. Where links will prove that, the job can do without (``assembled``); its PTX is the same.
    """

    module: str
    source_path: str
    program: Program
    options: NvrtcOptions
    arch: SmArch
    kinds: tuple[Kind, ...]
    names: tuple[str, ...] = ()
    globals: tuple[str, ...] = ()
    assembled: bool = True
    """Whether NVRTC runs the assembler too."""

    @property
    def uses_toolkit_headers(self) -> bool:
        """Whether the toolkit's headers can have a part in the image."""
        return self.program.toolkit is not None

    @property
    def uses_nvjitlink(self) -> bool:
        """Whether nvJitLink finishes the images."""
        return self.options.lto

    @property
    def expressions(self) -> tuple[str, ...]:
        """Every name expression NVRTC is asked for: kernels as written, variables as ``&name``."""
        return expressions(self.names, self.globals)

    def image_arch(self, kind: Kind) -> SmArch:
        """Return the architecture an image of this kind has: virtual for PTX and LTO-IR."""
        return self.arch if kind == "cubin" else self.arch.as_virtual

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
            assembled=self.assembled,
        )

    def toolchain(self, found: Toolchain, *, linked: bool = False) -> Toolchain:
        """Return what of a toolchain has a part in this job's images, or in what nvJitLink makes of them."""
        finisher: Finisher = "nvjitlink" if linked or self.options.lto else "nvrtc"
        return found.of_compile(self.program.toolkit, finisher=finisher)


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
