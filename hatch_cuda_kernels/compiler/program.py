"""What NVRTC is shown of a source: the part of a compile that is the same for every architecture."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.compiler.key import source_digest
from hatch_cuda_kernels.execution_space import NOTHING_DECLARED
from hatch_cuda_kernels.names import VIRTUAL_ROOT

if TYPE_CHECKING:
    from hatch_cuda_kernels.execution_space import Declared, DeviceSource, SourceChange
    from hatch_cuda_kernels.options import NvrtcOptions

__all__ = ["Program"]

#: NVRTC writes the program's base name into symbols of header-heavy sources, so one name serves all sources.
_ANONYMOUS: Final = f"{VIRTUAL_ROOT}module.cu"
_SHOWS_NAME: Final = re.compile(r"\b(?:__FILE__|assert)\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A source with its headers under the names NVRTC sees."""

    source: str
    name: str
    headers: tuple[tuple[str, str], ...]
    """(in-memory name, text) of each project header."""
    pre_include: tuple[str, ...]
    outside: tuple[str, ...]
    """Headers as spelled that are not the project's: the toolkit's, or missing."""
    computed: tuple[str, ...]
    """``path:line`` of includes and probes whose header a macro names; it may be one of the toolkit's too."""
    changes: tuple[SourceChange, ...] = ()
    """What was cut or changed, for messages."""
    default_device: bool = False
    """Whether NVRTC takes what has no mark for device code."""
    cut_variables: tuple[str, ...] = ()
    """Qualified names of variables that lost their values: no code may use them."""
    loses_constants: bool = False
    """Whether one of these is const."""
    unread: str = ""
    """Why the texts could not be read as C++: NVRTC has to refuse them."""
    declared: Declared = NOTHING_DECLARED
    """The kernels and variables that the texts declare."""
    sha256: str = field(init=False, compare=False, repr=False)
    """Digest of everything NVRTC is shown but the toolkit's headers, in hex."""

    def __post_init__(self) -> None:
        digest = source_digest(
            program_name=self.name,
            source=self.source,
            headers=self.headers,
            pre_include=self.pre_include,
            default_device=self.default_device,
        )
        object.__setattr__(self, "sha256", digest)

    @classmethod
    def of(cls, closure: DeviceSource, options: NvrtcOptions) -> Program:
        """Return the program of a closure. It is named after the source only where the image shows the name."""
        shown = options.lineinfo or options.debug or _SHOWS_NAME.search(closure.source) is not None
        return cls(
            source=closure.source,
            name=closure.program_name if shown else _ANONYMOUS,
            headers=closure.headers,
            pre_include=closure.pre_include,
            outside=closure.outside,
            computed=closure.computed + closure.probes,
            changes=closure.changes,
            default_device=closure.cut.default_device,
            cut_variables=closure.cut.variables,
            loses_constants=closure.cut.loses_constants,
            unread=closure.cut.unread,
            declared=closure.cut.declared,
        )

    @property
    def has_int128(self) -> bool:
        """Whether the project's texts name 128-bit integers, which nvcc knows without being asked."""
        texts = (text for name, text in self.headers if name.startswith(VIRTUAL_ROOT))
        return any("__int128" in text or "__uint128" in text for text in (self.source, *texts))

    @property
    def toolkit(self) -> tuple[str, ...] | None:
        """Headers that may come from the toolkit; None where none can have a part in the images."""
        return self.outside if self.outside or self.computed else None
