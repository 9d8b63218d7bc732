"""Entries as one plain file: for container layers, CI caches and machines without a network.

A bundle is an uncompressed zip of ``KEY/entry.json`` and ``KEY/image.KIND``, in order of keys, without times: equal
caches give equal bundles.
"""

from __future__ import annotations

import json
import re
import zipfile
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.cache.entry import ENTRY_FILE, ENTRY_SCHEMA, BadEntryError, Entry
from hatch_cuda_kernels.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    from hatch_cuda_kernels.cache.disk import DiskCache

__all__ = ["export_bundle", "import_bundle"]

_MEMBER: Final = re.compile(r"([0-9a-f]{64})/(entry\.json|image\.(?:cubin|ptx|ltoir))")
_EPOCH: Final = (1980, 1, 1, 0, 0, 0)
#: Far above any image; a member that claims more is refused before it is read.
_MOST_BYTES: Final = 1 << 30


def export_bundle(cache: DiskCache, path: Path) -> int:
    """Write every readable entry of the user's cache into a bundle and return how many there are."""
    count = 0
    staged = path.with_name(f".{path.name}.tmp")
    try:
        with zipfile.ZipFile(staged, "w") as archive:
            for entry, _, _ in cache.entries():
                for name, data in ((ENTRY_FILE, entry.to_json().encode()), (entry.file, entry.image)):
                    archive.writestr(zipfile.ZipInfo(f"{entry.key}/{name}", _EPOCH), data)
                count += 1
        staged.replace(path)
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from error
    finally:
        staged.unlink(missing_ok=True)
    return count


def import_bundle(cache: DiskCache, path: Path) -> int:
    """Put a bundle's entries into the cache and return how many; nothing is taken from a bundle with a bad member.

    Names are matched, never joined to a path; every image must have the digest its description states. Raises
    InputError.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            entries = _read(archive, path)
    except (OSError, zipfile.BadZipFile) as error:
        raise InputError(f"{path}: not a bundle: {error}") from error
    for entry in entries:
        cache.put(entry)
    return len(entries)


def _read(archive: zipfile.ZipFile, path: Path) -> list[Entry]:
    members: dict[str, dict[str, zipfile.ZipInfo]] = {}
    for info in archive.infolist():
        match = _MEMBER.fullmatch(info.filename)
        if match is None or info.file_size > _MOST_BYTES:
            raise InputError(f"{path}: {info.filename!r} does not belong into a bundle; nothing was taken")
        members.setdefault(match[1], {})[match[2]] = info
    return [_read_entry(archive, key, files, path) for key, files in sorted(members.items())]


def _read_entry(archive: zipfile.ZipFile, key: str, files: dict[str, zipfile.ZipInfo], path: Path) -> Entry:
    try:
        data = json.loads(archive.read(files[ENTRY_FILE]))
        if data["schema"] != ENTRY_SCHEMA or data["key"] != key:
            raise BadEntryError("another schema, or another key")
        return Entry.from_json(data, archive.read(files[f"image.{data['kind']}"]))
    except (BadEntryError, KeyError, ValueError, TypeError, zipfile.BadZipFile) as error:
        raise InputError(f"{path}: entry {key[:12]} is damaged ({error}); nothing was taken") from error
