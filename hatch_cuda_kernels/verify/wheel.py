"""Checks of the file around the store: every installer finds the same members, and RECORD and the SBOM are true."""

from __future__ import annotations

import json
import mmap
import re
import stat
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from email.parser import BytesParser
from itertools import product
from pathlib import Path, PurePosixPath
from typing import Any, Final, NamedTuple

from hatch_cuda_kernels import store
from hatch_cuda_kernels.compiler.toolchain import record_digest
from hatch_cuda_kernels.errors import Problem
from hatch_cuda_kernels.integrity import check_shape, sha256
from hatch_cuda_kernels.terminal import list_text
from hatch_cuda_kernels.verify.subject import REBUILD, Outcome, Subject, WheelRecord, grouped

#: What a row of the directory and a local header share, and where it begins in each.
_FACTS: Final = struct.Struct("<5H3L2H")
_FACTS_IN_ROW, _FACTS_IN_HEADER = 6, 4
#: What follows it in a row.
_ROW_END: Final = struct.Struct("<3H2L")
_END: Final = struct.Struct("<4s4H2LH")
_END64: Final = struct.Struct("<4sQ2H2L4Q")
_LOCATOR: Final = struct.Struct("<4sLQL")
_HEADER_MARK, _ROW_MARK, _END_MARK = b"PK\3\4", b"PK\1\2", b"PK\5\6"
_END64_MARK, _LOCATOR_MARK = b"PK\6\6", b"PK\6\7"
#: In place of a number that a ZIP64 field has.
_LONG, _SHORT = (1 << 32) - 1, (1 << 16) - 1
_ZIP64, _OTHER_NAME = 0x0001, 0x7075
_STORED, _DEFLATED = 0, 8
_STREAMED: Final = 0x0008
_UTF_8: Final = 0x0800
#: How much a deflater tried, and that a name is UTF-8.
_FLAGS: Final = 0x0006 | _UTF_8
#: The version of APPNOTE that has ZIP64, and nothing that is newer.
_NEWEST: Final = 45
_DOS_FOLDER: Final = 0x10
_PERMISSIONS: Final = 0o777
_PIECE: Final = 1 << 16


class _Member(NamedTuple):
    """What the directory or a local header says about a member; what only the directory says is last."""

    name: bytes
    flags: int
    method: int
    time: int
    date: int
    crc: int
    packed: int
    size: int
    needed: int
    extra: bytes
    end: int
    """Where in the file the entry ends."""
    offset: int = 0
    """Of its local header."""
    disk: int = 0
    attributes: int = 0
    comment: int = 0
    """How long its comment is."""

    def differences(self, other: _Member) -> list[str]:
        shared = self._fields[: self._fields.index("needed")]
        return [field for field in shared if getattr(self, field) != getattr(other, field)]

    @property
    def text(self) -> str:
        """Its name in messages."""
        return self.name.decode(errors="backslashreplace")


class _Directory(NamedTuple):
    """Where the directory is, and how many rows it has."""

    start: int
    size: int
    rows: int
    end: int


