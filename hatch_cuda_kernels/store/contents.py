"""What is inside a store: as data, which is the JSON contract of ``inspect``, and as files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from hatch_cuda_kernels.errors import InputError, StoreError
from hatch_cuda_kernels.store.index import KERNELS_FILE
from hatch_cuda_kernels.store.launch_rules.rule import LaunchRule, find_rule
from hatch_cuda_kernels.store.source import ModuleSource

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hatch_cuda_kernels.store.index import ModuleIndex
    from hatch_cuda_kernels.store.reader import KernelLine, StoreReader

__all__ = ["contents", "extract_images"]


def contents(reader: StoreReader) -> dict[str, Any]:
    """Return every module with its kernels, images, toolchain and source digest. Raises StoreError."""
    modules: dict[str, Any] = {
        index.module: {
            "kernels": {},
            "images": list(_images(reader, index)),
            "toolchain": index.toolchain,
            "source_sha256": index.source_sha256,
            **_linked(index),
            **_host_code(reader, index),
        }
        for index in reader.modules()
    }
    for line in reader.lines():
        if line.module not in modules:
            message = f"it lists {line.name} in the module {line.module!r}, which is not there"
            raise StoreError(str(reader.folder / KERNELS_FILE), message)
        if not line.key.startswith("&"):
            kernel = _signature(line) | _rule(reader.module(line.module), line.name)
            modules[line.module]["kernels"][line.name] = kernel
    return {"modules": modules}


def _signature(line: KernelLine) -> dict[str, Any]:
    """Return a kernel's lowered name and parameters; their types and names only where they are known."""
    data: dict[str, Any] = {"lowered": line.lowered, "params": list(line.params)}
    if line.types or not line.params:
        data["types"] = list(line.types)
    if line.names:
        data["names"] = list(line.names)
    return data


def _rule(index: ModuleIndex, kernel: str) -> dict[str, Any]:
    """Return how a kernel is launched without brackets; nothing if the manifest states no rule for it."""
    rule = find_rule(map(LaunchRule.from_json, index.launch), kernel)
    return {"launch": {"names": list(rule.names), "sizes": str(rule)}} if rule else {}


def _linked(index: ModuleIndex) -> dict[str, Any]:
    """Return what the images are linked from; nothing where that is one source."""
    return {"sources": list(index.sources), "libraries": dict(index.libraries)} if index.is_linked else {}


def _host_code(reader: StoreReader, index: ModuleIndex) -> dict[str, Any]:
    """Return what was cut or changed in the sources, and the sentence about it; nothing where nothing was."""
    changes, sentence = ModuleSource(reader, index.module).host_code()
    data: dict[str, Any] = {"changes": [found._asdict() for found in changes]} if changes else {}
    return data | ({"notes": [sentence]} if sentence else {})


def _images(reader: StoreReader, index: ModuleIndex) -> Iterator[dict[str, Any]]:
    details = reader.details(index.module)
    for image in index.images:
        data = image.to_json()
        if image.file in details.resources:
            data["resources"] = details.resources[image.file]
        if image.renames:
            data["lowered"] = details.lowered.get(image.file, {})
        yield data


def extract_images(reader: StoreReader, folder: str | Path) -> list[Path]:
    """Write every image into a folder under the name the index gives it, and return the files written.

    Raises StoreError for an image that cannot be read, InputError if the folder cannot be written.
    """
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
