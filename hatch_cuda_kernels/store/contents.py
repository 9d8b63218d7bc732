"""What is inside a store: its files, the data of ``inspect``, and a bill of materials.

The bill is a CycloneDX 1.6 document (ECMA-424): what the images were made with and from, the same bytes for the same
store. Wheels keep such documents in ``.dist-info/sboms`` (PEP 770).
"""

from __future__ import annotations

import re
import tempfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote
from uuid import NAMESPACE_URL, uuid5

from hatch_cuda_kernels.arch import release_of
from hatch_cuda_kernels.compiler.toolchain import PackageRecord, distribution
from hatch_cuda_kernels.errors import InputError, StoreError
from hatch_cuda_kernels.integrity import sha256
from hatch_cuda_kernels.store.index import INDEX_FILE, KERNELS_FILE, STORE_FOLDER, KernelLine, ModuleIndex
from hatch_cuda_kernels.store.reader import StoreReader, find_store
from hatch_cuda_kernels.store.source import ModuleSource
from hatch_cuda_kernels.store.texts import json_text
from hatch_cuda_kernels.terminal import printable

#: What reading a member of a damaged wheel raises.
UNREADABLE: Final = (OSError, EOFError, RuntimeError, ValueError, zipfile.BadZipFile, zlib.error)
_MODULES: Final = (".py", ".pyc", ".pyd", ".so")
_METHODS: Final = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
#: PyPI refuses what unpacks to more bytes than this, and to so many times its size.
_MUCH: Final = 64 << 20
_MANY_TIMES: Final = 50


@contextmanager
def open_package(package: str) -> Iterator[StoreReader]:
    """Yield the reader of a package's store; a wheel is unpacked meanwhile. Raises InputError, also for StoreErrors."""
    try:
        if package.endswith(".whl"):
            with tempfile.TemporaryDirectory(prefix="hatch-cuda-kernels-") as folder:
                yield StoreReader(_unpack(Path(package), Path(folder)), package)
        else:
            yield StoreReader(_find(package), package)
    except StoreError as error:
        raise InputError(printable(str(error))) from error


def _find(package: str) -> Path:
    named = Path(package)
    try:
        if any((folder / KERNELS_FILE).is_file() for folder in (named, named / STORE_FOLDER)):
            return find_store(named)
        return find_store(package)
    except StoreError:
        if named.is_dir():
            return find_store(named)
        raise
    except OSError as error:  # a name that is too long, a folder that may not be read
        raise StoreError(package, f"cannot be read: {error.strerror}") from error


def _unpack(wheel: Path, folder: Path) -> Path:
    try:
        if wheel.exists() and not wheel.is_file():  # to open a pipe is to wait
            raise zipfile.BadZipFile("it is not a regular file")
        with zipfile.ZipFile(wheel) as archive:
            names = [name for name in archive.namelist() if f"/{STORE_FOLDER}/" in name]
            for name in names:
                _check_member(archive, name)
            archive.extractall(folder, names)
    except UNREADABLE as error:
        problem = "there is no such file" if isinstance(error, FileNotFoundError) else f"not a wheel: {error}"
        raise StoreError(str(wheel), problem) from error
    place = place_in_wheel(names)
    if not place:
        raise StoreError(str(wheel), "the wheel has no kernel store")
    return folder / place


def place_in_wheel(names: Iterable[str]) -> str:
    """Return the folder of the store among a wheel's members, with the slash that follows it; empty without a store."""
    listing = next((name for name in names if name.endswith(f"/{STORE_FOLDER}/{KERNELS_FILE}")), "")
    return listing.removesuffix(KERNELS_FILE)


def modules_of(folder: str, names: Iterable[str]) -> list[str]:
    """Return which files of a wheel are Python modules below a folder; no store has any."""
    below = f"{folder}/" if folder else ""
    inside = (name for name in names if name.startswith(below) and name.endswith(_MODULES))
    return [name for name in inside if f"/{STORE_FOLDER}/" not in name]


