"""One cached image with what is known about it, and the folder on disk that holds all of them, as readers see it.

Layout: ``v1/KK/KEY/`` with ``entry.json`` and the raw image; ``v1/tmp`` for what is being written or removed;
``v1/quarantine`` for what was found damaged; ``notes`` about this machine. Nothing here decides about
size or locks; what changes the folder is in ``publishing``.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from hatch_cuda_kernels.arch import SmArch
from hatch_cuda_kernels.cache.files import Folder, long_path, made, make_folder, may_be_busy, open_folder
from hatch_cuda_kernels.image import Kind, Symbol
from hatch_cuda_kernels.integrity import check_shape, each, sha256

if TYPE_CHECKING:
    from pathlib import Path


#: Raised when older readers would misread an entry. Every schema has its own folder, such as ``v1``.
ENTRY_SCHEMA: Final = 1
ENTRY_FILE: Final = "entry.json"
_KINDS: Final = ("cubin", "ptx", "ltoir", "object")
_LONGEST_ARCH: Final = 16
_COUNT: Final = range(1 << 62)
_MOST_SECONDS: Final = 1e9
_NO_DIGITS: Final = str.maketrans("123456789", "000000000")
#: Folders beside those of the entries.
STAGING: Final = "tmp"
QUARANTINE: Final = "quarantine"
#: The folder of notes, beside those of all schemas.
NOTES: Final = "notes"
#: A hit renews an entry's record of use at most this often, so that hits do not write.
_USED_SECONDS: Final = 3600.0
#: An entry may be removed and replaced under a reader, which then has parts of two; not every time.
_READS: Final = 3
_PREFIX_DIGITS: Final = 2
#: No module's names take more: a longer description is damage, which must not fill the memory.
_MOST_TEXT: Final = 64 << 20


#: Fields that JSON has as they are.
_AS_THEY_ARE: Final = ("key", "module", "kind", "resources", "toolchain", "log", "created")


class BadEntryError(ValueError):
    """An entry on disk is damaged; the cache quarantines it and reports a miss."""


class Entry(NamedTuple):
    """An image with its key and its description."""

    key: str
    module: str
    kind: Kind
    arch: SmArch
    image: bytes
    kernels: tuple[Symbol, ...]
    globals: tuple[Symbol, ...]
    resources: dict[str, dict[str, int]]
    ptx_isa: tuple[int, int]
    toolchain: dict[str, str]
    log: str
    """Compiler warnings, shown again when a build takes the image from the cache."""
    created: str
    """When it was compiled: UTC, ISO 8601."""
    seconds: float
    wanted: str = ""
    """The kernel that a process asked for and no package had prebuilt; empty for what a build compiled."""
    family: str = ""
    """Of a combination of axes that no manifest listed: what modules with other values are called together."""
    axes: dict[str, str] = {}  # noqa: RUF012 - never changed
    """These values."""

    @staticmethod
    def now() -> str:
        """Return the time as ``created`` records it."""
        return time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime())

    @property
    def sha256(self) -> str:
        """Digest of the image."""
        return sha256(self.image).hexdigest()

    @property
    def file(self) -> str:
        """Name of the image file, such as ``image.cubin``; cuobjdump reads it as it is."""
        return f"image.{self.kind}"

    def files(self) -> dict[str, bytes]:
        """Return what the entry is on disk: the image and its description, by file name."""
        return {self.file: self.image, ENTRY_FILE: self.to_json().encode()}

    def to_json(self) -> str:
        """Return the text of ``entry.json``; the image is named there by its digest."""
        data: dict[str, Any] = {name: getattr(self, name) for name in _AS_THEY_ARE} | {
            "schema": ENTRY_SCHEMA,
            "arch": str(self.arch),
            "file": self.file,
            "sha256": self.sha256,
            "bytes": len(self.image),
            "kernels": [[symbol.name, symbol.lowered, list(symbol.params)] for symbol in self.kernels],
            "globals": [[symbol.name, symbol.lowered] for symbol in self.globals],
            "ptx_isa": list(self.ptx_isa),
            "seconds": round(self.seconds, 6),
        }
        if self.wanted:
            data["wanted"] = self.wanted
        if self.family:
            data |= {"family": self.family, "axes": self.axes}
        known = [symbol for symbol in self.kernels if symbol.types or symbol.names]
        if known:
            data["signatures"] = {symbol.lowered: [list(symbol.types), list(symbol.names)] for symbol in known}
        return json.dumps({**data, "check": description_digest(data)}, indent=1, sort_keys=True) + "\n"

    @classmethod
    def from_json(cls, data: dict[str, Any], image: bytes) -> Entry:
        """Return the entry of a description that was parsed. Raises BadEntryError unless this is the image it names."""
        if len(image) != data["bytes"] or sha256(image).hexdigest() != data["sha256"]:
            raise BadEntryError("the image does not match its digest")
        return cls(
            **{name: data[name] for name in (*_AS_THEY_ARE, "wanted", "family", "axes") if name in data},
            arch=SmArch.parse(data["arch"]),
            image=image,
            kernels=tuple(
                Symbol(name, lowered, tuple(params), *map(tuple, data.get("signatures", {}).get(lowered, ())))
                for name, lowered, params in data["kernels"]
            ),
            globals=tuple(Symbol(name, lowered) for name, lowered in data["globals"]),
            ptx_isa=(data["ptx_isa"][0], data["ptx_isa"][1]),
            seconds=data["seconds"],
        )


def description_digest(data: dict[str, Any]) -> str:
    """Return the digest of a description without its ``check``: a flipped bit in a lowered name is damage, too."""
    rest = {name: value for name, value in data.items() if name != "check"}
    return sha256(json.dumps(rest, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def parse_description(text: bytes, key: str) -> dict[str, Any] | None:
    """Return what ``entry.json`` says of a key, with every field checked, or None if it is of another schema.

    Raises BadEntryError for anything that no version with this schema has written. Its message repeats nothing of the
    text.
    """
    try:
        data = json.loads(text)
        check = description_digest(data) if isinstance(data, dict) else None
    except (ValueError, RecursionError) as error:
        raise BadEntryError(f"entry.json is damaged: {error}") from error
    if not isinstance(data, dict) or data.get("check") != check:
        raise BadEntryError("entry.json is not as it was written")
    if data.get("schema") != ENTRY_SCHEMA:
        return None
    if data.get("key") != key:
        raise BadEntryError("entry.json names another key")
    if data.get("kind") not in _KINDS or data.get("file") != f"image.{data['kind']}":
        raise BadEntryError(f"kind and file in entry.json are not one of {', '.join(_KINDS)}")
    try:
        check_shape(data, _SHAPE)
    except ValueError:
        raise BadEntryError("a field of entry.json is missing, or of another type") from None
    return data


def _is_arch(value: Any) -> bool:
    try:
        return isinstance(value, str) and len(value) <= _LONGEST_ARCH and bool(SmArch.parse(value))
    except ValueError:
        return False


_SHAPE: Final = {
    "module": str,
    "arch": _is_arch,
    "sha256": str,
    "bytes": _COUNT,
    "kernels": [each(str, str, [str])],
    "globals": [each(str, str)],
    "resources": {str: {str: _COUNT}},
    "ptx_isa": each(range(1000), range(1000)),
    "toolchain": {str: str},
    "log": str,
    "created": lambda text: type(text) is str and text.translate(_NO_DIGITS) == "0000-00-00T00:00:00+00:00",
    "seconds": lambda value: type(value) in {int, float} and 0 <= value < _MOST_SECONDS,
    "wanted?": str,
    "family?": str,
    "axes?": {str: str},
    "signatures?": {str: each([str], [str])},
}


class StoredEntry(NamedTuple):
    """An entry as it lies on disk, unread: its key, size in bytes, and when it was last used (seconds since 1970)."""

    key: str
    bytes: int
    used: float


class EntryFolder:
    """The entries below one folder. Methods raise OSError for what the disk does; the cache decides what that means.

    That includes DistrustedError, if another user could have put something there. A ``read_only`` folder (a site's) is
    never written to, not even to record a use or to set damage aside.
    """

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self.path = long_path(path)
        self.read_only = read_only
        # Another schema gets another folder beside this one: versions that share a cache do not meet.
        self.root = self.path / f"v{ENTRY_SCHEMA}"

    def open_top(self, *, make: bool = False) -> Folder:
        """Open the cache's folder; ``make`` it if it is missing."""
        if make:
            make_folder(self.path)
        return open_folder(self.path, shared=self.read_only)

    def open(self, *, make: bool = False) -> Folder:
        """Open the folder in it that holds everything of this schema; ``make`` both if they are missing."""
        with self.open_top(make=make) as top:
            if not make:
                return top.folder(self.root.name)
            return made(top, self.root.name)

    def read(self, key: str, *, use: bool = True) -> Entry | None:
        """Return the entry of a key after checking its digests; None where there is none, or of another schema.

        Raises BadEntryError for a damaged one. ``use`` records that the entry was wanted.
        """
        for attempt in range(1, _READS + 1):
            try:
                with self.open() as root, root.folder(prefix_of(key)) as prefix:
                    return read_entry(prefix, key, key, use=use and not self.read_only)
            except (FileNotFoundError, NotADirectoryError):
                return None
            except BadEntryError:
                if attempt == _READS:
                    raise
        return None

    def holds(self, key: str) -> bool:
        """Return whether an entry of this key is there, unread; raises nothing."""
        with contextlib.suppress(OSError), self.open() as root, root.folder(prefix_of(key)) as prefix:
            return has_entry(prefix, key)
        return False

    def stored(self) -> list[StoredEntry]:
        """Return every entry with its size and last use; one that cannot be opened was never used. Raises nothing."""
        with contextlib.suppress(OSError), self.open() as root:
            return [entry for name in prefixes(root) for entry in stored_in(root, name)]
        return []

    def is_writable(self) -> bool:
        """Return whether this process may write to the folder, or make it."""
        existing = next((path for path in (self.path, *self.path.parents) if path.exists()), self.path)
        return existing.is_dir() and os.access(existing, os.W_OK | os.X_OK)

    def image_path(self, entry: Entry) -> Path:
        """Return where an entry's image is, if it is here."""
        return self.root / prefix_of(entry.key) / entry.key / entry.file


def prefix_of(key: str) -> str:
    """Return the name of the folder that an entry's own folder is in."""
    return key[:_PREFIX_DIGITS]


def prefixes(root: Folder) -> list[str]:
    """Return the names of the folders that entries' own folders are in."""
    return [name for name in root.names() if len(name) == _PREFIX_DIGITS]


def stored_in(root: Folder, name: str) -> list[StoredEntry]:
    """Return the entries in such a folder. Raises nothing."""
    with contextlib.suppress(OSError), root.folder(name) as prefix:
        keys = [key for key in prefix.names() if prefix_of(key) == name]  # the rest is not ours
        return [*filter(None, [_stored(prefix, key) for key in keys])]
    return []


def read_entry(place: Folder, name: str, key: str, *, use: bool = False) -> Entry | None:
    """Return the entry of a key from a folder of any name, or None if it is of another schema.

    Raises OSError, and BadEntryError for a damaged entry or one that another user could have written.
    """
    try:
        with place.folder(name) as folder:
            data = parse_description(folder.read(ENTRY_FILE, _MOST_TEXT), key)
            if data is None:
                return None
            try:
                entry = Entry.from_json(data, folder.read(data["file"], data["bytes"]))
            except FileNotFoundError as error:
                raise BadEntryError("the image is missing") from error
            # A use is the description's modification time, which nothing else changes; never atime, which lies.
            with contextlib.suppress(OSError):  # a read-only file system keeps no record
                if use and abs(time.time() - folder.status(ENTRY_FILE).st_mtime) > _USED_SECONDS:
                    folder.touch(ENTRY_FILE)
            return entry
    except PermissionError as error:
        if may_be_busy(error):
            raise
        raise BadEntryError(str(error)) from error


def has_entry(prefix: Folder, key: str) -> bool:
    """Return whether there is an entry of this key, or a part of one with a description; raises nothing."""
    with contextlib.suppress(OSError), prefix.folder(key) as folder:
        return folder.has(ENTRY_FILE)
    return False


def last_use(prefix: Folder, key: str) -> float:
    """Return when an entry was last used, in seconds since 1970, or 0 if that is not known; raises nothing."""
    with contextlib.suppress(OSError), prefix.folder(key) as folder:
        return folder.status(ENTRY_FILE).st_mtime
    return 0.0


def _stored(prefix: Folder, key: str) -> StoredEntry | None:
    with contextlib.suppress(OSError):  # two calls where an entry is as it should be: there may be 50,000
        description, image = (prefix.status(f"{key}{os.sep}{name}") for name in (ENTRY_FILE, "image.cubin"))
        return StoredEntry(key, description.st_size + image.st_size, description.st_mtime)
    try:
        with prefix.folder(key) as folder:
            files = {name: folder.status(name) for name in folder.names()}
    except (FileNotFoundError, NotADirectoryError):  # removed meanwhile, or no entry
        return None
    except OSError:
        return StoredEntry(key, 0, 0.0)
    used = files[ENTRY_FILE].st_mtime if ENTRY_FILE in files else 0.0
    return StoredEntry(key, sum(found.st_size for found in files.values()), used)
