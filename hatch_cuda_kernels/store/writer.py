"""Write a store: staged beside its place, put there whole, byte for byte the same from the same inputs."""

from __future__ import annotations

import contextlib
from functools import partial
from typing import TYPE_CHECKING

from hatch_cuda_kernels.digest import sha256
from hatch_cuda_kernels.errors import BuildError, InputError
from hatch_cuda_kernels.store.index import DETAILS_FILE, INDEX_FILE, KERNELS_FILE, SOURCE_FOLDER, STANDARD_FILE
from hatch_cuda_kernels.store.packed_before import packed_before
from hatch_cuda_kernels.store.packing import lay_out
from hatch_cuda_kernels.store.promises.budget import check_store
from hatch_cuda_kernels.store.promises.model import PROMISES_FILE
from hatch_cuda_kernels.store.staging import sweep, workspace
from hatch_cuda_kernels.store.texts import DIGESTS_FILE, ListedModule, digests_text, json_text, kernels_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from hatch_cuda_kernels.store.built import BuiltModule
    from hatch_cuda_kernels.store.promises.model import Promises

__all__ = ["check_replaceable", "prepare_place", "write_store"]


def check_replaceable(folder: Path) -> None:
    """Raise InputError unless a folder is a store, empty, or not there: nobody's own files may be replaced."""
    try:
        free = not folder.exists() or (folder / KERNELS_FILE).is_file() or not any(folder.iterdir())
    except OSError as error:  # not a folder, or a closed one
        raise InputError(f"{folder} cannot hold a kernel store: {error.strerror}") from error
    if not free:
        raise InputError(
            f"{folder} is not a kernel store: it has files, but no {KERNELS_FILE}, and they would be lost; move them "
            "or choose another folder"
        )


def prepare_place(out: Path) -> None:
    """Remove what killed builds left beside ``out``, and put back a store that one of them had moved aside.

    Raises InputError as ``check_replaceable`` does.
    """
    with contextlib.suppress(OSError):  # then the build itself will say what is wrong there
        sweep(out.parent, _prefix(out), rescue=partial(_restore, out))
    check_replaceable(out)


def write_store(
    out: Path,
    modules: Sequence[BuiltModule],
    *,
    root: Path,
    editable: dict[str, str] | None,
    promises: Promises,
) -> None:
    """Replace the folder ``out`` with a store of these modules, or leave it as it was.

    The store of an editable install is of plain files and any size: it is rewritten often, and never shipped. Raises
    InputError for a folder that is not a store, BuildError when a source is not what was compiled any more, the store
    cannot be written, or it would take more than the wheel may have.
    """
    may_pack = editable is None
    laid_out = lay_out(modules, packed_before(out) if may_pack else {}, may_pack=may_pack)
    try:
        check_replaceable(out)
        out.parent.mkdir(parents=True, exist_ok=True)
        with workspace(out.parent, _prefix(out)) as folder:
            staged = folder / "new"
            staged.mkdir()
            staged.chmod(0o755)
            listed = (ListedModule(built.name, built.kernels, built.globals) for built in modules)
            _write_text(staged / KERNELS_FILE, kernels_text(listed))
            if text := promises.text():
                _write_text(staged / PROMISES_FILE, text)
            standard = _write_standard(staged / STANDARD_FILE, modules)
            _write_sources(staged / SOURCE_FOLDER, modules, root)
            for built, laid in zip(modules, laid_out, strict=True):
                module = staged / built.name
                _write_module(module, laid.files)
                index = built.index(laid.images, standard=standard, editable=editable)
                _write_text(module / INDEX_FILE, json_text(index.to_json()))
                _write_text(module / DETAILS_FILE, json_text(built.details.to_json()))
            _write_text(staged / DIGESTS_FILE, digests_text(staged))
            if editable is not None:
                _write_text(staged / ".gitignore", "*\n")
            elif promises.max_wheel_size is not None:
                check_store(staged, promises.max_wheel_size)
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


def _write_module(folder: Path, images: dict[str, bytes]) -> None:
    folder.mkdir()
    for name, data in images.items():
        (folder / name).write_bytes(data)


def _write_sources(folder: Path, modules: Iterable[BuiltModule], root: Path) -> None:
    """Write the project's files as they were compiled, each once. Raises BuildError where one is another now."""
    compiled = {(path, digest) for built in modules for path, digest in built.sources.files.items()}
    for path, digest in sorted(compiled):
        data = (root / path).read_bytes()
        if sha256(data).hexdigest() != digest:
            raise BuildError([f"{path} changed while it was built; build again"])
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)


def _write_standard(path: Path, modules: Iterable[BuiltModule]) -> str:
    """Write the standard headers of all modules, if any, and return the file's digest."""
    texts = {name: built.sources.texts[name] for built in modules for name in built.sources.standard}
    if not texts:
        return ""
    _write_text(path, json_text(texts))
    return sha256(path.read_bytes()).hexdigest()


def _write_text(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")
