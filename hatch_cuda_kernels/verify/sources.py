"""The shipped sources: what a compile at run time, and ``--rebuild``, start from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hatch_cuda_kernels.digest import sha256
from hatch_cuda_kernels.errors import InputError, StoreError
from hatch_cuda_kernels.store.index import STANDARD_FILE, UnitRecord
from hatch_cuda_kernels.store.shipped import read_shipped, recipe_of
from hatch_cuda_kernels.verify.model import Outcome
from hatch_cuda_kernels.verify.subject import common_problems

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hatch_cuda_kernels.store.index import ModuleIndex
    from hatch_cuda_kernels.verify.subject import Subject

__all__ = ["check_sources"]


def check_sources(subject: Subject) -> Outcome:
    """Check that every module's shipped source and headers are those its images were compiled from."""
    found = ((message, index.module) for index in subject.modules for message in _differences(subject, index))
    count = len({subject.reader.source_root(index.module) / name for index in subject.modules for name in index.files})
    return Outcome.of(count, "shipped sources and headers", [*common_problems(found)])


def _differences(subject: Subject, index: ModuleIndex) -> Iterator[str]:
    root = subject.reader.source_root(index.module)
    there = {name: root / name for name in index.files if (root / name).is_file()}
    edited = [name for name, path in there.items() if sha256(path.read_bytes()).hexdigest() != index.files[name]]
    standard = subject.reader.folder / STANDARD_FILE
    lost = len(there) < len(index.files) or (index.standard != "" and not standard.is_file())
    if index.standard and standard.is_file() and sha256(standard.read_bytes()).hexdigest() != index.standard:
        edited.append(STANDARD_FILE)
    yield from (f"{name} is not what the images were compiled from" for name in edited)
    if edited or lost:  # the files check reports missing files
        return
    try:
        recipe = recipe_of(index, index.names)
        sources = read_shipped(subject.reader, index, recipe)
        units = recipe.units(sources)
    except (InputError, StoreError) as error:
        yield f"the shipped source cannot be read: {str(error).replace(f' in {root}', '')}"
        return
    found = {
        "files": sources.files,
        "outside": units[0].program.toolkit,
        "units": tuple(
            UnitRecord(unit.source, unit.program.sha256, unit.asked, source.cut.digest)
            for unit, source in zip(units, sources.units, strict=True)
        ),
    }
    wrong = [field for field, value in found.items() if value != getattr(index, field)]
    if wrong:
        yield f"the index does not match the shipped source: {', '.join(wrong)}"
