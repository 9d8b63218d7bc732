"""What a report shows of a package: its modules, and the bytes of its files."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from email.parser import BytesParser
from pathlib import Path
from typing import Any, Final, NamedTuple

from hatch_cuda_kernels.arch import SmArch
from hatch_cuda_kernels.compiler.binary import Cubin, read_cubin, read_ptx
from hatch_cuda_kernels.errors import InputError, StoreError
from hatch_cuda_kernels.image import ImageId
from hatch_cuda_kernels.store import (
    PROMISES_FILE,
    STANDARD_FILE,
    STORE_FOLDER,
    KernelLine,
    ModuleDetails,
    ModuleFamily,
    ModuleIndex,
    Promises,
    StoreReader,
    find_metadata,
    list_contents,
    place_in_wheel,
    read_promises,
)
from hatch_cuda_kernels.terminal import printable

_FROM_CACHE: Final = "the disk cache of the machine that wrote this page"


class FileSize(NamedTuple):
    """A file and what it costs: its compressed bytes in a wheel, otherwise its size on disk."""

    path: str
    """Posix; the path of a store's file contains ``_kernels/``."""
    bytes: int


def file_sizes(package: str, store: Path) -> tuple[FileSize, ...]:
    """Return the files of a wheel, or else those of a store or of the package around it."""
    if package.endswith(".whl"):
        with zipfile.ZipFile(package) as archive:
            return tuple(
                FileSize(file.filename, file.compress_size) for file in archive.infolist() if not file.is_dir()
            )
    around = store.parent if (store.parent / "__init__.py").is_file() else None
    root = around or store
    before = "" if around else f"{STORE_FOLDER}/"
    files = (path for path in sorted(root.rglob("*")) if path.is_file() and "__pycache__" not in path.parts)
    return tuple(FileSize(f"{before}{path.relative_to(root).as_posix()}", path.stat().st_size) for path in files)


def total_size(package: str, files: Iterable[FileSize]) -> int:
    """Return the size of the wheel file, or of all files together."""
    return Path(package).stat().st_size if package.endswith(".whl") else sum(file.bytes for file in files)


def add_packed(contents: Mapping[str, Any], files: Sequence[FileSize]) -> None:
    """Add ``packed`` to what ``inspect --json`` prints: the bytes of the files that an image or a module uses."""
    modules: dict[str, int] = {}
    for file in files:
        _, store, path = f"/{file.path}".rpartition(f"/{STORE_FOLDER}/")
        if store:
            name = path.partition("/")[0]
            modules[name] = modules.get(name, 0) + file.bytes
    for name, module in contents["modules"].items():
        module["packed"] = modules.get(name, 0)
    found = {key: size for images in image_shares(files, contents).values() for key, size in images.items()}
    for key, image in _listed_images(contents):
        image["packed"] = found.get(key, 0)


def image_shares(files: Iterable[FileSize], contents: Mapping[str, Any]) -> dict[str, dict[ImageId, int]]:
    """Return each image's share of the file that holds it, by the file's path; the shares add up to the file's size.

    Images that are compressed together share a block in proportion to their sizes. An image whose bytes are those of
    another one costs nothing.
    """
    held: dict[str, dict[ImageId, float]] = {}
    blocks: dict[tuple[str, int], dict[int, tuple[ImageId, int]]] = {}
    size_of: dict[tuple[str, int], int] = {}
    for key, image in _listed_images(contents):
        stored = image.get("stored")
        if stored is None:
            held[f"{key.module}/{image['file']}"] = {key: 1}
        elif stored["size"]:
            block = stored["file"], stored["at"]
            size_of[block] = stored["size"]
            blocks.setdefault(block, {}).setdefault(stored["skip"], (key, image["bytes"]))
    for block, inside in blocks.items():
        total = sum(size for _, size in inside.values()) or 1
        held.setdefault(block[0], {}).update({key: size_of[block] * size / total for key, size in inside.values()})
    shares = {}
    for file in files:
        _, store, path = f"/{file.path}".rpartition(f"/{STORE_FOLDER}/")
        if store and path in held:
            shares[file.path] = dict(_divide(held[path], file.bytes))
    return shares


def _divide(weights: Mapping[ImageId, float], total: int) -> Iterator[tuple[ImageId, int]]:
    """Yield integer parts of a total, in proportion to the weights; their sum is the total."""
    scale, passed, given = total / (sum(weights.values()) or 1), 0.0, 0
    for key, weight in weights.items():
        passed += weight * scale
        yield key, round(passed) - given
        given = round(passed)


def _listed_images(contents: Mapping[str, Any]) -> Iterator[tuple[ImageId, dict[str, Any]]]:
    """Yield every image that ``inspect --json`` prints, with what it is called."""
    for name, module in contents["modules"].items():
        for image in module["images"]:
            yield image_id(name, image), image


def image_id(module: str, image: Mapping[str, Any]) -> ImageId:
    """Return what an image is called, from its JSON. Raises KeyError or ValueError for anything else."""
    return ImageId(module, SmArch.parse(image["arch"]), image["kind"])


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
    import_name: str = ""
    """The package that has the store, with slashes; empty if unknown."""
    requires: str | None = None
    """The versions of this package that the metadata require; empty for none, None if there are no metadata."""
    modules: tuple[ModuleIndex, ...] = ()
    lines: tuple[KernelLine, ...] = ()
    families: tuple[tuple[str, ModuleFamily], ...] = ()
    """What is said of each entry with axes in its name, behind what its modules are called."""
    without_sources: frozenset[str] = frozenset()
    """The modules of which not all sources are there."""
    stated: Mapping[ImageId, Mapping[str, Mapping[str, tuple[int, ...]]]] = field(default_factory=dict)
    """What the source states of launches of each kernel, by lowered name, as ``KernelSection`` has it."""
    variables: Mapping[tuple[str, str], int] = field(default_factory=dict)
    """Bytes of each variable, by its module and its lowered name."""

    @property
    def is_wheel(self) -> bool:
        """Whether it is a wheel file; then sizes are compressed sizes."""
        return self.label.endswith(".whl")


