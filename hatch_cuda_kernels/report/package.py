"""What a report is about: contents, sizes of files, machine code, and compile times if they are known."""

from __future__ import annotations

import json
import zipfile
from dataclasses import dataclass, field
from email.parser import BytesParser
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hatch_cuda_kernels.compiler.output.cubin import read_cubin
from hatch_cuda_kernels.errors import InputError, StoreError
from hatch_cuda_kernels.image import ImageId
from hatch_cuda_kernels.report.sizes import (
    FileSize,
    add_packed,
    file_sizes,
    image_id,
    listed_images,
    total_size,
)
from hatch_cuda_kernels.store.contents import contents
from hatch_cuda_kernels.store.index import PROMISES_FILE
from hatch_cuda_kernels.store.promises import Promises, read_promises

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hatch_cuda_kernels.store.reader import StoreReader

__all__ = ["PackageFacts", "Timings", "read_package", "read_timings"]

Timings = dict[ImageId, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageFacts:
    """One wheel, folder or installed package."""

    label: str
    """What messages and headlines call it: a file's or a package's name."""
    name: str = ""
    """The distribution's name and version; empty if unknown."""
    version: str = ""
    bytes: int
    """Size of the wheel file, or of all files together."""
    files: tuple[FileSize, ...]
    contents: Mapping[str, Any]
    """As ``inspect --json`` prints it."""
    promises: Promises = field(default_factory=Promises)
    """What the manifest promised, as the store records it."""
    code: Mapping[ImageId, Mapping[str, int]] = field(default_factory=dict)
    """Bytes of machine code of each kernel, by lowered name; CUBIN only."""
    seconds: Mapping[ImageId, float] = field(default_factory=dict)
    """How long the compile took that produced an image."""
    seconds_from: str = ""
    """Where the compile times are from; empty if there are none."""

    @property
    def is_wheel(self) -> bool:
        """Whether it is a wheel file; then sizes are compressed sizes."""
        return self.label.endswith(".whl")


def read_package(reader: StoreReader, timings: Timings | None = None) -> PackageFacts:
    """Return what is known of a wheel, a folder or an import package whose store is open. Raises StoreError.

    Compile times come from ``timings``, or else from the disk cache of this machine, which knows those of images that
    were built here.
    """
    label, data = reader.label, contents(reader)
    files = file_sizes(label, reader.folder)
    add_packed(data, files)
    wheel = Path(label) if label.endswith(".whl") else None
    name, version = _wheel_name(wheel) if wheel else _installed_name(label)
    source = "the timings given"
    if timings is None:
        timings, source = _recorded(data), "the disk cache of the machine that wrote this page"
    return PackageFacts(
        label=wheel.name if wheel else label,
        name=name,
        version=version,
        bytes=total_size(label, files),
        files=files,
        contents=data,
        promises=_promises(reader.folder),
        code=_code(reader),
        seconds=timings,
        seconds_from=source if timings else "",
    )


def read_timings(path: Path) -> Timings:
    """Return the compile times that ``build --json`` printed. Raises InputError for anything else."""
    try:
        images = json.loads(path.read_bytes())["images"]
        return {image_id(image["module"], image): float(image["seconds"]) for image in images}
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path} is not what build --json prints: {error!r}") from error


def _promises(store: Path) -> Promises:
    try:
        return read_promises(store)
    except ValueError as error:
        raise StoreError(str(store / PROMISES_FILE), str(error)) from error


def _code(reader: StoreReader) -> dict[ImageId, Mapping[str, int]]:
    """Return the bytes of each kernel's instructions. Images that cannot be read are left to the verify command."""
    found: dict[ImageId, Mapping[str, int]] = {}
    listed = {(line.module, line.key): line.lowered for line in reader.lines()}
    for index in reader.modules():
        renamed = reader.details(index.module).lowered
        for record in index.images:
            if record.kind == "cubin":
                try:
                    cubin = read_cubin(reader.read_image(index.module, record))
                except ValueError:
                    continue
                key = ImageId(index.module, record.arch, record.kind)
                back = {own: listed[index.module, name] for name, own in renamed.get(record.file, {}).items()}
                found[key] = {back.get(lowered, lowered): kernel.code for lowered, kernel in cubin.kernels.items()}
    return found


def _recorded(data: Mapping[str, Any]) -> Timings:
    """Return the compile times of exactly these images, from the disk cache."""
    from hatch_cuda_kernels.cache import open_cache

    seconds = {entry.sha256: entry.seconds for entry, _, _ in open_cache().entries()}
    return {key: seconds[image["sha256"]] for key, image in listed_images(data) if image["sha256"] in seconds}


def _wheel_name(wheel: Path) -> tuple[str, str]:
    with zipfile.ZipFile(wheel) as archive:
        found = next((name for name in archive.namelist() if name.endswith(".dist-info/METADATA")), None)
        metadata = BytesParser().parsebytes(archive.read(found) if found else b"")
    return str(metadata.get("Name", "")), str(metadata.get("Version", ""))


def _installed_name(package: str) -> tuple[str, str]:
    from importlib.metadata import packages_distributions, version  # reads every installed package

    names = packages_distributions().get(package, ())
    return (names[0], version(names[0])) if names else ("", "")