def read_member(archive: zipfile.ZipFile, name: str) -> bytes:
    """Return a member of a wheel, whole. Raises one of UNREADABLE if it is damaged, or packed as no wheel is."""
    _check_member(archive, name)
    return archive.read(name)


def is_bomb(size: int, packed: int) -> bool:
    """Return whether nothing but a decompression bomb unpacks to so many bytes."""
    return size > max(_MUCH, _MANY_TIMES * packed)


def _check_member(archive: zipfile.ZipFile, name: str) -> None:
    found = archive.getinfo(name)
    if found.compress_type not in _METHODS:
        raise zipfile.BadZipFile(f"{name} is neither stored nor deflated")
    if is_bomb(found.file_size, found.compress_size):
        raise zipfile.BadZipFile(f"{name} unpacks to {found.file_size:,} bytes, and is a decompression bomb")


SBOM_FILE: Final = "cuda-kernels.cdx.json"
_SCHEMA: Final = "http://cyclonedx.org/schema/bom-1.6.schema.json"
_OWN: Final = "hatch-cuda-kernels"
_OWN_LICENCE: Final = {"expression": "Apache-2.0"}
#: As the metadata of NVIDIA's packages has it.
_NVIDIA_LICENCE: Final = {"license": {"name": "NVIDIA Proprietary Software"}}
#: Parts of a toolchain that are programs, or libraries that only compile: a process that uses the images needs none.
_COMPILERS: Final = frozenset({"nvrtc", "nvjitlink", "ptxas"})
#: A version that a package has. Others end in a digest: that file is not, or no longer, as a package brought it.
_PACKAGED: Final = re.compile(r"[0-9.]+")


def list_contents(reader: StoreReader) -> dict[str, Any]:
    """Return every module with its kernels, images, toolchain and source digest. Raises StoreError."""
    modules = {index.module: _contents_of(reader, index) for index in reader.modules()}
    for line in reader.lines():
        if line.module not in modules:
            message = f"it lists {line.name} in the module {line.module!r}, which is not there"
            raise StoreError(str(reader.folder / KERNELS_FILE), message)
        if not line.is_variable:
            rule = reader.module(line.module).launch_rule(line.name)
            launch = {"launch": {"names": list(rule.names), "sizes": str(rule)}} if rule else {}
            modules[line.module]["kernels"][line.name] = _signature(line) | launch
    return {"modules": modules}


def _contents_of(reader: StoreReader, index: ModuleIndex) -> dict[str, Any]:
    details, images = reader.details(index.module), []
    for image in index.images:
        shown = image.to_json()
        shown |= {"resources": details.resources[image.file]} if image.file in details.resources else {}
        images.append(shown | ({"lowered": details.lowered.get(image.file, {})} if image.renames else {}))
    changes, sentence = ModuleSource(reader, index.module).host_code()
    data = {"kernels": {}, "images": images, "toolchain": index.toolchain, "source_sha256": index.source_sha256}
    data |= {"sources": list(index.sources), "libraries": dict(index.libraries)} if index.is_linked else {}
    data |= {"family": index.family, "axes": index.axes} if index.family else {}
    data |= {"packages": list(index.packages)} if index.packages else {}
    data |= {"changes": [found._asdict() for found in changes]} if changes else {}
    return data | ({"notes": [sentence]} if sentence else {})


def _signature(line: KernelLine) -> dict[str, Any]:
    data: dict[str, Any] = {"lowered": line.lowered, "params": list(line.params)}
    if line.types or not line.params:
        data["types"] = list(line.types)
    if line.names:
        data["names"] = list(line.names)
    return data


def extract_images(reader: StoreReader, folder: str | Path) -> list[Path]:
    """Write all images into a folder, and return their paths. Raises StoreError, or InputError for the folder."""
    folder, written = Path(folder), []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for index in reader.modules():
            for image in index.images:
                path = folder / image.file
                path.write_bytes(reader.read_image(index.module, image))
                written.append(path)
    except OSError as error:
        raise InputError(f"{folder} cannot be written: {error.strerror}") from error
    return written