def _archive_problems(path: Path) -> Iterator[str]:
    """Yield what readers of an archive disagree about or refuse. ``zipfile`` must have opened it before."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        try:
            yield from _problems(data)
        except (struct.error, ValueError) as error:
            yield f"a record of the archive is damaged: {error}"


def _problems(data: mmap.mmap) -> Iterator[str]:
    at = len(data) - _END.size  # of the record that ends an archive
    at = at if data[at : at + 4] == _END_MARK else data.rfind(_END_MARK)
    if at + _END.size < len(data) or _END.unpack_from(data, at)[-1]:
        yield f"{len(data) - at - _END.size} bytes follow the archive's end, or are its comment"
    directory, odd = _directory(data, at)
    yield from odd
    if directory is None:
        return
    if directory.start + directory.size != directory.end:
        yield "the directory is not where the archive says: there is data before the archive, or within it"
        return
    rows = list(_rows(data, directory))
    if len(rows) != directory.rows or (rows and rows[-1].end != directory.end):
        yield f"the archive says that its directory has {directory.rows} rows, but {len(rows)} are there"
    yield from _gap_problems(data, rows, directory.start)
    odd_members = grouped((odd, row.text) for row in rows for odd in _member_problems(data, row))
    yield from (f"{list_text(names)}: {message}" for message, names in odd_members.items())


def _directory(data: mmap.mmap, at: int) -> tuple[_Directory | None, list[str]]:
    """Return where the record at the end says that the directory is, and the problems of that record."""
    _, disk, first_disk, here, rows, size, start, _ = _END.unpack_from(data, at)
    short = _Directory(start, size, rows, at)
    disks, counts, located = {disk, first_disk}, {here, rows}, at - _LOCATOR.size
    if located < 0 or data[located : located + 4] != _LOCATOR_MARK:
        odd = ["the archive says that it is one of several parts"] if disks != {0} or len(counts) > 1 else []
        return short, odd
    _, part, where, parts = _LOCATOR.unpack_from(data, located)
    expected = located - _END64.size
    if where != expected or part or parts != 1 or data[expected : expected + 4] != _END64_MARK:
        return None, ["the ZIP64 record at the end of the archive is not where the archive says"]
    _, length, _, _, disk, first_disk, here, rows, size, start = _END64.unpack_from(data, expected)
    long = _Directory(start, size, rows, expected)
    agree = all(
        given in {min(full, most), most}
        for given, full, most in zip(short[:3], long[:3], (_LONG, _LONG, _SHORT), strict=True)
    )
    plain = disks <= {0, _SHORT} and {disk, first_disk} == {0} and here == rows and length == _END64.size - 12
    return long, [] if agree and plain else ["the records at the end of the archive do not agree"]


def _rows(data: mmap.mmap, directory: _Directory) -> Iterator[_Member]:
    at = directory.start
    while at < directory.end and data[at : at + 4] == _ROW_MARK:
        more = at + _FACTS_IN_ROW + _FACTS.size
        comment, disk, _, attributes, offset = _ROW_END.unpack_from(data, more)
        entry, (offset,) = _facts(data, at + _FACTS_IN_ROW, more + _ROW_END.size, offset)
        at = entry.end + comment
        yield entry._replace(end=at, offset=offset, disk=disk, attributes=attributes, comment=comment)


def _header(data: mmap.mmap, at: int) -> _Member | None:
    """Return the local header at a place; None where there is none."""
    if data[at : at + 4] != _HEADER_MARK:
        return None
    return _facts(data, at + _FACTS_IN_HEADER, at + _FACTS_IN_HEADER + _FACTS.size)[0]


def _facts(data: mmap.mmap, at: int, names: int, *offset: int) -> tuple[_Member, Sequence[int]]:
    """Return what an entry says whose name begins at ``names``, and the ``offset``, which a ZIP64 field may replace."""
    needed, flags, method, time, date, crc, packed, size, name_size, extra_size = _FACTS.unpack_from(data, at)
    middle, end = names + name_size, names + name_size + extra_size
    extra = data[middle:end]
    size, packed, *offset_given = _with_zip64(extra, (size, packed, *offset))
    return _Member(data[names:middle], flags, method, time, date, crc, packed, size, needed, extra, end), offset_given


def _with_zip64(extra: bytes, numbers: tuple[int, ...]) -> tuple[int, ...]:
    """Return numbers, each replaced by that of the ZIP64 field if it has one.

    Raises ValueError unless the field has just these, or repeats numbers that need none, as some writers do.
    """
    fields = [value for kind, value in _fields(extra) if kind == _ZIP64]
    given = struct.unpack(f"<{len(b''.join(fields)) // 8}Q", b"".join(fields))
    wanted = numbers.count(_LONG)
    if len(fields) > 1 or (given != numbers[: len(given)] if wanted == 0 else len(given) != wanted):
        raise ValueError("a ZIP64 field")
    rest = iter(given)
    return tuple(next(rest) if number == _LONG else number for number in numbers)


def _fields(extra: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the fields of an entry's extra data, each with its kind. Raises ValueError where they do not fill it."""
    at = 0
    while at < len(extra):
        kind, size = struct.unpack_from("<2H", extra, at)
        at += 4 + size
        if at > len(extra):
            raise ValueError("the extra data of a member")
        yield kind, extra[at - size : at]


