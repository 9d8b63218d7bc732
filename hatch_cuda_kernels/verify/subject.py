"""A store read for verification: what cannot be read is a finding, and the rest is there for the checks."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.compiler.output.cubin import Cubin, read_cubin
from hatch_cuda_kernels.compiler.output.ptx import Ptx, read_ptx
from hatch_cuda_kernels.compiler.source.project_files import normalize
from hatch_cuda_kernels.errors import StoreError
from hatch_cuda_kernels.image import Symbol
from hatch_cuda_kernels.options import NvrtcOptions
from hatch_cuda_kernels.store.index import DETAILS_FILE, INDEX_FILE, KERNELS_FILE
from hatch_cuda_kernels.store.promises.model import PROMISES_FILE, Promises, Supports, read_promises
from hatch_cuda_kernels.verify.model import Finding

if TYPE_CHECKING:
    from hatch_cuda_kernels.store.index import ImageRecord, ModuleIndex
    from hatch_cuda_kernels.verify.model import Demands, Line, StoreFiles

__all__ = ["MISSING", "REBUILD", "StoredImage", "Subject", "read_subject"]

#: The damage of an image whose file is not there.
MISSING: Final = "missing"
#: What closes a gap that only a change of the finished files can have made.
REBUILD: Final = "build the wheel again, and change nothing in it afterwards"

_WRONG_TYPE: Final = "a field has another type than it should"
_FILE: Final = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]*")
_BUILD: Final = re.compile(r"\d+\.\d+\.\d+")


@dataclass(frozen=True)
class StoredImage:
    """One image the index lists, with its bytes where they are there and are those of the digest."""

    index: ModuleIndex
    record: ImageRecord
    data: bytes | None
    damage: str = ""
    """Why there are no bytes."""

    def finding(self, problem: str, fix: str = REBUILD) -> Finding:
        """Return a finding about this image."""
        return Finding(problem, fix, self.index.module, self.record.file)

    @cached_property
    def contents(self) -> Cubin | Ptx | None:
        """What a CUBIN or PTX holds; None for LTO-IR. Raises ValueError, with the reason, for anything else."""
        if self.data is None or self.record.kind == "ltoir":
            return None
        return read_cubin(self.data) if self.record.kind == "cubin" else read_ptx(self.data.decode())

    @property
    def readable(self) -> Cubin | Ptx | None:
        """The contents, None where they cannot be read."""
        try:
            return self.contents
        except ValueError:
            return None


@dataclass(frozen=True, kw_only=True)
class Subject:
    """Everything the checks look at."""

    files: StoreFiles
    wheel: Path | None
    """The wheel file the store was unpacked from."""
    demands: Demands
    promises: Promises
    modules: tuple[ModuleIndex, ...]
    lines: tuple[Line, ...]
    images: tuple[StoredImage, ...]
    damage: tuple[Finding, ...]
    """What of the store's own files cannot be read."""

    @property
    def supports(self) -> Supports | None:
        """The devices and driver to prove: those asked for, else those recorded."""
        recorded, demands = self.promises.supports, self.demands
        if recorded is None and not demands.devices:
            return None
        devices = demands.devices or (recorded.devices if recorded else ())
        return Supports(devices=devices, driver=demands.driver or (recorded.driver if recorded else None))

    def module_lines(self, module: str) -> list[Line]:
        """Return a module's kernels and variables as ``kernels.tsv`` lists them."""
        return self._by_module.get(module, [])

    @cached_property
    def _by_module(self) -> dict[str, list[Line]]:
        found: dict[str, list[Line]] = {}
        for line in self.lines:
            found.setdefault(line.module, []).append(line)
        return found

    def kernels(self, module: str) -> list[Symbol]:
        """Return a module's kernels."""
        return [
            Symbol(line.name, line.lowered, line.params)
            for line in self.module_lines(module)
            if not line.key.startswith("&")
        ]


def read_subject(files: StoreFiles, demands: Demands, wheel: Path | None) -> Subject:
    """Read a store as far as it can be read."""
    damage: list[Finding] = []
    lines = _lines(files, damage)
    modules = tuple(index for name in _module_folders(files.folder) if (index := _module(files, name, damage)))
    return Subject(
        files=files,
        wheel=wheel,
        demands=demands,
        promises=_promises(files.folder, damage),
        modules=modules,
        lines=lines,
        images=tuple(_image(files, index, record) for index in modules for record in index.images),
        damage=tuple(damage),
    )


