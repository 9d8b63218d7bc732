"""All that a module is made of: each source with its header closure, what was changed in it, and device libraries."""

from __future__ import annotations

import json
import posixpath
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias

from hatch_cuda_kernels.digest import sha256
from hatch_cuda_kernels.execution_space.kernels import NOTHING_DECLARED, Declared
from hatch_cuda_kernels.names import VIRTUAL_ROOT
from hatch_cuda_kernels.table import counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = [
    "DEVICE_RUNTIME",
    "LIBRARY_KINDS",
    "NOT_CUT",
    "Closure",
    "ClosureCut",
    "DeviceLibrary",
    "Dropped",
    "DroppedKind",
    "LibraryKind",
    "SourceSet",
    "left_out",
    "library_kind",
]

_TEXTS: Final = {
    "body": "the body of {}",
    "definition": "the definition of {}",
    "throw": "throw in {} traps",
    "attribute": "the attribute behind {} is moved to its key",
    "mark": "{} is marked __host__ __device__",
    "constant": "{} is made constexpr",
    "value": "the value of {}",
    "macro": "{} is replaced by what it stands for, without host code",
    "pragma": "{} is spelled with _Pragma",
    "condition": "{} counts as defined, as for nvcc",
}
#: ``texture``: a reference, as CUDA had them up to 11. ``body``: of a function that stays declared. The last six: what
#: stays, changed.
DroppedKind: TypeAlias = Literal[
    "function",
    "definition",
    "instantiation",
    "removed",
    "throw",
    "attribute",
    "type",
    "variable",
    "texture",
    "include",
    "using",
    "assertion",
    "body",
    "mark",
    "constant",
    "value",
    "macro",
    "pragma",
    "condition",
]


class Dropped(NamedTuple):
    """One thing that is for the host only, and where it stands."""

    path: str
    """Relative to the project and posix."""
    line: int
    kind: DroppedKind
    name: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {_TEXTS.get(self.kind, f'{self.kind} {{}}').format(self.name)}"


def left_out(dropped: Sequence[Dropped], sources: Sequence[str]) -> str:
    """Return the sentence that says of which files host code is left out without being asked, and why.

    ``sources`` are the files that are compiled; the others are headers.
    """
    places = dict.fromkeys(found.path for found in dropped)
    named = [path for path in sources if path in places]
    others = len(places) - len(named)
    files = [*named, *([counted(others, "header")] if others else [])]
    first = min(dropped, key=lambda found: (found.kind != "function", found.path not in sources, found))
    why = "is a header of the host's" if first.kind == "include" else "has no device mark"
    place = f"{first.path}:{first.line}"
    return f"host code left out of {' and '.join(files)}: {first.name} ({place}) {why}; host_code: keep turns this off"


class ClosureCut(NamedTuple):
    """What was cut of a closure's texts, which are as they are without it."""

    edits: tuple[tuple[str, int, int, str, bool], ...] = ()
    """In-memory name, start, end and new text of each change, and whether pragmas inside go with it."""
    default_device: bool = False
    """Whether something without a mark stays, which NVRTC takes under ``-default-device`` only."""
    variables: tuple[str, ...] = ()
    """Qualified names of variables that lost their values: no code may use them."""
    loses_constants: bool = False
    """Whether one of these is const: of its use, only relocatable code shows a symbol."""
    host_headers: tuple[str, ...] = ()
    """Headers that are no longer included."""
    unread: str = ""
    """Why the texts could not be read as C++, with the place: then nothing is cut, and NVRTC has to refuse them."""
    declared: Declared = NOTHING_DECLARED
    """The kernels and variables that the texts declare."""
    implied: tuple[str, ...] = ()
    """Headers that the texts use without an include, in the order to include them before the source."""

    def to_json(self) -> dict[str, Any]:
        """Return JSON data that ``from_json`` reads."""
        return {**self._asdict(), "declared": self.declared.to_json(), "sha256": self._digest()}

    def _digest(self) -> str:
        return sha256(json.dumps(self, separators=(",", ":")).encode()).hexdigest()

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> ClosureCut:
        """Read what ``to_json`` wrote. Raises KeyError, TypeError or ValueError on other data."""
        found = cls(
            tuple((name, start, end, text, drops) for name, start, end, text, drops in data["edits"]),
            data["default_device"],
            tuple(data["variables"]),
            data["loses_constants"],
            tuple(data["host_headers"]),
            data["unread"],
            Declared.from_json(data["declared"]),
            tuple(data["implied"]),
        )
        if data["sha256"] != found._digest():
            message = "what was cut of a source is damaged"
            raise ValueError(message)
        return found


NOT_CUT: Final = ClosureCut()


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
    dropped: tuple[Dropped, ...] = ()
    """What of the project's texts was left out as host code, by place."""
    cut: ClosureCut = NOT_CUT
    """What was cut of the texts."""
    clocks: tuple[str, ...] = ()
    """Uses of ``__DATE__`` and its kin; no such source is compiled."""


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
