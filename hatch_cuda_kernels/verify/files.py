"""Checks of a store's files: the indexes agree, nothing is missing or stray, and every digest is right."""

from __future__ import annotations

import csv
import io
import os
import zipfile
from collections import Counter
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

from hatch_cuda_kernels.compiler.toolchain.contents import record_digest
from hatch_cuda_kernels.digest import sha256
from hatch_cuda_kernels.names import normalize_name
from hatch_cuda_kernels.problem import Problem
from hatch_cuda_kernels.store.index import DETAILS_FILE, INDEX_FILE, KERNELS_FILE, STANDARD_FILE, STORE_FOLDER
from hatch_cuda_kernels.store.promises.model import PROMISES_FILE
from hatch_cuda_kernels.verify.model import Outcome
from hatch_cuda_kernels.verify.subject import MISSING, REBUILD

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hatch_cuda_kernels.store.index import ModuleIndex
    from hatch_cuda_kernels.verify.subject import StoredImage, Subject

__all__ = ["check_digests", "check_files", "check_index", "check_record"]


def check_index(subject: Subject) -> Outcome:
    """Check that every index and ``kernels.tsv`` can be read, that they agree, and that look-ups find every line."""
    problems = [*subject.damage, *_table_problems(subject)]
    for index in subject.modules:
        problems += [Problem(message, REBUILD, index.module) for message in _disagreements(subject, index)]
    problems += [
        Problem(f"{PROMISES_FILE} limits the spills of {name!r}, which is not a module", REBUILD)
        for name in sorted(subject.promises.max_spill_bytes.keys() - _known_modules(subject))
    ]
    return Outcome.of(len(subject.modules), "modules", problems)


def _known_modules(subject: Subject) -> set[str]:
    """Return the names of all modules, those with a damaged index included."""
    return {index.module for index in subject.modules} | {damage.where for damage in subject.damage}


def _table_problems(subject: Subject) -> Iterator[Problem]:
    known = _known_modules(subject)
    keys = [f"{line.key}\t{line.module}\t".encode() for line in subject.lines]
    if keys != sorted(keys):
        yield Problem(f"{KERNELS_FILE} is not sorted: look-ups would miss kernels", REBUILD)
    for key, count in Counter(keys).items():
        if count > 1:
            name, module, _ = key.decode().split("\t")
            yield Problem(f"{KERNELS_FILE} lists {name!r} {count} times", REBUILD, module)
    for module, count in Counter(line.module for line in subject.lines).items():
        if module not in known:
            yield Problem(f"{KERNELS_FILE} lists {count} names, but there is no {INDEX_FILE}", REBUILD, module)
    for line in subject.lines:
        if line.key.removeprefix("&") != normalize_name(line.name):
            yield Problem(f"{KERNELS_FILE} lists {line.name!r} under the wrong key, {line.key!r}", REBUILD, line.module)


def _disagreements(subject: Subject, index: ModuleIndex) -> Iterator[str]:
    listed = {line.key for line in subject.module_lines(index.module)}
    wanted = [normalize_name(name) for name in index.names]
    wanted += [f"&{normalize_name(name)}" for name in index.globals]
    yield from (f"{KERNELS_FILE} does not list {name!r}, but the index does" for name in wanted if name not in listed)
    if not any(not key.startswith("&") for key in listed):
        yield f"{KERNELS_FILE} lists no kernel"
    if not index.images:
        yield "the index lists no image"
    twice = Counter((str(image.arch), image.kind) for image in index.images)
    yield from (
        f"the index lists the {arch} {kind} {count} times" for (arch, kind), count in twice.items() if count > 1
    )


def check_files(subject: Subject) -> Outcome:
    """Check that every file the indexes need is there, and no other file is."""
    folder = subject.reader.folder
    there = {path for path in folder.rglob("*") if not path.is_dir()}
    needed = {folder / name for name in _own_files(subject)}
    problems = [image.problem(_missing(image)) for image in subject.images if image.damage == MISSING]
    for index in subject.modules:
        needed |= {folder / index.module / name for name in (INDEX_FILE, DETAILS_FILE)}
        needed |= {subject.reader.image_path(index.module, record) for record in index.images}
        sources = {subject.reader.source_root(index.module) / name: name for name in index.files}
        sources |= {folder / STANDARD_FILE: STANDARD_FILE} if index.standard else {}
        needed |= sources.keys()
        missing = sorted(sources[path] for path in sources.keys() - there)
        problems += [Problem(f"the shipped file {name} is missing", REBUILD, index.module) for name in missing]
    problems += _stray(subject, there - needed)
    return Outcome.of(len(there), "files", problems)