def _gap_problems(data: mmap.mmap, rows: Sequence[_Member], directory: int) -> Iterator[str]:
    """Yield the bytes before the directory that belong to no member of it, or to several."""
    if any(row.flags & _STREAMED for row in rows):  # which is told
        return
    at = 0
    for row in sorted(rows, key=lambda row: row.offset):
        if row.offset > at:
            yield _gap_problem(data, at, row.offset)
        elif row.offset < at:
            yield f"{row.text} shares bytes of the archive with another member"
        header = _header(data, row.offset)
        at = max(at, row.offset if header is None else header.end + row.packed)
    if at != directory:
        yield _gap_problem(data, at, directory)


def _gap_problem(data: mmap.mmap, start: int, end: int) -> str:
    header = _header(data, start) if start < end else None
    if header is not None:
        return f"the archive has a member {header.text} that is not in its directory: some installers unpack it"
    return f"{abs(end - start)} bytes at {min(start, end)} of the archive belong to no member, or to two"


def _member_problems(data: mmap.mmap, row: _Member) -> Iterator[str]:
    """Yield what readers of a member disagree about or refuse."""
    header = _header(data, row.offset)
    yield from _name_problems(row)
    if row.disk or row.comment:
        yield "it has a comment, or is of another part of the archive"
    if row.flags & _STREAMED:
        yield "its size follows its data, which PyPI refuses"
    needed = max(row.needed, header.needed if header else 0)
    if row.flags & ~(_FLAGS | _STREAMED) or row.method not in {_STORED, _DEFLATED} or needed > _NEWEST:
        yield "it is encrypted, or neither stored nor deflated"
    yield from _kind_problems(row)
    if header is None:
        yield "there is no local header where the directory says"
        return
    for what, found in (("the directory", row), ("its local header", header)):
        if _OTHER_NAME in (kind for kind, _ in _fields(found.extra)):
            yield f"{what} has a second name for it, which only some readers use"
    if differences := row.differences(header):
        yield f"its local header and the directory do not agree: {', '.join(differences)}"
    elif not row.flags & _STREAMED:
        yield from _data_problems(data, row, header.end)


def _kind_problems(row: _Member) -> Iterator[str]:
    """Yield why some readers do not take a member for a file or a folder."""
    mode, is_folder = row.attributes >> 16, row.name.endswith(b"/")
    expected = stat.S_IFDIR if is_folder else stat.S_IFREG
    if is_folder and row.size:
        yield "it is a folder with data"
    if stat.S_IFMT(mode) not in {0, expected} or bool(row.attributes & _DOS_FOLDER) > is_folder:
        yield "it is marked as a link, or as another kind of file than its name says"
    elif stat.S_IMODE(mode) & ~_PERMISSIONS:
        yield "it is marked to run with the rights of its owner"


def _name_problems(entry: _Member) -> Iterator[str]:
    """PyPI takes names as UTF-8, and ``zipfile`` those without the mark of it as code page 437."""
    try:
        name = entry.name.decode()
    except UnicodeDecodeError:
        name = ""
    if not name or not (entry.name.isascii() or entry.flags & _UTF_8):
        yield "its name is empty, or not marked as UTF-8"
    if re.search(r"[\x00-\x1f\x7f-\x9f]", name):
        yield "its name has control characters"


def _data_problems(data: mmap.mmap, entry: _Member, start: int) -> Iterator[str]:
    """Unpack the data of a member, and yield where it is not what the directory says."""
    if store.is_bomb(entry.size, entry.packed):
        yield f"it unpacks to {entry.size // max(entry.packed, 1):,} times its size, which PyPI refuses"
        return
    unpacker = zlib.decompressobj(-zlib.MAX_WBITS) if entry.method == _DEFLATED else None
    crc = size = 0
    for at in range(start, start + entry.packed, _PIECE):
        piece = data[at : min(at + _PIECE, start + entry.packed)]
        try:
            made = piece if unpacker is None else unpacker.decompress(piece)
        except zlib.error as error:
            yield f"it cannot be read: {error}"
            return
        crc, size = zlib.crc32(made, crc), size + len(made)
    if unpacker is not None and (not unpacker.eof or unpacker.unused_data):
        yield "its data does not end where the directory says"
    if (crc, size) != (entry.crc, entry.size):
        yield "it cannot be read: its data does not have the size and the checksum that the directory lists"


_MADE_BY = {"metadata": {"tools": {"components": [{"version": str}]}}, "components": [{"bom-ref": str}]}


