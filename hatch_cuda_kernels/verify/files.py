"""Checks of the store's files: all are there, unchanged, where a build puts them, and no others."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.digest import sha256
from hatch_cuda_kernels.errors import InputError, StoreError
from hatch_cuda_kernels.names import build_order
from hatch_cuda_kernels.problem import Problem
from hatch_cuda_kernels.store import (
    DETAILS_FILE,
    DIGESTS_FILE,
    INDEX_FILE,
    KERNELS_FILE,
    PACK_FILE,
    PROMISES_FILE,
    SOURCE_FOLDER,
    STANDARD_FILE,
    NewImage,
    Stored,
    UnitRecord,
    blocks,
    digests_text,
    read_digests,
    read_shipped,
    recipe_of,
    unpack_whole,
)
from hatch_cuda_kernels.verify.subject import MISSING, REBUILD, Outcome, common_problems

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from hatch_cuda_kernels.store import ModuleIndex
    from hatch_cuda_kernels.verify.subject import StoredImage, Subject


def _place_problems(subject: Subject) -> Iterator[Problem]:
    """Yield a problem for each image that is not where a build puts it, and for anything else in a pack.

    Yields nothing if an image or an index cannot be read: other checks report that.
    """
    if subject.unread or any(image.data is None for image in subject.images):
        return
    places: dict[str, Stored] = {}
    for module in sorted((index.module for index in subject.modules), key=build_order):
        new = _new_images(subject, module, places)
        pack = f"{module}/{PACK_FILE}"
        if any(image.record.stored and image.record.stored.file == pack for image in new.values()):
            yield from _pack_problems(subject, pack, [*new.values()], places)
        else:
            places |= {sha256: Stored(f"{module}/{image.record.file}") for sha256, image in new.items()}
    for image in subject.images:
        own = Stored(f"{image.index.module}/{image.record.file}")
        place = places[image.record.sha256]
        if image.record.stored != (None if place == own else place):
            yield image.problem(f"the index says that it is elsewhere than a build puts it: {place.file}")


def _new_images(subject: Subject, module: str, places: dict[str, Stored]) -> dict[str, StoredImage]:
    """Return the images that no earlier module has, by digest."""
    new: dict[str, StoredImage] = {}
    for image in subject.module_images(module):
        if image.record.sha256 not in places:
            new.setdefault(image.record.sha256, image)
    return new


def _pack_problems(
    subject: Subject, pack: str, images: Sequence[StoredImage], places: dict[str, Stored]
) -> Iterator[Problem]:
    """Note the place of each image of a pack, and yield what else is in the pack."""
    data, at = (subject.reader.folder / pack).read_bytes(), 0
    for block in blocks(NewImage(image.record, image.data or b"") for image in images):
        stored = block[0].record.stored
        size, skip = stored.size if stored else 0, 0
        for record, image in block:
            places[record.sha256] = Stored(pack, at, size, skip)
            skip += len(image)
        if unpack_whole(data[at : at + size], skip) is None:
            yield Problem(f"the block at {at} of {pack} does not hold its images and nothing else", REBUILD)
        at += size
    if at != len(data):
        yield Problem(f"{pack} has {len(data) - at} bytes that belong to no image", REBUILD)


_FILES: Final = (KERNELS_FILE, PROMISES_FILE)


def check_files(subject: Subject) -> Outcome:
    """Check that every file the indexes need is there, and no other file is."""
    folder = subject.reader.folder
    there = {path for path in folder.rglob("*") if not path.is_dir()}
    needed = {folder / name for name in _store_files(subject)}
    problems = [image.problem(_missing_message(image)) for image in subject.images if image.damage == MISSING]
    for index in subject.modules:
        needed |= {folder / index.module / name for name in (INDEX_FILE, DETAILS_FILE)}
        needed |= {subject.reader.image_path(index.module, record) for record in index.images}
        needed |= _sources(subject, index).keys()
    missing = (
        (f"the shipped file {name} is missing", index.module)
        for index in subject.modules
        for path, name in sorted(_sources(subject, index).items())
        if path not in there
    )
    problems += common_problems(missing)
    problems += _stray_files(subject, there - needed)
    problems += _place_problems(subject)
    return Outcome.of(len(there), "files", problems)


def _sources(subject: Subject, index: ModuleIndex) -> dict[Path, str]:
    """Return the files of the store that a module's sources need, with their names."""
    root, folder = subject.reader.source_root(index.module), subject.reader.folder
    return {root / name: name for name in index.files} | (
        {folder / STANDARD_FILE: STANDARD_FILE} if index.standard else {}
    )


