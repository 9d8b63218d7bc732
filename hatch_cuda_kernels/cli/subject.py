"""Collects what a report is about: contents, sizes of files, machine code, and compile times where they are known."""

from __future__ import annotations

import json
import zipfile
from email.parser import BytesParser
from pathlib import Path
from typing import TYPE_CHECKING

from hatch_cuda_kernels.cli.output import open_any
from hatch_cuda_kernels.compiler.cubin import read_cubin
from hatch_cuda_kernels.errors import InputError, StoreError
from hatch_cuda_kernels.image import STORE_FOLDER
from hatch_cuda_kernels.plugin.report.subject import FileSize, ImageKey, Subject

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hatch_cuda_kernels.runtime.reader import StoreReader

__all__ = ["open_subject", "read_timings"]

Timings = dict[ImageKey, float]


def open_subject(package: str, timings: Timings | None = None) -> Subject:
    """Return what is known of a wheel, a folder or a package. Raises InputError where there is none.

    Compile times come from ``timings``, or else from the disk cache of this machine, which has them of what was built
    here.
    """
    from hatch_cuda_kernels.runtime.reader import StoreReader  # the run side's

    with open_any(package) as store:
        contents = store.contents()
        supports = _promise(store.path)
        code = _code(StoreReader(store.path, package))
        if package.endswith(".whl"):
            files, label, size = _wheel_files(Path(package)), Path(package).name, Path(package).stat().st_size
            name, version = _wheel_name(Path(package))
        else:
            files, label = _folder_files(store.path), package
            size = sum(file.bytes for file in files)
            name, version = _installed_name(package)
    source = "the timings given"
    if timings is None:
        timings, source = _recorded(contents), "the disk cache of the machine that wrote this page"
    return Subject(
        label=label,
        name=name,
        version=version,
        bytes=size,
        files=files,
        contents=contents,
        supports=supports,
        code=code,
        seconds=timings,
        seconds_from=source if timings else "",
    )


def read_timings(path: Path) -> Timings:
    """Return the compile times that ``build --json`` printed. Raises InputError for anything else."""
    try:
        images = json.loads(path.read_bytes())["images"]
        return {ImageKey(image["module"], image["arch"], image["kind"]): float(image["seconds"]) for image in images}
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path} is not what build --json prints: {error!r}") from error


def _code(reader: StoreReader) -> dict[ImageKey, Mapping[str, int]]:
    """Return the bytes of each kernel's instructions. An image that cannot be read is the verify command's matter."""
    found: dict[ImageKey, Mapping[str, int]] = {}
    for index in reader.modules():
        for record in index.images:
            if record.kind == "cubin":
                try:
                    cubin = read_cubin(reader.read_image(index.module, record))
                except ValueError:
                    continue
                key = ImageKey(index.module, str(record.arch), record.kind)
                found[key] = {lowered: kernel.code for lowered, kernel in cubin.kernels.items()}
    return found


def _promise(store: Path) -> Mapping[str, object] | None:
    """Return the devices and driver that a store promises to support, None where nothing is recorded."""
    path = store / "promises.json"
    try:
        found: Mapping[str, object] | None = json.loads(path.read_bytes()).get("supports")
    except FileNotFoundError:
        return None
    except (OSError, ValueError, AttributeError) as error:
        raise StoreError(str(path), f"cannot read the promises: {error}") from error
    return found


def _recorded(contents: Mapping[str, object]) -> Timings:
    """Return the compile times that the disk cache holds of these very images."""
    from hatch_cuda_kernels.cache import open_cache

    seconds = {entry.sha256: entry.seconds for entry, _, _ in open_cache().entries()}
    modules: Mapping[str, dict[str, list[dict[str, str]]]] = contents["modules"]  # type: ignore[assignment]
    return {
        ImageKey(name, image["arch"], image["kind"]): seconds[image["sha256"]]
        for name, module in modules.items()
        for image in module["images"]
        if image["sha256"] in seconds
    }


def _wheel_files(wheel: Path) -> tuple[FileSize, ...]:
    with zipfile.ZipFile(wheel) as archive:
        return tuple(FileSize(file.filename, file.compress_size) for file in archive.infolist() if not file.is_dir())


def _folder_files(store: Path) -> tuple[FileSize, ...]:
    """Return the files of a store, or of the package around it."""
    package = store.parent if (store.parent / "__init__.py").is_file() else None
    root = package or store
    before = "" if package else f"{STORE_FOLDER}/"
    files = (path for path in sorted(root.rglob("*")) if path.is_file() and "__pycache__" not in path.parts)
    return tuple(FileSize(f"{before}{path.relative_to(root).as_posix()}", path.stat().st_size) for path in files)


def _wheel_name(wheel: Path) -> tuple[str, str]:
    with zipfile.ZipFile(wheel) as archive:
        found = next((name for name in archive.namelist() if name.endswith(".dist-info/METADATA")), None)
        metadata = BytesParser().parsebytes(archive.read(found) if found else b"")
    return str(metadata.get("Name", "")), str(metadata.get("Version", ""))


def _installed_name(package: str) -> tuple[str, str]:
    from importlib.metadata import packages_distributions, version  # reads every installed package

    names = packages_distributions().get(package, ())
    return (names[0], version(names[0])) if names else ("", "")
