"""What is compiled and what comes out. Both travel to worker processes and other hosts, so both are plain values."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.compiler.key import cache_key, expressions, source_digest
from hatch_cuda_kernels.compiler.source.closure import VIRTUAL_ROOT
from hatch_cuda_kernels.compiler.source.macros import possible_names, wanders
from hatch_cuda_kernels.errors import InputError

if TYPE_CHECKING:
    from hatch_cuda_kernels.arch import SmArch
    from hatch_cuda_kernels.compiler.source.closure import Closure
    from hatch_cuda_kernels.compiler.toolchain.installed import Toolchain
    from hatch_cuda_kernels.image import Kind, Symbol
    from hatch_cuda_kernels.options import NvrtcOptions

__all__ = ["CompileJob", "Compiled"]

#: NVRTC writes the program's base name into symbols of header-heavy sources, so one name serves all sources.
_ANONYMOUS: Final = f"{VIRTUAL_ROOT}module.cu"
_SHOWS_NAME: Final = re.compile(r"\b(?:__FILE__|assert)\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class CompileJob:
    """One module for one architecture, complete in itself: it compiles the same in any process on any host.

    ``arch`` is real; a virtual architecture is the ``ptx`` (or ``ltoir``) of the same compile, whose CUBIN proves that
    the PTX can be assembled. Where links will prove that, the job can do without (``assembled``); its PTX is the same.
    """

    module: str
    source_path: str
    source: str
    program_name: str
    headers: tuple[tuple[str, str], ...]
    pre_include: tuple[str, ...]
    outside: tuple[str, ...]
    """Headers as spelled that are not the project's: the toolkit's, or missing."""
    computed: tuple[str, ...]
    """``path:line`` of includes and probes whose header a macro names; it may be one of the toolkit's too."""
    options: NvrtcOptions
    arch: SmArch
    kinds: tuple[Kind, ...]
    names: tuple[str, ...] = ()
    globals: tuple[str, ...] = ()
    assembled: bool = True
    """Whether NVRTC runs the assembler too."""
    source_sha256: str = field(init=False, compare=False, repr=False)
    """Digest of the source and headers as NVRTC sees them."""

    def __post_init__(self) -> None:
        digest = _source_digest(self.program_name, self.source, self.headers, self.pre_include)
        object.__setattr__(self, "source_sha256", digest)

    @classmethod
    def from_closure(
        cls,
        closure: Closure,
        *,
        module: str,
        source_path: str,
        options: NvrtcOptions,
        arch: SmArch,
        kinds: tuple[Kind, ...],
        names: tuple[str, ...] = (),
        globals: tuple[str, ...] = (),  # noqa: A002 - the manifest's word
    ) -> CompileJob:
        """Return the job of a scanned source. The program is named after the source only where the image shows it."""
        macros = _macro_names(closure, options)
        shown = options.lineinfo or options.debug or _SHOWS_NAME.search(closure.source) is not None
        return cls(
            module=module,
            source_path=source_path,
            source=closure.source,
            program_name=closure.program_name if shown else _ANONYMOUS,
            headers=closure.headers,
            pre_include=closure.pre_include,
            outside=tuple(sorted({*closure.outside, *macros})),
            computed=closure.computed + closure.probes,
            options=options,
            arch=arch,
            kinds=kinds,
            names=names,
            globals=globals,
        )

    @property
    def uses_toolkit_headers(self) -> bool:
        """Whether the toolkit's headers can have a part in the image."""
        return bool(self.outside or self.computed)

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
            source_sha256=self.source_sha256,
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
        outside = self.outside if self.uses_toolkit_headers else None
        return found.of_compile(outside, lto=linked or self.options.lto)


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


@lru_cache(maxsize=1)
def _source_digest(
    program_name: str, source: str, headers: tuple[tuple[str, str], ...], pre_include: tuple[str, ...]
) -> str:
    """Return the digest of one closure; the jobs of a module differ only in their architecture and come in a row."""
    return source_digest(program_name=program_name, source=source, headers=headers, pre_include=pre_include)


def _macro_names(closure: Closure, options: NvrtcOptions) -> set[str]:
    """Return what macros of the options could name to an include or probe. Raises InputError for a way out."""
    if not closure.computed and not closure.probes:
        return set()
    problems = [
        f"{closure.computed[0]}: a macro names this header, and the option define {name}={value} could lead it out of "
        "the project; name the header in the include itself"
        for name, value in options.define
        if closure.computed and value is not None and wanders(value)
    ]
    if problems:
        raise InputError("\n".join(problems))
    return {found for _, value in options.define for found in possible_names(value or "")}
