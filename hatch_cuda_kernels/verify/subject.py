"""What is verified: the demands, the store as far as it can be read, and what a check answers."""

from __future__ import annotations

import csv
import io
import re
import zipfile
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from hatch_cuda_kernels import store
from hatch_cuda_kernels.compiler.binary import Cubin, Ptx, read_cubin, read_ptx
from hatch_cuda_kernels.errors import Problem, StoreError
from hatch_cuda_kernels.image import Symbol
from hatch_cuda_kernels.includes import normalize
from hatch_cuda_kernels.names import normalize_name
from hatch_cuda_kernels.options import options_from

if TYPE_CHECKING:
    from hatch_cuda_kernels.arch import ComputeCapability

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Demands:
    """What to prove besides the promises that the store records, or instead of them."""

    devices: tuple[ComputeCapability, ...] = ()
    driver: tuple[int, int] | None = None
    max_spill_bytes: int | None = None
    """For every module."""
    max_size: int | None = None
    """Bytes of the wheel file; of the store's files without a wheel."""
    rebuild: bool = False
    keep: Path | None = None
    """A folder in which a rebuild leaves both stores, to compare them."""
    skip: frozenset[str] = frozenset()


class Outcome(NamedTuple):
    """What a check looked at, and the problems it found: each names its module, or its module and image."""

    checked: int
    """How many."""
    what: str
    """Of what, as a plural."""
    problems: tuple[Problem, ...]
    skipped: str = ""

    @classmethod
    def of(cls, checked: int, what: str, problems: Iterable[Problem]) -> Outcome:
        """Return the outcome of a check that ran."""
        return cls(checked, what, tuple(problems))

    @classmethod
    def skip(cls, reason: str) -> Outcome:
        """Return the outcome of a check that has nothing to do."""
        return cls(0, "", (), reason)

    @property
    def state(self) -> str:
        """``ok``, ``failed`` or ``skipped``."""
        if self.problems:
            return "failed"
        return "skipped" if self.skipped else "ok"

    def to_json(self) -> dict[str, Any]:
        """Return what ``verify --json`` prints of the check, beside its name."""
        data: dict[str, Any] = {"state": self.state, "checked": self.checked, "what": self.what}
        data["skipped"] = self.skipped
        places = (problem.where.partition("/")[::2] for problem in self.problems)
        data["findings"] = [
            {"module": module, "image": image, "problem": problem.message, "fix": problem.fix}
            for problem, (module, image) in zip(self.problems, places, strict=True)
        ]
        return data


class Verification(NamedTuple):
    """Every check's outcome, by its name, in the order they ran."""

    results: dict[str, Outcome]

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Everything that is wrong."""
        return tuple(problem for outcome in self.results.values() for problem in outcome.problems)

    @property
    def ok(self) -> bool:
        """Whether no check found a problem."""
        return not self.problems


_FILE: Final = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]*")
_BUILD: Final = re.compile(r"\d+\.\d+\.\d+(?:\+[0-9a-f]+)?")


def _malformed(index: store.ModuleIndex, folder: str) -> str:
    """Return what no build would write in an index, though its fields have the right types; empty for nothing."""
    if index.module != folder:
        return f"it belongs to the module {index.module!r}, not to {folder!r}"
    if any(name != normalize("", name) for name in (*index.sources, *dict(index.libraries), *index.files)):
        return "a source's path leads out of the store"
    if not _BUILD.fullmatch(index.toolchain.get("nvrtc", "")):
        return "it does not say which NVRTC compiled the module"
    options_from(index.options)
    return next(filter(None, map(_malformed_image, index.images)), "")


def _malformed_image(image: store.ImageRecord) -> str:
    if not _FILE.fullmatch(image.file):
        return f"{image.file!r} is not a file name"
    if image.arch.virtual == (image.kind == "cubin"):
        return f"{image.file}: a {image.kind} image cannot be for {image.arch}"
    if any(number < 0 for used in image.resources.values() for number in used.values()):
        return f"{image.file}: a number is negative"
    parts = image.stored.file.split("/") if image.stored else []
    if image.stored and (len(parts) != len(("module", "file")) or not all(map(_FILE.fullmatch, parts))):
        return f"{image.file}: {image.stored.file!r} is not a file of the store"
    return ""


class WheelRecord(NamedTuple):
    """A RECORD, and where the store is among its paths."""

    rows: tuple[tuple[str, ...], ...]
    prefix: str
    """The store's folder, with the slash that follows it."""