def check_sbom(subject: Subject) -> Outcome:
    """Check that the document is, byte for byte, what a build writes for this store and this project."""
    if subject.wheel is None:
        return Outcome.skip("this is not a wheel")
    if subject.damage:
        return Outcome.skip("the store cannot be read")
    with zipfile.ZipFile(subject.wheel) as archive:
        places = [name for name in archive.namelist() if name.endswith(f".dist-info/sboms/{store.SBOM_FILE}")]
        if not places:
            return Outcome.skip(f"the wheel has no {store.SBOM_FILE}")
        try:
            text = store.read_member(archive, places[0])
        except store.UNREADABLE:
            return Outcome.skip(f"{store.SBOM_FILE} cannot be read")  # the check of the wheel says why
    try:
        found: dict[str, Any] = json.loads(text)
        check_shape(found, _MADE_BY)
        made_by = found["metadata"]["tools"]["components"][0]["version"]
    except (ValueError, IndexError, RecursionError):
        return Outcome.of(
            0, "components", [Problem(f"{store.SBOM_FILE} is not a document that a build writes", REBUILD)]
        )
    name, _, version = places[0].partition("/")[0].removesuffix(".dist-info").rpartition("-")
    problems = []
    with suppress(KeyError, ValueError):  # the check of the index says that no build writes such a toolchain
        written = store.sbom_text(subject.reader, name.replace("_", "-"), version, made_by=made_by)
        if text != written.encode():
            parts = ", ".join(_differing_parts(found, json.loads(written))) or "order, spaces or names"
            problems.append(Problem(f"{store.SBOM_FILE} is not of this wheel: it differs in {parts}", REBUILD))
    return Outcome.of(len(found["components"]), "components", problems)


def _differing_parts(found: dict[str, Any], expected: dict[str, Any]) -> Iterator[str]:
    """Yield the names of the components that differ, and of other members."""
    components, others = ({part["bom-ref"]: part for part in document["components"]} for document in (found, expected))
    for ref in sorted(components.keys() | others.keys()):
        if components.get(ref) != others.get(ref):
            yield ref
    for name in sorted((found.keys() | expected.keys()) - {"components", "serialNumber"}):
        if found.get(name) != expected.get(name):
            yield name


_RECORDS: Final = re.compile(r"[^/]+\.dist-info/RECORD(\.jws|\.p7s)?")
_SCHEMES: Final = re.compile(r"^[^/]+\.data/(purelib|platlib)/")
#: How many parts a wheel's file name has, without a build number and with one.
_NAME_PARTS: Final = (5, 6)
_COLUMNS: Final = ("path", "digest", "size")


def check_wheel(subject: Subject) -> Outcome:
    """Check that a wheel holds one store beside its package, and each member once, the same for all installers."""
    if subject.wheel is None:
        return Outcome.skip("this is not a wheel")
    with zipfile.ZipFile(subject.wheel) as archive:
        names = archive.namelist()
        tags = [*_tag_problems(subject.wheel.name, archive)]
    prefix = store.place_in_wheel(names)
    counts = Counter(names).items()
    repeated = (
        f"the wheel has {name} {n} times: installers differ in which one they use" for name, n in counts if n > 1
    )
    places = (*repeated, *store.name_clashes(names), *_place_problems(names, prefix))
    messages = (*places, *tags, *_archive_problems(subject.wheel))
    problems = [Problem(message, REBUILD) for message in messages]
    package = prefix.removesuffix(f"/{store.STORE_FOLDER}/")
    if not store.modules_of(
        package, [_SCHEMES.sub("", name) for name in names]
    ):  # installers put what .data has beside it
        message = f"the wheel has no Python module of {package.replace('/', '.')}, only its kernels"
        fix = "change the build's settings so that the wheel ships the package, too"
        problems.append(Problem(message, fix))
    return Outcome.of(len(names), "members", problems)


def _tag_problems(file: str, archive: zipfile.ZipFile) -> Iterator[str]:
    """Yield how WHEEL contradicts the tags in the file's name, by which installers choose before they open the file."""
    parts = file.removesuffix(".whl").split("-")
    if len(parts) not in _NAME_PARTS:
        yield f"installers refuse the file name {file}: it is not NAME-VERSION-PYTHON-ABI-PLATFORM.whl"
        return
    place = next((name for name in archive.namelist() if re.fullmatch(r"[^/]+\.dist-info/WHEEL", name)), None)
    if place is None:
        yield "the wheel has no file WHEEL: installers refuse it"
        return
    with suppress(*store.UNREADABLE):  # another check says so
        listed = BytesParser().parsebytes(store.read_member(archive, place)).get_all("Tag", [])
        named = "-".join(parts[-3:])
        if {tag for text in listed for tag in _expand_tags(text.strip())} != {*_expand_tags(named)}:
            tags = f"the tags {', '.join(listed)}" if listed else "no tags"
            yield f"WHEEL lists {tags}, but the file's name has {named}"


