"""A store read for verification: what cannot be read is noted as a problem, the rest is ready for the checks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.compiler.output.cubin import Cubin, read_cubin
from hatch_cuda_kernels.compiler.output.ptx import Ptx, read_ptx
from hatch_cuda_kernels.errors import StoreError
from hatch_cuda_kernels.image import Symbol
from hatch_cuda_kernels.names import normalize_name
from hatch_cuda_kernels.problem import Problem
from hatch_cuda_kernels.store.index import DETAILS_FILE, INDEX_FILE, KERNELS_FILE, module_names
from hatch_cuda_kernels.store.promises.model import PROMISES_FILE, Promises, Supports, read_promises
from hatch_cuda_kernels.store.reader import StoreReader
from hatch_cuda_kernels.verify.malformed import WRONG_TYPE, malformed
from hatch_cuda_kernels.verify.record import WheelRecord, installed_record, wheel_record
from hatch_cuda_kernels.versions import parse_version

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from hatch_cuda_kernels.store.image_record import ImageRecord
    from hatch_cuda_kernels.store.index import ModuleIndex
    from hatch_cuda_kernels.store.reader import KernelLine
    from hatch_cuda_kernels.verify.model import Demands

__all__ = ["MISSING", "REBUILD", "StoredImage", "Subject", "common_problems", "cuda_release", "read_subject", "spelled"]

#: The damage of an image whose file is not there.
MISSING: Final = "missing"
#: The fix for what only a change of the finished files can have caused.
REBUILD: Final = "build the wheel again, and change nothing in it afterwards"


@dataclass(frozen=True)
class StoredImage:
    """One image the index lists, with its bytes if they are there and match the digest."""

    index: ModuleIndex
    record: ImageRecord
    data: bytes | None
    damage: str = ""
    """Why there are no bytes."""

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

    reader: StoreReader
    wheel: Path | None
    """The wheel file the store was unpacked from."""
    demands: Demands
    promises: Promises
    modules: tuple[ModuleIndex, ...]
    lines: tuple[KernelLine, ...]
    images: tuple[StoredImage, ...]
    damage: tuple[Problem, ...]
    """Which of the store's own files cannot be read; each problem names its module, if it is a module's."""

    @property
    def supports(self) -> Supports | None:
        """The devices and driver to prove: those demanded, else those recorded."""
        recorded, demands = self.promises.supports, self.demands
        if recorded is None and not demands.devices:
            return None
        devices = demands.devices or (recorded.devices if recorded else ())
        return Supports(devices=devices, driver=demands.driver or (recorded.driver if recorded else None))

    @cached_property
    def record(self) -> WheelRecord | None:
        """The RECORD that lists the store: the wheel's, or that of the installed distribution."""
        return wheel_record(self.wheel) if self.wheel else installed_record(self.reader.folder)

    @property
    def is_shipped(self) -> bool:
        """Whether the store is in a wheel, or was installed from one."""
        return self.wheel is not None or self.record is not None

    @property
    def unread(self) -> set[str]:
        """The modules whose index or details cannot be read."""
        return {damage.where for damage in self.damage if damage.where}

    def module_lines(self, module: str) -> list[KernelLine]:
        """Return a module's kernels and variables as ``kernels.tsv`` lists them."""
        return self._by_module.get(module, [])

    def module_images(self, module: str) -> list[StoredImage]:
        """Return a module's images, in the order of its index."""
        return self._images_by_module.get(module, [])

    @cached_property
    def _images_by_module(self) -> dict[str, list[StoredImage]]:
        found: dict[str, list[StoredImage]] = {}
        for image in self.images:
            found.setdefault(image.index.module, []).append(image)
        return found

    @cached_property
    def by_name(self) -> dict[str, ModuleIndex]:
        """Every module by its name."""
        return {index.module: index for index in self.modules}

    @cached_property
    def _by_module(self) -> dict[str, list[KernelLine]]:
        found: dict[str, list[KernelLine]] = {}
        for line in self.lines:
            found.setdefault(line.module, []).append(line)
        return found

    def kernels(self, module: str) -> list[Symbol]:
        """Return a module's kernels."""
        return [_symbol(line) for line in self.module_lines(module) if not line.key.startswith("&")]

    def variables(self, module: str) -> list[Symbol]:
        """Return a module's device variables."""
        return [_symbol(line) for line in self.module_lines(module) if line.key.startswith("&")]


def _symbol(line: KernelLine) -> Symbol:
    return Symbol(line.name, line.lowered, line.params, line.types, line.names)


def common_problems(found: Iterable[tuple[str, str]]) -> Iterator[Problem]:
    """Yield one problem for each message, with every module that it is about: files may be needed by many."""
    modules: dict[str, list[str]] = {}
    for message, module in found:
        modules.setdefault(message, []).append(module)
    return (Problem(message, REBUILD, ", ".join(names)) for message, names in modules.items())


def spelled(names: Iterable[str]) -> dict[str, str]:
    """Return names as written, by their spelling for look-ups."""
    return {normalize_name(name): name for name in names}


def cuda_release(index: ModuleIndex) -> tuple[int, int]:
    """Return the CUDA release that compiled a module."""
    return parse_version(index.toolchain["nvrtc"].rpartition(".")[0])


def read_subject(reader: StoreReader, demands: Demands, wheel: Path | None) -> Subject:
    """Read a store as far as it can be read."""
    damage: list[Problem] = []
    lines = _lines(reader, damage)
    modules = tuple(index for name in module_names(reader.folder) if (index := _module(reader, name, damage)))
    return Subject(
        reader=reader,
        wheel=wheel,
        demands=demands,
        promises=_promises(reader.folder, damage),
        modules=modules,
        lines=lines,
        images=tuple(_image(reader, index, record) for index in modules for record in index.images),
        damage=tuple(damage),
    )


def _lines(reader: StoreReader, damage: list[Problem]) -> tuple[KernelLine, ...]:
    try:
        return tuple(reader.lines())
    except StoreError as error:
        damage.append(Problem(f"{KERNELS_FILE}: {error.message}", REBUILD))
        return ()


def _promises(folder: Path, damage: list[Problem]) -> Promises:
    try:
        return read_promises(folder)
    except ValueError as error:
        damage.append(Problem(f"{PROMISES_FILE}: {error}", REBUILD))
        return Promises()


def _module(reader: StoreReader, name: str, damage: list[Problem]) -> ModuleIndex | None:
    """Return a module's index; None, with the damage noted, if it is unreadable or malformed."""
    try:
        index = reader.whole_module(name)
        wrong = malformed(index, name)
    except StoreError as error:
        file = INDEX_FILE if Path(error.path).name == INDEX_FILE else DETAILS_FILE
        lost = isinstance(error.__cause__, FileNotFoundError)
        damage.append(Problem(f"{file} is missing" if lost else f"{file}: {error.message}", REBUILD, name))
        return None
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        wrong = f"{WRONG_TYPE} ({error})"
    if wrong:
        damage.append(Problem(f"{INDEX_FILE}: {wrong}", REBUILD, name))
        return None
    return index


def _image(reader: StoreReader, index: ModuleIndex, record: ImageRecord) -> StoredImage:
    unread = StoreReader(reader.folder)  # a reader remembers the image read last, wherever another says it is
    try:
        return StoredImage(index, record, unread.read_image(index.module, record))
    except StoreError as error:
        missing = isinstance(error.__cause__, FileNotFoundError)
        return StoredImage(index, record, None, MISSING if missing else error.message)
