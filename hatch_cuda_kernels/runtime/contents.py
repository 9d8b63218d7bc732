"""What is inside a store, as data: the JSON contract of ``inspect``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hatch_cuda_kernels.runtime.reader import StoreReader

__all__ = ["contents"]


def contents(reader: StoreReader) -> dict[str, Any]:
    """Return every module with its kernels, images, toolchain and source digest."""
    modules: dict[str, Any] = {
        index.module: {
            "kernels": {},
            "images": [image.to_json() for image in index.images],
            "toolchain": index.toolchain,
            "source_sha256": index.source_sha256,
        }
        for index in reader.modules()
    }
    for line in reader.lines():
        if not line.key.startswith("&"):
            modules[line.module]["kernels"][line.name] = {"lowered": line.lowered, "params": list(line.params)}
    return {"modules": modules}
