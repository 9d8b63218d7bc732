"""Entries as one plain file: for container layers, CI caches and machines without a network.

A bundle is an uncompressed zip of ``KEY/entry.json`` and ``KEY/image.KIND``, in order of keys, without times: equal
caches give equal bundles.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
import zipfile
from collections.abc import Container
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.cache.entry import ENTRY_FILE, ENTRY_SCHEMA, BadEntryError, Entry, parse_description
from hatch_cuda_kernels.cache.files import NO_WAIT, unique_name
from hatch_cuda_kernels.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    from hatch_cuda_kernels.cache.disk import DiskCache

_MEMBER: Final = re.compile(r"([0-9a-f]{64})/(entry\.json|image\.(?:cubin|ptx|ltoir))", re.ASCII)
_EPOCH: Final = (1980, 1, 1, 0, 0, 0)
_MODE: Final = stat.S_IFREG | 0o600
_UNIX: Final = 3
_ENCRYPTED: Final = 1
#: Characters of what was found in a bundle, in a message.
_MOST_SHOWN: Final = 150
#: Of the bundle's name, so that there is room for more.
_LONGEST_NAME: Final = 100
#: What zipfile raises for bytes that are not as it wrote them.
_BROKEN: Final = (BadEntryError, EOFError, KeyError, OSError, RuntimeError, ValueError, zipfile.BadZipFile)


def export_bundle(cache: DiskCache, path: Path, keys: Container[str] | None = None) -> int:
    """Write the readable entries of the user's cache, or those of some ``keys``, into a bundle; return how many.

    Raises InputError if the bundle cannot be written.
    """
    count = 0
    staged = path.parent / unique_name(f".{path.name[:_LONGEST_NAME]}")
    try:
        with zipfile.ZipFile(staged, "x") as archive:
            for entry, _, _ in cache.entries():
                if keys is not None and entry.key not in keys:
                    continue
                for name, data in sorted(entry.files().items()):
                    member = zipfile.ZipInfo(f"{entry.key}/{name}", _EPOCH)
                    member.create_system = _UNIX  # or bundles of different hosts would differ
                    member.external_attr = _MODE << 16
                    archive.writestr(member, data)
                count += 1
        staged.replace(path)
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from error
    finally:
        with contextlib.suppress(OSError):  # as a rule it has been renamed
            staged.unlink()
    return count


def import_bundle(cache: DiskCache, path: Path) -> int:
    """Put a bundle's entries into the cache and return how many; nothing is taken from a bundle with a bad member.

    Names are matched, never joined to a path; every image must have the digest its description states. Raises
    InputError, also where the cache cannot keep them all.
    """
    try:
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | NO_WAIT)) as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode):  # a pipe might never have anything to read
                raise InputError(f"{path}: not a bundle: not a regular file")  # noqa: TRY301
            with zipfile.ZipFile(file) as archive:
                entries = _read(archive, path, found.st_size)
    except InputError:
        raise
    except _BROKEN as error:
        raise InputError(f"{path}: not a bundle: {error}") from error
    size = sum(len(data) for _, files in entries for data in files.values())
    if size > cache.max_bytes:
        raise InputError(f"{path}: its {size:,} bytes are more than the cache may hold ({cache.max_bytes:,})")
    if not cache.put_all(entries):
        raise InputError(f"{cache.path}: the cache cannot be written to; not all of {len(entries)} images were taken")
    return len(entries)


def _read(archive: zipfile.ZipFile, path: Path, room: int) -> list[tuple[str, dict[str, bytes]]]:
    """Return what is in a bundle. Members are not compressed, so they can only claim the ``room`` that its file has."""
    members: dict[str, dict[str, zipfile.ZipInfo]] = {}
    for info in archive.infolist():
        match = _MEMBER.fullmatch(info.filename)
        room -= info.file_size
        kind = stat.S_IFMT(info.external_attr >> 16)
        stored = info.compress_type == zipfile.ZIP_STORED and not info.flag_bits & _ENCRYPTED
        plain = stored and kind in {0, stat.S_IFREG}
        if match is None or not plain or room < 0 or match[2] in members.get(match[1], {}):
            raise InputError(f"{path}: {info.filename[:_MOST_SHOWN]!r} does not belong in a bundle; nothing was taken")
        members.setdefault(match[1], {})[match[2]] = info
    return [(key, _read_entry(archive, key, files, path)) for key, files in sorted(members.items())]


def _read_entry(archive: zipfile.ZipFile, key: str, files: dict[str, zipfile.ZipInfo], path: Path) -> dict[str, bytes]:
    try:
        read = {name: archive.read(info) for name, info in files.items()}
        data = parse_description(read[ENTRY_FILE], key)
        if data is None:
            raise BadEntryError(f"its schema is not {ENTRY_SCHEMA}")
        if files.keys() != {ENTRY_FILE, data["file"]}:
            raise BadEntryError("it is not one image with its description")
        Entry.from_json(data, read[data["file"]])
    except _BROKEN as error:
        why = str(error)[:_MOST_SHOWN]  # zipfile repeats what it found, however long
        raise InputError(f"{path}: entry {key[:12]} is damaged ({why}); nothing was taken") from error
    return read
