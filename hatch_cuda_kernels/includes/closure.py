"""The header closure: a source with every project file it can see, each under one virtual name that no disk has."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from hatch_cuda_kernels.digest import sha256

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from hatch_cuda_kernels.cpp import Directive, Edit, SourceFile

__all__ = ["DEVICE_RUNTIME", "LIBRARY_KINDS", "Closure", "DeviceLibrary", "LibraryKind", "Origin", "library_kind"]


class Origin(NamedTuple):
    """The project's texts of a closure as they were read, by name in memory, and how they change."""

    files: Mapping[str, SourceFile]
    edits: dict[str, tuple[Edit, ...]]
    """What gives headers their names in memory."""
    targets: Mapping[str, Mapping[int, str]]
    """What directives include, by where they begin."""
    standard: Mapping[str, SourceFile]
    """This package's standard headers."""

    def others(self, headers: Iterable[tuple[str, str]]) -> dict[str, SourceFile]:
        """Return the headers in memory that are no project files."""
        return {name: self.read(name, text) for name, text in headers if name not in self.files}

    def read(self, name: str, text: str) -> SourceFile:
        """Return a text taken apart, as it was before if nothing of it has changed."""
        from hatch_cuda_kernels.cpp import SourceFile

        found = self.files.get(name) or self.standard.get(name)
        return found if found is not None and found.text == text else SourceFile(name, text)

    def target(self, file: SourceFile, directive: Directive) -> str:
        """Return the name in memory of what a directive includes; as it is spelled for what is not the project's."""
        found = self.targets.get(file.name, {}).get(directive.start)
        operand = directive.operand.strip()
        return found or operand[1:].partition({'"': '"', "<": ">"}.get(operand[:1], "\n"))[0]


@dataclass(frozen=True, slots=True)
class Closure:
    """A source with every project header it can see. Paths are project-relative and posix."""

    source: str
    """The source's rewritten text."""
    program_name: str
    """The source's virtual name."""
    headers: tuple[tuple[str, str], ...]
    """(in-memory name, text), by name. Another spelling of a project header only includes the real one."""
    files: tuple[tuple[str, str], ...]
    """(path, sha256 of the bytes on disk in hex), by path; the source is among them."""
    pre_include: tuple[str, ...]
    """Virtual names of project headers; other headers as they were spelled."""
    outside: tuple[str, ...]
    """Spellings no project file answers to: toolkit headers, files that are missing, names that only macros spell."""
    computed: tuple[str, ...]
    """``path:line`` of each ``#include MACRO``; only declared headers and the toolkit's can satisfy one."""
    probes: tuple[str, ...] = ()
    """``path:line`` of each ``__has_include(MACRO)``; it is true for declared headers and the toolkit's."""
    standard: tuple[str, ...] = ()
    """Names in memory of standard headers."""
    named: tuple[str, ...] = ()
    """Those of the standard headers that project files name."""
    asked: tuple[str, ...] = ()
    """Names in memory, of project files or standard headers, that the toolkit's headers ask for."""
    clocks: tuple[str, ...] = ()
    """Uses of ``__DATE__`` and its kin; no such source is compiled."""
    origin: Origin | None = field(default=None, compare=False, repr=False)
    """What it was made of, where it has just been read."""


LibraryKind = Literal["archive", "cubin", "fatbin", "ltoir", "object file", "ptx"]

#: CUDA's device runtime: kernels that launch kernels call it. It is the toolkit's; all other libraries are files.
DEVICE_RUNTIME: Final = "cudadevrt"
#: What a library holds, by the suffix of its file.
LIBRARY_KINDS: Final[dict[str, LibraryKind]] = {
    ".a": "archive",
    ".cubin": "cubin",
    ".fatbin": "fatbin",
    ".ltoir": "ltoir",
    ".o": "object file",
    ".ptx": "ptx",
}


class DeviceLibrary(NamedTuple):
    """One library."""

    name: str
    """As the manifest lists it: ``cudadevrt``, or a path in the project."""
    data: bytes
    version: str = ""
    """The toolkit's, of its device runtime."""

    @property
    def kind(self) -> LibraryKind:
        """What nvJitLink takes it for."""
        return library_kind(self.name)

    @property
    def sha256(self) -> str:
        """Digest of its bytes."""
        return sha256(self.data).hexdigest()


def library_kind(name: str) -> LibraryKind:
    """Return what a library is by its name. Raises KeyError for a suffix that is not known."""
    return "archive" if name == DEVICE_RUNTIME else LIBRARY_KINDS[posixpath.splitext(name)[1]]
