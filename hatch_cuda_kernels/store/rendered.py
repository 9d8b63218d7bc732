"""What a store holds: the bytes of each of its files, equal for equal inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hatch_cuda_kernels.digest import sha256
from hatch_cuda_kernels.errors import BuildError
from hatch_cuda_kernels.store.index import DETAILS_FILE, INDEX_FILE, KERNELS_FILE, STANDARD_FILE
from hatch_cuda_kernels.store.promises.model import PROMISES_FILE
from hatch_cuda_kernels.store.texts import DIGESTS_FILE, ListedModule, digests_of, json_text, kernels_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from hatch_cuda_kernels.store.built import BuiltModule
    from hatch_cuda_kernels.store.packing import LaidOut
    from hatch_cuda_kernels.store.promises.model import Promises

__all__ = ["render_store"]


def render_store(
    modules: Sequence[BuiltModule],
    laid_out: Sequence[LaidOut],
    *,
    root: Path,
    editable: dict[str, str] | None,
    promises: Promises,
    schema: int,
) -> dict[str, bytes]:
    """Return a store's files by path. ``root`` is the project, whose files it holds as they were compiled.

    Raises BuildError when one of those is another now, and OSError when it cannot be read.
    """
    read = _CompiledFiles(root)
    listed = (ListedModule(built.name, built.kernels, built.globals) for built in modules)
    texts = {KERNELS_FILE: kernels_text(listed), PROMISES_FILE: promises.text(), STANDARD_FILE: _standard(modules)}
    files = {name: text.encode() for name, text in texts.items() if text}
    standard = sha256(files[STANDARD_FILE]).hexdigest() if STANDARD_FILE in files else ""
    for built, laid in zip(modules, laid_out, strict=True):
        files |= {f"{built.name}/{name}": data for name, data in laid.files.items()}
        index = built.index(laid.images, standard=standard, editable=editable)._replace(schema=schema)
        files |= {f"{index.source_folder}/{path}": read(path, digest) for path, digest in index.files.items()}
        files[f"{built.name}/{INDEX_FILE}"] = json_text(index.to_json()).encode()
        files[f"{built.name}/{DETAILS_FILE}"] = json_text(built.details.to_json()).encode()
    files[DIGESTS_FILE] = digests_of([built.name for built in modules], files.get).encode()
    if editable is not None:
        files[".gitignore"] = b"*\n"
    return files


def _standard(modules: Iterable[BuiltModule]) -> str:
    """Return the text of the file with the standard headers of all modules; empty if there are none."""
    texts = {name: built.sources.texts[name] for built in modules for name in built.sources.standard}
    return json_text(texts) if texts else ""


class _CompiledFiles:
    """The project's files as they were compiled, each read once."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._read: dict[tuple[str, str], bytes] = {}

    def __call__(self, path: str, digest: str) -> bytes:
        """Return a file. Raises BuildError where it has not this digest any more."""
        if (path, digest) not in self._read:
            data = (self._root / path).read_bytes()
            if sha256(data).hexdigest() != digest:
                raise BuildError([f"{path} changed while it was built; build again"])
            self._read[path, digest] = data
        return self._read[path, digest]