def _lines(files: StoreFiles, damage: list[Finding]) -> tuple[Line, ...]:
    try:
        return tuple(files.lines())
    except StoreError as error:
        damage.append(Finding(f"{KERNELS_FILE}: {error.message}", REBUILD))
        return ()


def _promises(folder: Path, damage: list[Finding]) -> Promises:
    try:
        return read_promises(folder)
    except ValueError as error:
        damage.append(Finding(f"{PROMISES_FILE}: {error}", REBUILD))
        return Promises()


def _module_folders(folder: Path) -> list[str]:
    return sorted(path.parent.name for path in folder.glob(f"*/{INDEX_FILE}"))


def _module(files: StoreFiles, name: str, damage: list[Finding]) -> ModuleIndex | None:
    """Return a module's index; None, with the damage noted, where it is unreadable or malformed."""
    try:
        index = files.whole_module(name)
        problem = _malformed(index, name) or _edited(index, files.folder / name)
    except StoreError as error:
        file = INDEX_FILE if Path(error.path).name == INDEX_FILE else DETAILS_FILE
        lost = isinstance(error.__cause__, FileNotFoundError)
        damage.append(Finding(f"{file} is missing" if lost else f"{file}: {error.message}", REBUILD, name))
        return None
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        problem = f"{_WRONG_TYPE} ({error})"
    if problem:
        damage.append(Finding(f"{INDEX_FILE}: {problem}", REBUILD, name))
        return None
    return index


def _malformed(index: ModuleIndex, folder: str) -> str:
    """Return what in an index no build writes, so that the checks need not ask again."""
    options = NvrtcOptions.from_canonical(index.options)
    if index.module != folder:
        return f"it is of the module {index.module!r}, not of {folder!r}"
    texts = [index.source, index.source_sha256, *index.toolchain.values(), *options.include, *options.pre_include]
    texts += [*index.names, *index.globals, *index.headers, *index.files.values(), *(index.outside or ())]
    for found in index.patterns:
        texts += [found["pattern"], *found["matrix"], *(value for axis in found["matrix"].values() for value in axis)]
    if not all(isinstance(text, str) for text in texts):
        return _WRONG_TYPE
    if any(name != normalize("", name) for name in (index.source, *index.files)):
        return "a path of a source leads out of the store"
    if not _BUILD.match(index.toolchain.get("nvrtc", "")):
        return "it does not say which NVRTC compiled"
    return next(filter(None, map(_malformed_image, index.images)), "")


def _malformed_image(image: ImageRecord) -> str:
    numbers = [image.bytes, *(number for used in image.resources.values() for number in used.values())]
    if not all(isinstance(text, str) for text in (image.file, image.sha256, *image.lacks)):
        return _WRONG_TYPE
    if not _FILE.fullmatch(image.file):
        return f"{image.file!r} is no file name"
    if image.kind not in {"cubin", "ptx", "ltoir"} or image.arch.virtual == (image.kind == "cubin"):
        return f"{image.file}: {image.arch} is no architecture of a {image.kind} image"
    if not all(isinstance(number, int) and number >= 0 for number in numbers):
        return f"{image.file}: a number is none"
    return _malformed_place(image)


def _malformed_place(image: ImageRecord) -> str:
    stored = image.stored
    if stored is None:
        return ""
    numbers = (stored.at, stored.size, stored.skip)
    if not isinstance(stored.file, str) or not all(isinstance(number, int) and number >= 0 for number in numbers):
        return _WRONG_TYPE
    parts = stored.file.split("/")
    if len(parts) != len(("module", "file")) or not all(map(_FILE.fullmatch, parts)):
        return f"{image.file}: {stored.file!r} is no file of the store"
    return ""


def _edited(index: ModuleIndex, folder: Path) -> str:
    """Return which fields are not as this index is written; readers skip over what they do not need."""
    index = index._replace(images=tuple(image.with_summary() for image in index.images))
    written, read = json.loads((folder / INDEX_FILE).read_bytes()), index.to_json()
    names = sorted(name for name in written.keys() | read.keys() if written.get(name) != read.get(name))
    return f"not as a build writes it: {', '.join(names)}" if names else ""


def _image(files: StoreFiles, index: ModuleIndex, record: ImageRecord) -> StoredImage:
    try:
        return StoredImage(index, record, files.read_image(index.module, record))
    except StoreError as error:
        missing = isinstance(error.__cause__, FileNotFoundError)
        return StoredImage(index, record, None, MISSING if missing else error.message)
