"""Write a store: staged beside its place, put there whole, byte for byte the same from the same inputs."""

from __future__ import annotations

import contextlib
import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from hatch_cuda_kernels.errors import BuildError, InputError
from hatch_cuda_kernels.store.index import INDEX_SCHEMA, KERNELS_FILE
from hatch_cuda_kernels.store.packed_before import packed_before
from hatch_cuda_kernels.store.packing import lay_out
from hatch_cuda_kernels.store.promises.budget import check_store
from hatch_cuda_kernels.store.rendered import render_store
from hatch_cuda_kernels.store.staging import sweep, workspace

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hatch_cuda_kernels.store.built import BuiltModule
    from hatch_cuda_kernels.store.packed_before import Blocks
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
    before: Blocks | None = None,
    schema: int = INDEX_SCHEMA,
) -> None:
    """Replace the folder ``out`` with a store of these modules, or leave it as it was, also where it is that store.

    ``before`` are the packed blocks of the store that is there, where they were read already. An older ``schema`` is
    for comparing a store of it. The store of an editable install is of plain files and any size: it is rewritten often,
    and never shipped. Raises InputError for a folder that is not a store, BuildError when a source is not what was
    compiled any more, the store cannot be written, or it would take more than the wheel may have.
    """
    may_pack = editable is None
    if before is None:
        before = packed_before(out) if may_pack else {}
    laid_out = lay_out(modules, before, may_pack=may_pack)
    try:
        files = render_store(modules, laid_out, root=root, editable=editable, promises=promises, schema=schema)
        if may_pack and promises.max_wheel_size is not None:
            check_store(files, promises.max_wheel_size)
        check_replaceable(out)
        if not _holds(out, files):
            _write(files, out)
    except OSError as error:
        raise BuildError([f"cannot write the store {out}: {error}"]) from error


def _holds(out: Path, files: Mapping[str, bytes]) -> bool:
    """Return whether a folder has these files and nothing else: no other file, no link, no empty folder."""
    found: dict[str, Path] = {}
    try:
        for place, folders, names in os.walk(out):
            inner = [Path(place, name) for name in (*folders, *names)]
            if not inner or any(path.is_symlink() for path in inner):
                return False
            found |= {path.relative_to(out).as_posix(): path for path in inner[len(folders) :]}
        return found.keys() == files.keys() and all(found[name].read_bytes() == data for name, data in files.items())
    except OSError:
        return False


def _write(files: Mapping[str, bytes], out: Path) -> None:
    """Write all files beside ``out``, and put them there whole."""
    out.parent.mkdir(parents=True, exist_ok=True)
    with workspace(out.parent, _prefix(out)) as folder:
        staged = folder / "new"
        staged.mkdir()
        staged.chmod(0o755)
        for place in sorted({os.path.dirname(name) for name in files}):  # noqa: PTH120 - Path takes several times as long
            (staged / place).mkdir(parents=True, exist_ok=True)
        for name, data in files.items():
            (staged / name).write_bytes(data)
        _replace(staged, out, aside=folder / "old")


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
