"""What a wheel's images were made with and from, as a CycloneDX document: the same bytes for the same store.

Standard: CycloneDX 1.6 (ECMA-424). Wheels have such documents in ``.dist-info/sboms`` (PEP 770).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import quote
from uuid import NAMESPACE_URL, uuid5

from hatch_cuda_kernels.compiler.toolchain.packages import distribution
from hatch_cuda_kernels.digest import sha256
from hatch_cuda_kernels.store.index import INDEX_FILE
from hatch_cuda_kernels.store.texts import json_text
from hatch_cuda_kernels.versions import release_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hatch_cuda_kernels.store.index import ModuleIndex
    from hatch_cuda_kernels.store.reader import StoreReader

__all__ = ["SBOM_FILE", "Distribution", "sbom_text"]

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


class Distribution(NamedTuple):
    """The project whose wheel it is, by its normalised name."""

    name: str
    version: str


def sbom_text(reader: StoreReader, project: Distribution, *, made_by: str) -> str:
    """Return the document for a store; ``made_by`` is the version of this package that built it. Raises StoreError."""
    modules, root = reader.modules(), _package(*project)
    own = _package(_OWN, made_by, licenses=[_OWN_LICENCE])
    used = {part["bom-ref"]: part for index in modules for part in _toolchain(index)}
    used |= {own["bom-ref"]: own} if any(index.standard for index in modules) else {}
    parts = [*used.values(), *(_module(reader, index) for index in modules), *_sources(modules)]
    data = {
        "$schema": _SCHEMA,
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": root, "lifecycles": [{"phase": "build"}], "tools": {"components": [own]}},
        "components": sorted(parts, key=lambda part: str(part["bom-ref"])),
        "dependencies": [
            {"ref": root["bom-ref"], "dependsOn": [_module_ref(index) for index in modules]},
            *({"ref": _module_ref(index), "dependsOn": _needs(index, own)} for index in modules),
        ],
    }
    serial = uuid5(NAMESPACE_URL, json_text(data))  # so that it changes with the content, and only then
    return json_text(data | {"serialNumber": f"urn:uuid:{serial}"})


def _package(name: str, version: str, **more: Any) -> dict[str, Any]:
    """Return the component of a Python package, with the package URL that scanners look up."""
    url = f"pkg:pypi/{name}@{quote(version, safe='')}"
    return {"type": "library", "bom-ref": url, "name": name, "version": version, "purl": url, **more}


def _toolchain(index: ModuleIndex) -> Iterator[dict[str, Any]]:
    """Yield the components of what compiled a module: NVRTC, the headers' packages, and what finished the images."""
    found = index.toolchain
    headers = [part.partition(" ") for part in found["headers"].split(", ") if part]
    versions = {name: version for name, version in found.items() if name != "headers"}
    for part, version in (*versions.items(), *((name, version) for name, _, version in headers)):
        yield _part(part, version, release_of(found["nvrtc"])[0])


def _part(part: str, version: str, major: int) -> dict[str, Any]:
    scope = "excluded" if part in _COMPILERS else "required"
    name = distribution(part, major)
    made = _package(name, version, licenses=[_NVIDIA_LICENCE], scope=scope, supplier={"name": "NVIDIA"})
    if not _PACKAGED.fullmatch(version):
        del made["purl"]
    return made


def _module(reader: StoreReader, index: ModuleIndex) -> dict[str, Any]:
    """Return the component of a module, with the digest of its index: that has the digests of the images.

    A component for each image would be 60 bytes of a wheel each, 2 % of one with small kernels.
    """
    digest = sha256((reader.folder / index.module / INDEX_FILE).read_bytes()).hexdigest()
    return {"type": "library", "bom-ref": _module_ref(index), "name": index.module, "hashes": _hashes(digest)}


def _module_ref(index: ModuleIndex) -> str:
    return f"module {index.module}"


def _sources(modules: list[ModuleIndex]) -> list[dict[str, Any]]:
    """Return the components of the files that were compiled, each once."""
    files = {path: digest for index in modules for path, digest in index.files.items()}
    return [
        {"type": "file", "bom-ref": f"source {path}", "name": path, "hashes": _hashes(digest)}
        for path, digest in files.items()
    ]


def _hashes(sha256_digest: str) -> list[dict[str, str]]:
    return [{"alg": "SHA-256", "content": sha256_digest}]


def _needs(index: ModuleIndex, own: dict[str, Any]) -> list[str]:
    """Return what a module's images are made with and from."""
    toolchain = [part["bom-ref"] for part in _toolchain(index)]
    standard = [own["bom-ref"]] if index.standard else []
    return sorted({*toolchain, *standard, *(f"source {path}" for path in index.files)})