def _expand_tags(text: str) -> Iterator[str]:
    """Yield each tag that compressed tags stand for, such as ``py2-none-any`` of ``py2.py3-none-any``."""
    return ("-".join(tag) for tag in product(*(part.split(".") for part in text.split("-"))))


def _place_problems(names: Sequence[str], prefix: str) -> Iterator[str]:
    yield from (f"{name!r} is not a path inside the wheel" for name in names if not _is_inside(name))
    stores = [name for name in names if name.endswith(f"/{store.STORE_FOLDER}/{store.KERNELS_FILE}")]
    if len(stores) > 1:
        yield f"the wheel has {len(stores)} kernel stores, and a build puts one into it: {', '.join(stores)}"
    for name in names:
        if name.partition("/")[0].endswith(".data") and f"/{store.STORE_FOLDER}/" in name:
            yield f"installers put {name} over the package's own files"
        elif f"/{store.STORE_FOLDER}/" in name and not name.startswith(prefix):
            yield f"{name} is in a folder {store.STORE_FOLDER} that no build writes"
    infos = sorted({first for name in names if (first := name.partition("/")[0]).endswith(".dist-info")})
    if len(infos) > 1:
        yield f"the wheel has {len(infos)} distributions: {', '.join(infos)}"


def _is_inside(name: str) -> bool:
    path = name.removesuffix("/")
    plain = PurePosixPath(path).as_posix() == path and ".." not in path.split("/")
    return plain and not path.startswith("/") and "\\" not in path and ":" not in path


def check_record(subject: Subject) -> Outcome:
    """Check that RECORD lists a wheel's files, or those of the store in an installed distribution, with digests."""
    record, folder = subject.record, subject.reader.folder
    if record is None and subject.wheel is None:
        return Outcome.skip("a folder has no RECORD")
    if record is None:
        fix = "build the wheel with a build tool: installers refuse a wheel without RECORD"
        return Outcome.of(0, "files", [Problem("the wheel has no RECORD", fix)])
    files = [] if subject.wheel else [path for path in folder.rglob("*") if path.is_file()]
    installed = {record.prefix + path.relative_to(folder).as_posix(): _row(path.read_bytes()) for path in files}
    there = _member_rows(subject.wheel) if subject.wheel else installed
    messages = _record_problems(record, there, "" if subject.wheel else record.prefix)
    return Outcome.of(len(there), "files", (Problem(message, REBUILD) for message in messages))


def _member_rows(wheel: Path) -> dict[str, tuple[str, str]]:
    """Return the row that RECORD must have for each member of a wheel, but for itself and its signatures."""
    members = {}
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if not name.endswith("/") and not _RECORDS.fullmatch(name):
                with suppress(*store.UNREADABLE):  # another check says so
                    members[name] = _row(store.read_member(archive, name))
    return members


def _row(data: bytes) -> tuple[str, str]:
    return f"sha256={record_digest(sha256(data).digest())}", str(len(data))


def _record_problems(record: WheelRecord, there: dict[str, tuple[str, str]], below: str) -> Iterator[str]:
    for row in record.rows:
        if len(row) != len(_COLUMNS):
            yield f"RECORD has a line that is not {', '.join(_COLUMNS)}: {','.join(row)}"
    for path, count in Counter(row[0] for row in record.rows).items():
        if count > 1:
            yield f"RECORD lists {path} {count} times"
    rows = {row[0]: row[1:] for row in record.rows}
    listed = {path for path in rows if path.startswith(below) and not _RECORDS.fullmatch(path)}
    yield from (f"RECORD lists {path}, which is not there" for path in sorted(listed - there.keys()))
    for path, facts in sorted(there.items()):
        if path not in rows:
            yield f"{path} is not in RECORD"
        elif rows[path] != facts:
            yield f"{path} does not have the size and digest that RECORD lists"
