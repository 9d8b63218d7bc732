"""What NVRTC is shown of a module's sources: closures of which host code is cut, with what they declare."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from hatch_cuda_kernels import cpp
from hatch_cuda_kernels.execution_space.kernels import NOTHING_DECLARED, Declared
from hatch_cuda_kernels.includes import Closure
from hatch_cuda_kernels.integrity import sha256
from hatch_cuda_kernels.names import is_projects

if TYPE_CHECKING:
    from hatch_cuda_kernels.device_library import DeviceLibrary

#: What is wrong with the use of a variable of the host.
UNMARKED: Final = "has no device mark, and device code uses it"
_UNMARKED: Final = "it has no device mark"
#: What is done and why, by the kind: ``removed`` by NVRTC's word or the user's; the last six are of what stays.
CHANGES: Final = {
    "body": ("the body of {} is cut", "the body has no device mark; what it declares stays"),
    "value": ("the value of {} is cut", f"{_UNMARKED}, so device code cannot use its value"),
    "definition": ("the definition of {} is cut, its declaration stays", f"{_UNMARKED}; its declaration stays"),
    "instantiation": ("the explicit instance of {} is cut", "no device code"),
    "include": ("the include of {} is cut", "a header of the host's"),
    "variable": ("the variable {} is removed", "its value is the host's"),
    "removed": ("{} is removed", "NVRTC refuses it"),
    "mark": ("the marks of {} are as NVRTC takes them", "NVRTC takes no such mark there"),
    "throw": ("throw in {} traps", "device code cannot throw"),
    "attribute": ("the attributes of {} are where NVRTC heeds them", "NVRTC heeds it behind the key"),
    "constant": ("{} is constexpr", "nvcc folds it as a constant, NVRTC only if it is constexpr"),
    "condition": ("the condition {} is decided as for nvcc", "nvcc's branch, as NVRTC does not define it"),
    "pragma": ("{} is spelled with _Pragma", "NVRTC takes it as an operator"),
}


class SourceChange(NamedTuple):
    """One thing that was cut or changed, as it is for the host, and where it stands."""

    path: str
    """Relative to the project and posix."""
    line: int
    kind: str
    """A key of the table above."""
    name: str

    @property
    def what(self) -> str:
        """What it is, in words."""
        return CHANGES[self.kind][0].format(self.name or "a header")

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.what}"


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
        return {**self._asdict(), "declared": self.declared.to_json()}

    @property
    def digest(self) -> str:
        """SHA-256 of all of it, in hex; of nothing, the empty text."""
        return "" if self == NOT_CUT else sha256(json.dumps(self, separators=(",", ":")).encode()).hexdigest()

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> ClosureCut:
        """Read what ``to_json`` wrote. Raises KeyError, TypeError or ValueError on other data."""
        values = {name: data[name] for name in cls._fields}
        values |= {name: tuple(data[name]) for name in ("variables", "host_headers", "implied")}
        values["edits"] = tuple((name, start, end, text, drops) for name, start, end, text, drops in data["edits"])
        return cls(**{**values, "declared": Declared.from_json(data["declared"])})


NOT_CUT: Final[ClosureCut] = ClosureCut()


@dataclass(frozen=True, slots=True)
class DeviceSource(Closure):
    """A closure as NVRTC is shown it."""

    changes: tuple[SourceChange, ...] = ()
    """What was cut or changed in the project's texts, by place."""
    cut: ClosureCut = NOT_CUT
    """The same as edits, and what else is known of the texts."""

    @classmethod
    def of(cls, closure: Closure, cut: ClosureCut) -> DeviceSource:
        """Return a closure whose texts are already cut."""
        return cls(**{one.name: getattr(closure, one.name) for one in fields(closure)}, cut=cut)


@dataclass(frozen=True)
class SourceSet:
    """The sources and libraries of a module. Paths are project-relative and posix."""

    units: tuple[DeviceSource, ...]
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
        return {name: text for name, text in self.texts.items() if is_projects(name)}

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
    def changes(self) -> tuple[SourceChange, ...]:
        """What was cut or changed in the project's texts, by place."""
        return tuple(sorted({found for unit in self.units for found in unit.changes}))

    @property
    def named(self) -> tuple[str, ...]:
        """Those of the standard headers that files of the project name."""
        return tuple(sorted({name for unit in self.units for name in unit.named}))


def cut_closure(closure: Closure, made: ClosureCut, define: Sequence[tuple[str, str | None]]) -> DeviceSource:
    """Return a closure of which something is cut, and that has just been read."""
    origin = closure.origin
    assert origin is not None  # noqa: S101 - of all that was just read
    edits: dict[str, list[cpp.Edit]] = defaultdict(list)
    for name, start, end, text, drops_pragmas in made.edits:
        edits[name].append(cpp.Edit(start, end, text, drops_pragmas=drops_pragmas))
    shown = {name: cpp.Edited(origin.files[name], (*origin.edits[name], *found)).text for name, found in edits.items()}
    gone = {*made.host_headers}
    if gone:
        every = ((name, one) for name, found in edits.items() for one in found)
        taken = {(name, one.start) for name, one in every if one.text[:8] in {"", "#include"}}
        includes = ((file, one) for file in origin.files.values() for one in file.directives if one.is_include)
        gone -= {origin.target(file, one) for file, one in includes if (file.name, one.start) not in taken}
    cut = replace(
        DeviceSource.of(closure, made),
        source=shown.get(closure.program_name, closure.source),
        headers=tuple((name, shown.get(name, text)) for name, text in closure.headers),
        outside=tuple(name for name in closure.outside if name not in gone),
        origin=origin.after(shown),
    )
    if not closure.clocks or cut.origin is None:
        return cut
    from hatch_cuda_kernels.includes import find_clocks  # few sources ask for the time

    return replace(cut, clocks=tuple(find_clocks(cut.origin, (*closure.pre_include, closure.program_name), define)))
