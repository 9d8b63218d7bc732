"""What no build would write in an index, although its JSON can be read."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.includes import normalize
from hatch_cuda_kernels.options import NvrtcOptions

if TYPE_CHECKING:
    from hatch_cuda_kernels.store.image_record import ImageRecord
    from hatch_cuda_kernels.store.index import ModuleIndex

__all__ = ["WRONG_TYPE", "malformed"]

WRONG_TYPE: Final = "a field has the wrong type"
_FILE: Final = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]*")
_BUILD: Final = re.compile(r"\d+\.\d+\.\d+(?:\+[0-9a-f]+)?")


def malformed(index: ModuleIndex, folder: str) -> str:
    """Return what no build would write in an index, empty if nothing; then the checks can rely on the rest."""
    options = NvrtcOptions.from_canonical(index.options)
    if index.module != folder:
        return f"it belongs to the module {index.module!r}, not to {folder!r}"
    texts = [text for unit in index.units for text in (unit.source, unit.sha256, *unit.asked)]
    texts += [
        *(digest for _, digest in index.libraries),
        *index.toolchain.values(),
        *options.include,
        *options.pre_include,
    ]
    texts += [*index.names, *index.globals, *index.headers, *index.files.values(), *(index.outside or ())]
    for found in index.patterns:
        texts += [found["pattern"], *found["matrix"], *(value for axis in found["matrix"].values() for value in axis)]
    if not all(isinstance(text, str) for text in texts):
        return WRONG_TYPE
    if any(name != normalize("", name) for name in (*index.sources, *dict(index.libraries), *index.files)):
        return "a source's path leads out of the store"
    if not _BUILD.fullmatch(index.toolchain.get("nvrtc", "")):
        return "it does not say which NVRTC compiled the module"
    return next(filter(None, map(_malformed_image, index.images)), "")


def _malformed_image(image: ImageRecord) -> str:
    numbers = [image.bytes, *(number for used in image.resources.values() for number in used.values())]
    if not all(isinstance(text, str) for text in (image.file, image.sha256, *image.lacks)):
        return WRONG_TYPE
    if not _FILE.fullmatch(image.file):
        return f"{image.file!r} is not a file name"
    if image.kind not in {"cubin", "ptx", "ltoir"} or image.arch.virtual == (image.kind == "cubin"):
        return f"{image.file}: a {image.kind} image cannot be for {image.arch}"
    if not all(isinstance(number, int) and number >= 0 for number in numbers):
        return f"{image.file}: a number is negative, or not a whole number"
    return _malformed_place(image)


def _malformed_place(image: ImageRecord) -> str:
    stored = image.stored
    if stored is None:
        return ""
    numbers = (stored.at, stored.size, stored.skip)
    if not isinstance(stored.file, str) or not all(isinstance(number, int) and number >= 0 for number in numbers):
        return WRONG_TYPE
    parts = stored.file.split("/")
    if len(parts) != len(("module", "file")) or not all(map(_FILE.fullmatch, parts)):
        return f"{image.file}: {stored.file!r} is not a file of the store"
    return ""