def _missing_message(image: StoredImage) -> str:
    stored = image.record.stored
    return f"the file that holds it, {stored.file}, is missing" if stored else "the file is missing"


def _store_files(subject: Subject) -> list[str]:
    editable = any(index.editable is not None for index in subject.modules)
    return [KERNELS_FILE, PROMISES_FILE, DIGESTS_FILE, *([".gitignore"] if editable else [])]


def _stray_files(subject: Subject, paths: set[Path]) -> Iterator[Problem]:
    """Yield a problem for each file that no index lists. An unreadable index may list any file of its module."""
    unread = subject.unread | ({SOURCE_FOLDER} if subject.unread else set())
    modules = {index.module for index in subject.modules}
    for path in sorted(paths):
        parts = path.relative_to(subject.reader.folder).parts
        module = parts[0] if parts[0] in modules else ""
        if len(parts) == 1 or parts[0] not in unread:
            yield Problem(f"no index lists the file {'/'.join(parts)}", "remove it, or build the wheel again", module)


def check_digests(subject: Subject) -> Outcome:
    """Check that every image has the size and the sha256 that its index records."""
    problems = []
    for image in subject.images:
        if image.damage and image.damage != MISSING:
            problems.append(image.problem(image.damage.partition(";")[0]))
        elif image.data is not None and len(image.data) != image.record.bytes:
            message = f"the image has {len(image.data)} bytes, but the index says {image.record.bytes}"
            problems.append(image.problem(message))
    problems += [Problem(message, REBUILD) for message in _digest_problems(subject.reader.folder)]
    return Outcome.of(len(subject.images), "images", problems)


def _digest_problems(folder: Path) -> Iterator[str]:
    """Yield how ``digests.json`` differs from the store's own files."""
    path = folder / DIGESTS_FILE
    there, written = path.read_bytes() if path.is_file() else None, digests_text(folder)
    if there is None:
        yield f"{DIGESTS_FILE} is missing"
    elif there != written.encode():
        recorded, found = _digests_in(there), _digests_in(written)
        for name in sorted(recorded.keys() | found.keys()):
            what = name if name in _FILES else f"{name}/{INDEX_FILE} or {name}/{DETAILS_FILE}"
            if name not in found:
                yield f"{DIGESTS_FILE} lists {name}, which is missing"
            elif recorded.get(name) != found[name]:
                yield f"{what} is not as the build wrote it: {DIGESTS_FILE} has another digest"
        if recorded == found:
            yield f"{DIGESTS_FILE} differs from what a build writes"


def _digests_in(text: bytes | str) -> dict[str, str]:
    """Return the digests by file or module; none if the text is damaged."""
    try:
        return read_digests(json.loads(text))
    except (ValueError, RecursionError):
        return {}


def check_sources(subject: Subject) -> Outcome:
    """Check that every module's shipped source and headers are those its images were compiled from."""
    found = ((message, index.module) for index in subject.modules for message in _source_problems(subject, index))
    count = len({subject.reader.source_root(index.module) / name for index in subject.modules for name in index.files})
    return Outcome.of(count, "shipped sources and headers", [*common_problems(found)])


def _source_problems(subject: Subject, index: ModuleIndex) -> Iterator[str]:
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
