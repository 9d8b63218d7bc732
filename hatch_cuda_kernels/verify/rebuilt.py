"""The store that the shipped sources give, written again, and each of its files beside the one that was shipped."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.errors import BuildError, InputError
from hatch_cuda_kernels.names import build_order
from hatch_cuda_kernels.problem import Problem
from hatch_cuda_kernels.store.built import BuiltModule
from hatch_cuda_kernels.store.index import SOURCE_FOLDER
from hatch_cuda_kernels.store.launch_rules.rule import LaunchRule
from hatch_cuda_kernels.store.pack import PACK_FILE
from hatch_cuda_kernels.store.shipped import read_shipped, recipe_of
from hatch_cuda_kernels.store.texts import DIGESTS_FILE
from hatch_cuda_kernels.store.writer import write_store

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hatch_cuda_kernels.cache import Entry
    from hatch_cuda_kernels.compiler.toolchain.installed import Toolchain
    from hatch_cuda_kernels.store.index import ModuleIndex
    from hatch_cuda_kernels.verify.subject import Subject

__all__ = ["Rebuilt", "compare_stores"]

_SHIPPED: Final = "shipped"
_REBUILT: Final = "rebuilt"
_PACKED: Final = "; its images are right, so the liblzma here may be another one than the build's"


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """A module that was compiled again."""

    index: ModuleIndex
    entries: tuple[Entry, ...]
    """Its images, in the order of the index."""
    toolchain: Toolchain


def compare_stores(subject: Subject, modules: Sequence[Rebuilt]) -> Iterator[Problem]:
    """Write the store again, from all its modules, and yield each file that is not, byte for byte, the shipped one.

    Raises InputError if the folder to keep both stores in cannot be written.
    """
    keep, shipped = subject.demands.keep, subject.reader.folder
    with ExitStack() as stack:
        folder = keep or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="hatch-cuda-kernels-")))
        try:
            if keep is not None:
                shutil.copytree(shipped, keep / _SHIPPED)
            _write(subject, modules, folder / _REBUILT)
        except BuildError as error:
            yield Problem(f"the store cannot be written again: {error}", _how(subject))
        except OSError as error:
            raise InputError(f"{folder} cannot hold both stores: {error}; name a new folder") from error
        else:
            differing = sorted(_differing(shipped, folder / _REBUILT))
            for name in [name for name in differing if name != DIGESTS_FILE] or differing:
                yield Problem(_message(name), _how(subject), _module(name))


def _write(subject: Subject, modules: Sequence[Rebuilt], out: Path) -> None:
    """Write the store as a build does: from one project, which has the sources of all modules."""
    ordered = sorted(modules, key=lambda module: build_order(module.index.module))
    with tempfile.TemporaryDirectory(prefix="hatch-cuda-kernels-") as project:
        for root in {subject.reader.source_root(module.index.module) for module in ordered}:
            shutil.copytree(root, project, dirs_exist_ok=True)
        built = [_built(subject, module) for module in ordered]
        index = ordered[0].index  # what modules of one store have in common
        promises, editable, schema = subject.promises, index.editable, index.schema
        write_store(out, built, root=Path(project), editable=editable, promises=promises, schema=schema)


def _built(subject: Subject, module: Rebuilt) -> BuiltModule:
    index = module.index
    recipe = recipe_of(index, index.names)
    sources = read_shipped(subject.reader, index, recipe)
    pack = f"{index.module}/{PACK_FILE}"
    packed = any(image.stored and image.stored.file == pack for image in index.images)
    return BuiltModule.of(
        module.entries,
        recipe=recipe,
        toolchain=module.toolchain,
        sources=sources,
        units=recipe.units(sources),
        libraries=recipe.load_libraries(sources),
        front_end=index.front_end,
        packing="solid" if packed else "none",
        patterns=index.patterns,
        launch=tuple(map(LaunchRule.from_json, index.launch)),
        where=index.module,
    )


def _differing(shipped: Path, rebuilt: Path) -> set[str]:
    files = {name: (_bytes(shipped / name), _bytes(rebuilt / name)) for name in {*_files(shipped), *_files(rebuilt)}}
    return {name for name, (one, other) in files.items() if one != other}


def _files(folder: Path) -> Iterator[str]:
    return (path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def _bytes(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None


def _module(name: str) -> str:
    folder, inside, _ = name.partition("/")
    return folder if inside and folder != SOURCE_FOLDER else ""


def _message(name: str) -> str:
    return f"{name} is not what the shipped sources give{_PACKED if name.endswith(PACK_FILE) else ''}"


def _how(subject: Subject) -> str:
    """Return the command that shows the difference."""
    if subject.demands.keep is not None:
        return f"see what differs: diff -r {subject.demands.keep / _SHIPPED} {subject.demands.keep / _REBUILT}"
    package = subject.wheel or subject.reader.label
    return (
        f"see what differs: hatch-cuda-kernels verify {package} --rebuild --keep DIR; diff -r DIR/shipped DIR/rebuilt"
    )