def sbom_text(reader: StoreReader, project: str, version: str, *, made_by: str) -> str:
    """Return the document for a store of a project, by its normalised name. Raises StoreError.

    ``made_by`` is the version of this package that built it.
    """
    root, own = _package(project, version), _package(_OWN, made_by, licenses=[_OWN_LICENCE])
    parts: dict[str, dict[str, Any]] = {}
    needs: dict[str, list[str]] = {}
    for index in reader.modules():
        used = {part["bom-ref"]: part for part in _toolchain(index)}
        used |= {own["bom-ref"]: own} if index.standard else {}
        used |= {part["bom-ref"]: part for part in map(_headers_of, map(PackageRecord.from_json, index.packages))}
        family = reader.details(index.module).family
        shipped = index.files | (family.files if family else {})
        used |= {f"source {path}": _component("file", "source", path, digest) for path, digest in shipped.items()}
        # The index has the digests of the images; a component for each would be 2 % of a wheel of small kernels.
        digest = sha256((reader.folder / index.module / INDEX_FILE).read_bytes()).hexdigest()
        parts |= used | {f"module {index.module}": _component("library", "module", index.module, digest)}
        needs[f"module {index.module}"] = sorted(used)
    data = {
        "$schema": _SCHEMA,
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": root, "lifecycles": [{"phase": "build"}], "tools": {"components": [own]}},
        "components": [parts[ref] for ref in sorted(parts)],
        "dependencies": [
            {"ref": root["bom-ref"], "dependsOn": list(needs)},
            *({"ref": ref, "dependsOn": refs} for ref, refs in needs.items()),
        ],
    }
    serial = uuid5(NAMESPACE_URL, json_text(data))  # so that it changes with the content, and only then
    return json_text(data | {"serialNumber": f"urn:uuid:{serial}"})


def _component(kind: str, what: str, name: str, digest: str) -> dict[str, Any]:
    hashes = [{"alg": "SHA-256", "content": digest}]
    return {"type": kind, "bom-ref": f"{what} {name}", "name": name, "hashes": hashes}


def _package(name: str, version: str, **more: Any) -> dict[str, Any]:
    """Return the component of a Python package, with the package URL that scanners look up."""
    url = f"pkg:pypi/{name}@{quote(version, safe='')}"
    return {"type": "library", "bom-ref": url, "name": name, "version": version, "purl": url, **more}


def _headers_of(record: PackageRecord) -> dict[str, Any]:
    """Return the component of a distribution whose headers are shipped, with its licence and the files that have it."""
    licence = {"expression": record.license} if record.is_spdx else {"license": {"name": record.license}}
    facts: dict[str, Any] = {"licenses": [licence]} if record.license else {}
    names = [{"name": f"{_OWN}:license-file", "value": name} for name in record.license_files]
    facts |= {"properties": names} if names else {}
    if not record.distribution:
        return {"type": "library", "bom-ref": f"package {record.package}", "name": record.package, **facts}
    made = _package(record.distribution, record.version, **facts)
    if record.altered:
        del made["purl"]
    return made


def _toolchain(index: ModuleIndex) -> Iterator[dict[str, Any]]:
    """Yield the components of what compiled a module: NVRTC, the headers' packages, and what finished the images."""
    found, major = index.toolchain, release_of(index.toolchain["nvrtc"])[0]
    headers = [part.partition(" ")[::2] for part in found["headers"].split(", ") if part]
    for part, version in (*((name, version) for name, version in found.items() if name != "headers"), *headers):
        scope = "excluded" if part in _COMPILERS else "required"
        facts = {"licenses": [_NVIDIA_LICENCE], "scope": scope, "supplier": {"name": "NVIDIA"}}
        made = _package(distribution(part, major), version, **facts)
        if not _PACKAGED.fullmatch(version):
            del made["purl"]
        yield made
