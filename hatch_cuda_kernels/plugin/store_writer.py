"""Write a store: staged beside its place, put there whole, byte for byte the same from the same inputs."""

from __future__ import annotations

import contextlib
import json
from functools import partial
from typing import TYPE_CHECKING, Any

from hatch_cuda_kernels.compiler.names import normalize_name
from hatch_cuda_kernels.digest import sha256
from hatch_cuda_kernels.errors import BuildError, InputError
from hatch_cuda_kernels.image import INDEX_FILE, KERNELS_FILE, SOURCE_FOLDER, ModuleIndex
from hatch_cuda_kernels.plugin.promises import PROMISES_FILE
from hatch_cuda_kernels.plugin.staging import sweep, workspace

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from hatch_cuda_kernels.image import Symbol
    from hatch_cuda_kernels.plugin.built import BuiltModule
    from hatch_cuda_kernels.plugin.promises import Promises

__all__ = ["check_replaceable", "clear_leftovers", "write_store"]


def check_replaceable(folder: Path) -> None:
    """Raise InputError unless a folder is a store, empty, or not there: nobody's own files may be replaced."""
    try:
        free = not folder.exists() or (folder / KERNELS_FILE).is_file() or not any(folder.iterdir())
    except OSError as error:  # not a folder, or a closed one
        raise InputError(f"{folder} cannot hold a kernel store: {error.strerror}") from error
    if not free:
        raise InputError(
            f"{folder} is not a kernel store: it has files, but no {KERNELS_FILE}, and they would be lost; move them "
            "away or choose another folder"
        )


def clear_leftovers(out: Path) -> None:
    """Remove what builds into ``out`` left that were killed, and put the store back that one had moved aside."""
    with contextlib.suppress(OSError):  # then the build itself will say what is wrong there
        sweep(out.parent, _prefix(out), rescue=partial(_restore, out))


def write_store(
    out: Path,
    modules: Sequence[BuiltModule],
    *,
    root: Path,
    editable: dict[str, str] | None,
    promises: Promises,
) -> None:
    """Replace the folder ``out`` with a store of these modules, or leave it as it was.

    Raises InputError for a folder that is not a store, BuildError when a source is not what was compiled any more or
    the store cannot be written.
    """
    sources = _Sources(root)
    try:
        check_replaceable(out)
        out.parent.mkdir(parents=True, exist_ok=True)
        with workspace(out.parent, _prefix(out)) as folder:
            staged = folder / "new"
            staged.mkdir()
            staged.chmod(0o755)
            _write_kernels(staged / KERNELS_FILE, modules)
            if text := promises.text():
                (staged / PROMISES_FILE).write_text(text, encoding="utf-8")
            for built in modules:
                _write_module(staged / built.planned.module.name, built, sources, editable)
            if editable is not None:
                (staged / ".gitignore").write_text("*\n", encoding="utf-8")
            _replace(staged, out, aside=folder / "old")
    except OSError as error:
        raise BuildError([f"cannot write the store {out}: {error}"]) from error


def _replace(staged: Path, out: Path, *, aside: Path) -> None:
    """Put the staged folder in place. A folder cannot be renamed over another, so the old one steps aside first."""
    if not out.exists():
        staged.rename(out)
        return
    out.rename(aside)
    try:
        staged.rename(out)
    except BaseException:
        aside.rename(out)
        raise


def _prefix(out: Path) -> str:
    return f".{out.name}."


def _restore(out: Path, folder: Path) -> None:
    """Put back the store of a process that was killed between the two renames."""
    if (folder / "old").is_dir() and not out.exists():
        (folder / "old").rename(out)


class _Sources:
    """The project's files as they were compiled, each read once."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._read: dict[tuple[str, str], bytes] = {}

    def read(self, path: str, digest: str) -> bytes:
        """Return a file's bytes. Raises BuildError when they are not those that the digest is of."""
        known = self._read.get((path, digest))
        if known is None:
            known = (self._root / path).read_bytes()
            if sha256(known).hexdigest() != digest:
                raise BuildError([f"{path} changed while it was built; build again"])
            self._read[path, digest] = known
        return known


def _write_kernels(path: Path, modules: Iterable[BuiltModule]) -> None:
    lines = [
        "\t".join((key, built.planned.module.name, symbol.lowered, ",".join(symbol.params), symbol.name))
        for built in modules
        for key, symbol in _named_symbols(built)
    ]
    path.write_text("".join(f"{line}\n" for line in sorted(lines, key=str.encode)), encoding="utf-8")


def _named_symbols(built: BuiltModule) -> Iterable[tuple[str, Symbol]]:
    for symbol in built.kernels:
        yield normalize_name(symbol.name), symbol
    for symbol in built.globals:
        yield f"&{normalize_name(symbol.name)}", symbol


def _write_module(folder: Path, built: BuiltModule, sources: _Sources, editable: dict[str, str] | None) -> None:
    folder.mkdir()
    for entry, record in zip(built.entries, built.images, strict=True):
        (folder / record.file).write_bytes(entry.image)
    for path, digest in built.planned.closure.files:
        target = folder / SOURCE_FOLDER / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(sources.read(path, digest))
    text = json.dumps(_index(built, editable).to_json(), indent=1, sort_keys=True)
    (folder / INDEX_FILE).write_text(f"{text}\n", encoding="utf-8")


def _index(built: BuiltModule, editable: dict[str, str] | None) -> ModuleIndex:
    module, job = built.planned.module, built.planned.jobs[0]
    return ModuleIndex(
        module=module.name,
        source=module.source,
        source_sha256=job.source_sha256,
        files=dict(built.planned.closure.files),
        outside=job.outside if job.uses_toolkit_headers else None,
        headers=module.headers,
        options=module.options.canonical(),
        names=job.names,
        globals=job.globals,
        patterns=tuple(_pattern(pattern) for pattern in module.patterns),
        toolchain=built.entries[0].toolchain,
        images=built.images,
        front_end=module.front_end,
        editable=editable,
    )


def _pattern(pattern: Any) -> dict[str, Any]:  # noqa: ANN401 - manifest.Pattern
    return {"pattern": pattern.text, "matrix": {name: list(values) for name, values in pattern.matrix}}
