"""Checks of the file around the store: what installers do with a wheel, and what its RECORD lists."""

from __future__ import annotations

import re
import unicodedata
import zipfile
from collections import Counter
from contextlib import suppress
from functools import lru_cache
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.compiler.toolchain.contents import record_digest
from hatch_cuda_kernels.digest import sha256
from hatch_cuda_kernels.problem import Problem
from hatch_cuda_kernels.store.index import KERNELS_FILE, STORE_FOLDER
from hatch_cuda_kernels.store.opened import UNREADABLE, modules_of, read_member
from hatch_cuda_kernels.verify.archive import archive_problems
from hatch_cuda_kernels.verify.model import Outcome
from hatch_cuda_kernels.verify.subject import REBUILD

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from hatch_cuda_kernels.verify.record import WheelRecord
    from hatch_cuda_kernels.verify.subject import Subject

__all__ = ["check_record", "check_wheel"]

_RECORDS: Final = re.compile(r"[^/]+\.dist-info/RECORD(\.jws|\.p7s)?")
_SCHEMES: Final = re.compile(r"^[^/]+\.data/(purelib|platlib)/")
_COLUMNS: Final = ("path", "digest", "size")
#: Devices, whatever follows their dot; what Windows drops or forbids; and short names, such as ``KERNEL~1.TSV``.
#: Source: Win32's "Naming Files, Paths, and Namespaces".
_NOT_ON_WINDOWS: Final = re.compile(
    r"^(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9\xb9\xb2\xb3]) *(\.|$)"
    r"|[. ]$"
    r'|[<>:"|?*\\\x00-\x1f]'
    r"|^[^.]{1,6}~[0-9]+(\.[^.]{0,3})?$",
    re.IGNORECASE,
)


def check_wheel(subject: Subject) -> Outcome:
    """Check that a wheel holds one store beside its package, and each member once, the same for all installers."""
    if subject.wheel is None:
        return Outcome.skip("this is not a wheel")
    with zipfile.ZipFile(subject.wheel) as archive:
        names = archive.namelist()
    messages = (*_repeated(names), *_foreign(names), *_misplaced(names), *archive_problems(subject.wheel))
    problems = [*(Problem(message, REBUILD) for message in messages), *_without_modules(names)]
    return Outcome.of(len(names), "members", problems)


def _without_modules(names: Sequence[str]) -> Iterator[Problem]:
    """Yield a problem if the package has the store and nothing to import. Installers put what .data has beside it."""
    package = _store_prefix(names).removesuffix(f"/{STORE_FOLDER}/")
    if not modules_of(package, [_SCHEMES.sub("", name) for name in names]):
        message = f"the wheel has no Python module of {package.replace('/', '.')}, only its kernels"
        yield Problem(message, "have the build ship the package, too, as its settings say which files that is")


def _store_prefix(names: Sequence[str]) -> str:
    return next(name for name in names if name.endswith(f"/{STORE_FOLDER}/{KERNELS_FILE}")).removesuffix(KERNELS_FILE)


def _repeated(names: Sequence[str]) -> Iterator[str]:
    for name, count in Counter(names).items():
        if count > 1:
            yield f"the wheel has {name} {count} times: installers differ in which one they take"
    yield from dict.fromkeys(_same_elsewhere(names))


def _same_elsewhere(names: Sequence[str]) -> Iterator[str]:
    """Yield the paths that only some systems tell from others, and those that are both a file and a folder."""
    spelled: dict[str, tuple[str, bool]] = {}
    for name in names:
        path = key = ""
        parts = name.removesuffix("/").split("/")
        for number, part in enumerate(parts, 1):
            path, key = f"{path}/{part}".lstrip("/"), f"{key}/{_folded(part)}"
            is_folder = number < len(parts) or name.endswith("/")
            first, was_folder = spelled.setdefault(key, (path, is_folder))
            if first != path:
                yield f"{first} and {path} are the same {'folder' if is_folder else 'file'} on some systems"
                break
            if was_folder != is_folder:
                yield f"{path} is a file and a folder"