def _wheel_record(wheel: Path) -> WheelRecord | None:
    """Return the RECORD of a wheel that has a store, empty if it cannot be read; None if it has no RECORD."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        found = [name for name in names if name.endswith(".dist-info/RECORD") and name.count("/") == 1]
        try:
            text = store.read_member(archive, found[0]).decode(errors="replace") if found else ""
        except store.UNREADABLE:  # another check says so
            text = ""
    return WheelRecord(_rows(text), store.place_in_wheel(names)) if found else None


def _installed_record(folder: Path) -> WheelRecord | None:
    """Return the RECORD that lists an installed store; None for a folder that was not installed."""
    found = store.find_metadata(str(folder))
    if found is None:
        return None
    metadata, place = found
    return WheelRecord(_rows((metadata / "RECORD").read_text(encoding="utf-8", errors="replace")), f"{place}/")


def _rows(text: str) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(row) for row in csv.reader(io.StringIO(text)) if row)


#: The damage of an image whose file is not there.
MISSING: Final = "missing"
#: The fix for damage that only a change of the finished files can cause.
REBUILD: Final = "build the wheel again, and change nothing in it afterwards"


@dataclass(frozen=True)
class StoredImage:
    """One image the index lists, with its bytes if they are there and match the digest."""

    index: store.ModuleIndex
    record: store.ImageRecord
    data: bytes | None
    damage: str = ""

    def problem(self, message: str, fix: str = REBUILD) -> Problem:
        """Return a problem with this image."""
        return Problem(message, fix, f"{self.index.module}/{self.record.file}")

    @cached_property
    def contents(self) -> Cubin | Ptx | None:
        """What a CUBIN or PTX holds, None for LTO-IR. Raises ValueError with the reason if it cannot be read."""
        if self.data is None or self.record.kind == "ltoir":
            return None
        return read_cubin(self.data) if self.record.kind == "cubin" else read_ptx(self.data.decode())

    @property
    def readable(self) -> Cubin | Ptx | None:
        """The contents, None if they cannot be read."""
        try:
            return self.contents
        except ValueError:
            return None


@dataclass(frozen=True, kw_only=True)
class Subject:
    """Everything the checks look at."""

    reader: store.StoreReader
    wheel: Path | None
    """The wheel file the store was unpacked from."""
    demands: Demands
    promises: store.Promises
    modules: tuple[store.ModuleIndex, ...]
    lines: tuple[store.KernelLine, ...]
    images: tuple[StoredImage, ...]
    damage: tuple[Problem, ...]
    """Which of the store's own files cannot be read; each problem names its module, if it is a module's."""

    @property
    def supports(self) -> store.Supports | None:
        """The devices and driver to prove: those demanded, else those recorded."""
        recorded, demands = self.promises.supports, self.demands
        if recorded is None and not demands.devices:
            return None
        devices = demands.devices or (recorded.devices if recorded else ())
        return store.Supports(devices=devices, driver=demands.driver or (recorded.driver if recorded else None))

    @cached_property
    def record(self) -> WheelRecord | None:
        """The RECORD that lists the store: the wheel's, or that of the installed distribution."""
        return _wheel_record(self.wheel) if self.wheel else _installed_record(self.reader.folder)

    @property
    def unread(self) -> set[str]:
        """The modules whose index or details cannot be read."""
        return {damage.where for damage in self.damage if damage.where}

    @cached_property
    def module_lines(self) -> defaultdict[str, list[store.KernelLine]]:
        """Each module's kernels and variables as ``kernels.tsv`` lists them."""
        return grouped((line.module, line) for line in self.lines)

    @cached_property
    def module_images(self) -> defaultdict[str, list[StoredImage]]:
        """Each module's images, in the order of its index."""
        return grouped((image.index.module, image) for image in self.images)

    def symbols(self, module: str, *, variables: bool = False) -> list[Symbol]:
        """Return a module's kernels, or its device variables."""
        lines = (line for line in self.module_lines[module] if line.is_variable == variables)
        return [Symbol(line.name, line.lowered, line.params, line.types, line.names) for line in lines]


def grouped(pairs: Iterable[tuple[str, T]]) -> defaultdict[str, list[T]]:
    """Return the second of each pair in lists, by the first."""
    found = defaultdict[str, list[T]](list)
    for key, value in pairs:
        found[key].append(value)
    return found


def common_problems(found: Iterable[tuple[str, str]]) -> Iterator[Problem]:
    """Yield one problem for each message, with every module that it concerns."""
    return (Problem(message, REBUILD, ", ".join(modules)) for message, modules in grouped(found).items())


def names_by_key(names: Iterable[str]) -> dict[str, str]:
    """Return names as written, by their spelling for look-ups."""
    return {normalize_name(name): name for name in names}


def read_subject(reader: store.StoreReader, demands: Demands, wheel: Path | None) -> Subject:
    """Read a store as far as it can be read."""
    damage: list[Problem] = []
    lines, promises = tuple[store.KernelLine, ...](), store.Promises()
    try:
        lines = tuple(reader.lines())
    except StoreError as error:
        damage.append(Problem(f"{store.KERNELS_FILE}: {error.message}", REBUILD))
    modules = tuple(index for name in store.module_names(reader.folder) if (index := _module(reader, name, damage)))
    try:
        promises = store.read_promises(reader.folder)
    except ValueError as error:
        damage.append(Problem(f"{store.PROMISES_FILE}: {error}", REBUILD))
    return Subject(
        reader=reader,
        wheel=wheel,
        demands=demands,
        promises=promises,
        modules=modules,
        lines=lines,
        images=tuple(_image(reader, index, record) for index in modules for record in index.images),
        damage=tuple(damage),
    )


def _module(reader: store.StoreReader, name: str, damage: list[Problem]) -> store.ModuleIndex | None:
    """Return a module's index; None, with the damage noted, if it is unreadable or malformed."""
    try:
        index = reader.whole_module(name)
        wrong = _malformed(index, name)
    except StoreError as error:
        file = store.INDEX_FILE if Path(error.path).name == store.INDEX_FILE else store.DETAILS_FILE
        lost = isinstance(error.__cause__, FileNotFoundError)
        damage.append(Problem(f"{file} is missing" if lost else f"{file}: {error.message}", REBUILD, name))
        return None
    except (TypeError, ValueError) as error:  # an option that there is not, or a wrong value of one
        wrong = f"options: {error}"
    if wrong:
        damage.append(Problem(f"{store.INDEX_FILE}: {wrong}", REBUILD, name))
        return None
    return index


def _image(reader: store.StoreReader, index: store.ModuleIndex, record: store.ImageRecord) -> StoredImage:
    unread = store.StoreReader(reader.folder)  # a reader remembers the image read last, wherever another says it is
    try:
        return StoredImage(index, record, unread.read_image(index.module, record))
    except StoreError as error:
        missing = isinstance(error.__cause__, FileNotFoundError)
        return StoredImage(index, record, None, MISSING if missing else error.message)
