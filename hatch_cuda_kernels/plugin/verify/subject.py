"""A store read for verification: what cannot be read is a finding, and the rest is there for the checks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.compiler.cubin import Cubin, read_cubin
from hatch_cuda_kernels.compiler.ptx import Ptx, read_ptx
from hatch_cuda_kernels.errors import StoreError
from hatch_cuda_kernels.image import INDEX_FILE, KERNELS_FILE, Symbol
from hatch_cuda_kernels.options import NvrtcOptions
from hatch_cuda_kernels.plugin.promises import PROMISES_FILE, Promises, Supports, read_promises
from hatch_cuda_kernels.plugin.verify.model import Finding

if TYPE_CHECKING:
    from pathlib import Path

    from hatch_cuda_kernels.image import ImageRecord, ModuleIndex
    from hatch_cuda_kernels.plugin.verify.model import Demands, Line, StoreFiles

__all__ = ["REBUILD", "StoredImage", "Subject", "read_subject"]

#: What closes a gap that only a change of the finished files can have made.
REBUILD: Final = "build the wheel again, and change nothing in it afterwards"


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
        return [line for line in self.lines if line.module == module]

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
        index = files.module(name)
        problem = _malformed(index, name)
    except StoreError as error:
        problem = error.message
    except (AttributeError, TypeError, ValueError) as error:
        problem = f"a field has another type than it should ({error})"
    if problem:
        damage.append(Finding(f"{INDEX_FILE}: {problem}", REBUILD, name))
        return None
    return index


def _malformed(index: ModuleIndex, folder: str) -> str:
    """Return what in an index no build writes, so that the checks need not ask again."""
    NvrtcOptions.from_canonical(index.options)
    if index.module != folder:
        return f"it is of the module {index.module!r}, not of {folder!r}"
    texts = (index.source, index.source_sha256, *index.names, *index.globals, *index.headers, *index.toolchain.values())
    texts = (*texts, *(text for image in index.images for text in (image.file, image.sha256, *image.lacks)))
    if not all(isinstance(text, str) for text in texts) or "nvrtc" not in index.toolchain:
        return "a field has another type than it should"
    for image in index.images:
        if image.kind not in {"cubin", "ptx", "ltoir"} or image.arch.virtual == (image.kind == "cubin"):
            return f"{image.file}: {image.arch} is no architecture of a {image.kind} image"
        if "/" in image.file or "\\" in image.file or image.file in {"", ".", ".."}:
            return f"{image.file!r} is no file name"
        numbers = [number for used in image.resources.values() for number in used.values()]
        if not all(isinstance(number, int) for number in (image.bytes, *numbers)):
            return f"{image.file}: a number is none"
    return ""


def _image(files: StoreFiles, index: ModuleIndex, record: ImageRecord) -> StoredImage:
    try:
        return StoredImage(index, record, files.read_image(index.module, record))
    except StoreError as error:
        missing = isinstance(error.__cause__, FileNotFoundError)
        return StoredImage(index, record, None, "missing" if missing else error.message)