def _missing(image: StoredImage) -> str:
    stored = image.record.stored
    return f"the file that holds it, {stored.file}, is missing" if stored else "the file is missing"


def _own_files(subject: Subject) -> list[str]:
    editable = any(index.editable is not None for index in subject.modules)
    return [KERNELS_FILE, PROMISES_FILE, *([".gitignore"] if editable else [])]


def _stray(subject: Subject, paths: set[Path]) -> Iterator[Problem]:
    """Yield a problem for each file that no index lists, except in modules whose index cannot be read."""
    unread = {damage.where for damage in subject.damage}
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
    return Outcome.of(len(subject.images), "images", problems)


class _RecordFile(NamedTuple):
    """A wheel's RECORD: digest and size by path, and the path prefix of the store's files."""

    rows: dict[str, tuple[str, str]]
    prefix: str


def check_record(subject: Subject) -> Outcome:
    """Check that RECORD, of the wheel or the installed distribution, lists the store's files with their digests."""
    record = _wheel_record(subject) if subject.wheel else _installed_record(subject.reader.folder)
    if record is None and subject.wheel is None:
        return Outcome.skip("a folder has no RECORD")
    if record is None:
        fix = "build the wheel with a build tool: installers refuse a wheel without RECORD"
        return Outcome.of(0, "files", [Problem("the wheel has no RECORD", fix)])
    listed = {path: row for path, row in record.rows.items() if path.startswith(record.prefix)}
    there = {_posix(record.prefix, path, subject.reader.folder): path for path in _files_of(subject.reader.folder)}
    problems = [
        Problem(f"RECORD lists {path}, which is not there", REBUILD) for path in sorted(listed.keys() - there.keys())
    ]
    problems += [
        Problem(f"{path} {wrong}", REBUILD)
        for path, file in sorted(there.items())
        if (wrong := _row_difference(listed.get(path), file.read_bytes()))
    ]
    return Outcome.of(len(there), "files", problems)


def _row_difference(row: tuple[str, str] | None, data: bytes) -> str:
    if row is None:
        return "is not in RECORD"
    if row == (f"sha256={record_digest(sha256(data).digest())}", str(len(data))):
        return ""
    return "does not have the size and digest that RECORD lists"


def _files_of(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def _posix(prefix: str, path: Path, folder: Path) -> str:
    return prefix + path.relative_to(folder).as_posix()


def _wheel_record(subject: Subject) -> _RecordFile | None:
    with zipfile.ZipFile(os.fspath(subject.wheel or "")) as archive:
        names = archive.namelist()
        found = [name for name in names if name.endswith(".dist-info/RECORD") and name.count("/") == 1]
        if not found:
            return None
        listing = next(name for name in names if name.endswith(f"/{STORE_FOLDER}/{KERNELS_FILE}"))
        return _RecordFile(_rows(archive.read(found[0]).decode()), listing.removesuffix(KERNELS_FILE))


def _installed_record(folder: Path) -> _RecordFile | None:
    """Return the RECORD beside the store's package that lists the store."""
    for site in folder.parents:
        records = sorted(site.glob("*.dist-info/RECORD"))
        prefix = f"{PurePosixPath(*folder.relative_to(site).parts)}/"
        for path in records:
            text = path.read_text(encoding="utf-8", errors="replace")
            if f"{prefix}{KERNELS_FILE}," in text:
                return _RecordFile(_rows(text), prefix)
        if records:
            break
    return None


def _rows(text: str) -> dict[str, tuple[str, str]]:
    rows = (row for row in csv.reader(io.StringIO(text)) if len(row) == 3)
    return {path: (digest, size) for path, digest, size in rows}
