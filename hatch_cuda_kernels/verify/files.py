"""Checks of a store's files: nothing is missing or stray, and every digest is right."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.problem import Problem
from hatch_cuda_kernels.store.index import DETAILS_FILE, INDEX_FILE, KERNELS_FILE, SOURCE_FOLDER, STANDARD_FILE
from hatch_cuda_kernels.store.promises.model import PROMISES_FILE
from hatch_cuda_kernels.store.texts import DIGESTS_FILE, digests_text, read_digests
from hatch_cuda_kernels.verify.model import Outcome
from hatch_cuda_kernels.verify.places import place_problems
from hatch_cuda_kernels.verify.subject import MISSING, REBUILD, common_problems

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from hatch_cuda_kernels.store.index import ModuleIndex
    from hatch_cuda_kernels.verify.subject import StoredImage, Subject

__all__ = ["check_digests", "check_files"]

_FILES: Final = (KERNELS_FILE, PROMISES_FILE)


def check_files(subject: Subject) -> Outcome:
    """Check that every file the indexes need is there, and no other file is."""
    folder = subject.reader.folder
    there = {path for path in folder.rglob("*") if not path.is_dir()}
    needed = {folder / name for name in _own_files(subject)}
    problems = [image.problem(_missing(image)) for image in subject.images if image.damage == MISSING]
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
    problems += _stray(subject, there - needed)
    problems += place_problems(subject)
    return Outcome.of(len(there), "files", problems)


def _sources(subject: Subject, index: ModuleIndex) -> dict[Path, str]:
    """Return what a module's sources need of the store: its files, and what they are called."""
    root, folder = subject.reader.source_root(index.module), subject.reader.folder
    return {root / name: name for name in index.files} | (
        {folder / STANDARD_FILE: STANDARD_FILE} if index.standard else {}
    )


def _missing(image: StoredImage) -> str:
    stored = image.record.stored
    return f"the file that holds it, {stored.file}, is missing" if stored else "the file is missing"


def _own_files(subject: Subject) -> list[str]:
    editable = any(index.editable is not None for index in subject.modules)
    return [KERNELS_FILE, PROMISES_FILE, DIGESTS_FILE, *([".gitignore"] if editable else [])]


def _stray(subject: Subject, paths: set[Path]) -> Iterator[Problem]:
    """Yield a problem for each file that no index lists, unless one that cannot be read may do so."""
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
    problems += [Problem(message, REBUILD) for message in _other_digests(subject.reader.folder)]
    return Outcome.of(len(subject.images), "images", problems)


def _other_digests(folder: Path) -> Iterator[str]:
    """Yield what ``digests.json`` says otherwise of the store's own files."""
    path = folder / DIGESTS_FILE
    there, written = path.read_bytes() if path.is_file() else None, digests_text(folder)
    if there is None:
        yield f"{DIGESTS_FILE} is missing"
    elif there != written.encode():
        recorded, found = _listed(there), _listed(written)
        for name in sorted(recorded.keys() | found.keys()):
            what = name if name in _FILES else f"{name}/{INDEX_FILE} or {name}/{DETAILS_FILE}"
            if name not in found:
                yield f"{DIGESTS_FILE} lists {name}, which is missing"
            elif recorded.get(name) != found[name]:
                yield f"{what} is not as the build wrote it: {DIGESTS_FILE} has another digest"
        if recorded == found:
            yield f"{DIGESTS_FILE} differs from what a build writes"


def _listed(text: bytes | str) -> dict[str, str]:
    """Return the digests by file or module; none if the text is damaged."""
    try:
        return read_digests(json.loads(text))
    except (ValueError, RecursionError):
        return {}