@lru_cache(maxsize=4096)
def _folded(part: str) -> str:
    """Return one spelling for all that some system takes for the same name.

    macOS folds case, composes letters or takes them apart, and skips invisible ones; Windows folds case, and drops dots
    and spaces at the end.
    """
    seen = "".join(letter for letter in part if unicodedata.category(letter) != "Cf")
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", seen).casefold()).rstrip(". ")


def _foreign(names: Sequence[str]) -> Iterator[str]:
    """Yield the names that Windows has no file of, or takes for another file's."""
    for part in dict.fromkeys(part for name in names for part in name.removesuffix("/").split("/")):
        if _NOT_ON_WINDOWS.search(part):
            yield f"{part!r} is no file's name on Windows, or another file's"


def _misplaced(names: Sequence[str]) -> Iterator[str]:
    yield from (f"{name!r} is not a path inside the wheel" for name in names if not _is_inside(name))
    stores = [name for name in names if name.endswith(f"/{STORE_FOLDER}/{KERNELS_FILE}")]
    if len(stores) > 1:
        yield f"the wheel has {len(stores)} kernel stores, and a build puts one into it: {', '.join(stores)}"
    prefix = _store_prefix(names)
    for name in names:
        if name.partition("/")[0].endswith(".data") and f"/{STORE_FOLDER}/" in name:
            yield f"installers put {name} over the package's own files"
        elif f"/{STORE_FOLDER}/" in name and not name.startswith(prefix):
            yield f"{name} is in a folder {STORE_FOLDER} that no build writes"
    infos = sorted({first for name in names if (first := name.partition("/")[0]).endswith(".dist-info")})
    if len(infos) > 1:
        yield f"the wheel is of {len(infos)} distributions: {', '.join(infos)}"


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
    there = _members(subject.wheel) if subject.wheel else _installed(folder, record.prefix)
    messages = (*_bad_rows(record), *_differences(record, there, "" if subject.wheel else record.prefix))
    return Outcome.of(len(there), "files", [Problem(message, REBUILD) for message in messages])


def _installed(folder: Path, prefix: str) -> dict[str, tuple[str, str]]:
    """Return what RECORD has to say of each of the store's files."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {prefix + path.relative_to(folder).as_posix(): _row(path.read_bytes()) for path in files}


def _members(wheel: Path) -> dict[str, tuple[str, str]]:
    """Return what RECORD has to say of each member of a wheel. It says nothing of itself, nor of its signatures."""
    members = {}
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if not name.endswith("/") and not _RECORDS.fullmatch(name):
                with suppress(*UNREADABLE):  # another check says so
                    members[name] = _row(read_member(archive, name))
    return members


def _row(data: bytes) -> tuple[str, str]:
    return f"sha256={record_digest(sha256(data).digest())}", str(len(data))


def _bad_rows(record: WheelRecord) -> Iterator[str]:
    for row in record.rows:
        if len(row) != len(_COLUMNS):
            yield f"RECORD has a line that is not {', '.join(_COLUMNS)}: {','.join(row)}"
    for path, count in Counter(row[0] for row in record.rows).items():
        if count > 1:
            yield f"RECORD lists {path} {count} times"


def _differences(record: WheelRecord, there: dict[str, tuple[str, str]], below: str) -> Iterator[str]:
    rows = {row[0]: row[1:] for row in record.rows}
    listed = {path for path in rows if path.startswith(below) and not _RECORDS.fullmatch(path)}
    yield from (f"RECORD lists {path}, which is not there" for path in sorted(listed - there.keys()))
    for path, facts in sorted(there.items()):
        if path not in rows:
            yield f"{path} is not in RECORD"
        elif rows[path] != facts:
            yield f"{path} does not have the size and digest that RECORD lists"