def read_package(reader: StoreReader, timings: Timings | None = None) -> PackageFacts:
    """Return the facts of a wheel, a folder or an import package whose store is open. Raises StoreError.

    Compile times come from ``timings``, or else from the disk cache of this machine, which knows those of images that
    were built here.
    """
    label, data = reader.label, list_contents(reader)
    files = file_sizes(label, reader.folder)
    add_packed(data, files)
    wheel = Path(label) if label.endswith(".whl") else None
    origin = _wheel_origin(wheel) if wheel else _installed_origin(label, reader.folder)
    source = "the timings given"
    if timings is None:
        from hatch_cuda_kernels.cache import open_cache

        seconds = {entry.sha256: entry.seconds for entry, _, _ in open_cache().entries()}
        known = [(key, image["sha256"]) for key, image in _listed_images(data) if image["sha256"] in seconds]
        timings, source = {key: seconds[digest] for key, digest in known}, _FROM_CACHE
    indexes = reader.modules()
    lines = tuple(reader.lines())
    details = {index.module: reader.details(index.module) for index in indexes}
    code, stated, variables = _read_images(reader, indexes, lines, details)
    return PackageFacts(
        label=wheel.name if wheel else label,
        bytes=total_size(label, files),
        files=files,
        contents=data,
        promises=_promises(reader.folder),
        code=code,
        seconds=timings,
        seconds_from=source if timings else "",
        modules=tuple(indexes),
        lines=lines,
        families=tuple((index.family, found) for index in indexes if (found := details[index.module].family)),
        without_sources=frozenset(index.module for index in indexes if not _has_sources(reader, index)),
        stated=stated,
        variables=variables,
        **origin,
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


def _read_images(
    reader: StoreReader,
    indexes: Sequence[ModuleIndex],
    lines: Sequence[KernelLine],
    details: Mapping[str, ModuleDetails],
) -> tuple[
    dict[ImageId, dict[str, int]], dict[ImageId, dict[str, dict[str, tuple[int, ...]]]], dict[tuple[str, str], int]
]:
    """Return what images say of themselves: machine code, launches that the source states, and sizes of variables.

    Kernels and variables have the names of ``kernels.tsv``. Images that cannot be read are left to the verify command.
    """
    listed = {(line.module, line.key): line.lowered for line in lines}
    code, stated, variables = {}, {}, dict[tuple[str, str], int]()
    images = [(index, record) for index in indexes for record in index.images]
    for index, record in images:
        if record.kind == "ltoir":
            continue
        data = reader.read_image(index.module, record)
        try:
            found = read_cubin(data) if record.kind == "cubin" else read_ptx(data.decode())
        except ValueError:
            continue
        own, key = details[index.module].lowered.get(record.file, {}), ImageId(index.module, record.arch, record.kind)
        back = {name: listed[index.module, symbol] for symbol, name in own.items()}
        if isinstance(found, Cubin) and found.kernels:
            code[key] = {back.get(name, name): kernel.code for name, kernel in found.kernels.items()}
        stated[key] = {back.get(name, name): dict(sizes) for name, sizes in found.stated.items()}
        variables |= {(index.module, back.get(name, name)): size for name, size in found.variables.items()}
    return code, stated, variables


def _has_sources(reader: StoreReader, index: ModuleIndex) -> bool:
    """Return whether every file that the index lists is there."""
    root = reader.source_root(index.module)
    files = [*(root / name for name in index.files), *([reader.folder / STANDARD_FILE] if index.standard else [])]
    return all(file.is_file() for file in files)


def _wheel_origin(wheel: Path) -> dict[str, Any]:
    """Return where a wheel's store is from, as fields of PackageFacts."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        found = next((name for name in names if name.endswith(".dist-info/METADATA")), None)
        metadata = BytesParser().parsebytes(archive.read(found) if found else b"")
    required = _required(metadata.get_all("Requires-Dist", ())) if found else None
    name, version = (printable(str(metadata.get(key, ""))) for key in ("Name", "Version"))
    place = place_in_wheel(names).removesuffix(f"/{STORE_FOLDER}/")
    return {"name": name, "version": version, "import_name": place, "requires": required}


def _installed_origin(package: str, folder: Path) -> dict[str, Any]:
    """Return the same of an installed package; nothing of a folder, which comes before what is installed."""
    from importlib.metadata import Distribution  # few packages are installed

    found = None if Path(package).exists() else find_metadata(str(folder))
    if found is None:
        return {}
    owner, place = Distribution.at(found[0]), found[1].removesuffix(f"/{STORE_FOLDER}")
    required = _required(owner.requires or ())
    return {"name": owner.metadata["Name"], "version": owner.version, "import_name": place, "requires": required}


def _required(requirements: Iterable[str]) -> str:
    """Return which versions of this package are required, extras aside; empty if it is not required."""
    pattern = r"hatch[-_.]+cuda[-_.]+kernels\b(?![-_.])\s*(?:\[[^]]*\])?\s*([^;]*)(;.*)?"
    for text in requirements:
        found = re.fullmatch(pattern, text, re.IGNORECASE)
        if found and "extra" not in (found[2] or ""):
            return found[1].strip("() ") or "any version"
    return ""
