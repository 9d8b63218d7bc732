"""The cache: memory, then read-only site folders, then this user's own folder, as the environment states; and notes.

``get`` raises nothing for what it finds on disk, and ``put`` nothing for what the disk does: damage is a miss, and
without a usable place images stay in the memory of this process. Each kind of trouble is reported once.

Notes are facts about this machine, as JSON beside the entries. A note holds the states of the files that it depends on,
so that a reader can see whether it still holds. A missing note is made again.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from weakref import WeakSet

from hatch_cuda_kernels import environment
from hatch_cuda_kernels.cache.entry import NOTES, BadEntryError, Entry, EntryFolder
from hatch_cuda_kernels.cache.files import DistrustedError, Folder, NotAFolderError, made, remove, replace
from hatch_cuda_kernels.errors import CompileError, HatchCudaKernelsError, InputError, warn_user
from hatch_cuda_kernels.integrity import sha256

if TYPE_CHECKING:
    from hatch_cuda_kernels.cache.publishing import Once

_DEFAULT_MAX_BYTES: Final = 1 << 30
_MOST_SHOWN: Final = 40
#: Images kept in memory besides those on disk, in bytes.
_MEMORY_BYTES: Final = 256 << 20
#: A heavy template library compiles for a minute; who waits longer than this compiles for itself.
_LOCK_SECONDS: Final = 300.0


def default_cache_path() -> Path | None:
    """Return the folder that ``HATCH_CUDA_KERNELS_CACHE_DIR`` names, otherwise the platform's user cache folder.

    Returns None, with one warning in each process, for a user without a home folder.
    """
    stated = os.environ.get(environment.CACHE_DIR)
    path = os.path.expanduser(stated) if stated else _user_cache_path()  # noqa: PTH111 - expanduser() would raise
    if path.startswith("~"):  # no HOME, and no entry for this user: expanduser leaves it as it is
        _warn_homeless()
        return None
    return Path(path).absolute()


def site_paths() -> tuple[Path, ...]:
    """Return the read-only folders that ``HATCH_CUDA_KERNELS_PATH`` lists, in order."""
    return tuple(Path(part).absolute() for part in os.environ.get(environment.PATH, "").split(os.pathsep) if part)


def _max_cache_bytes() -> int:
    """Return the cap in bytes. Raises InputError unless the variable states a size that is not 0."""
    stated = os.environ.get(environment.CACHE_MAX_BYTES)
    try:
        size = environment.parse_size(stated) if stated else _DEFAULT_MAX_BYTES
    except ValueError:
        size = 0
    if size <= 0:
        shown = repr(stated if len(str(stated)) <= _MOST_SHOWN else f"{str(stated)[:_MOST_SHOWN]}...")
        raise InputError(f"{environment.CACHE_MAX_BYTES}={shown} is not a size; write bytes, or a unit as in 2GiB")
    return size


def open_cache() -> DiskCache:
    """Return this process's cache for the environment as it is now; one for equal settings. Raises InputError."""
    trust = os.environ.get(environment.CACHE_TRUST, "")
    return _cache_at(default_cache_path(), _max_cache_bytes(), site_paths(), trust)


@cache
def _cache_at(path: Path | None, max_bytes: int, sites: tuple[Path, ...], _trust: str) -> DiskCache:
    return DiskCache(path, max_bytes=max_bytes, sites=sites)


def _user_cache_path() -> str:
    home = os.environ.get("HOME", "")
    if sys.platform == "linux" and home.startswith("/") and not {"XDG_CACHE_HOME", "ANDROID_ROOT"} & os.environ.keys():
        return f"{home}/.cache/hatch-cuda-kernels"  # as platformdirs has it, whose import takes longer than a read
    from platformdirs import user_cache_dir  # not needed when the folder is stated

    try:
        return user_cache_dir("hatch-cuda-kernels", appauthor=False)
    except (RuntimeError, OSError):
        return "~"


@cache
def _warn_homeless() -> None:
    warn_user(f"no home folder was found for the kernel cache; set {environment.CACHE_DIR} to a folder")


class RemovalError(HatchCudaKernelsError):
    """Entries cannot be removed from the cache; the others are gone."""

    def __init__(self, path: Path, count: int, reason: str) -> None:
        images = "an image" if count == 1 else f"{count} images"
        super().__init__(f"{images} cannot be removed from the kernel cache {path} ({reason}); the others are gone")
        self.path, self.count, self.reason = path, count, reason


class CacheInfo(NamedTuple):
    """Where a cache is, what it holds, and whether this process may write to it."""

    path: str
    entries: int
    bytes: int
    max_bytes: int
    writable: bool


#: Those of this process.
_CACHES: Final[WeakSet[DiskCache]] = WeakSet()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: [*map(DiskCache.renew_locks, _CACHES)])


class DiskCache:
    """Entries by key. Thread-safe; any number of processes may use one folder at a time."""

    def __init__(
        self,
        path: Path | None,
        *,
        max_bytes: int,
        sites: Sequence[Path] = (),
        lock_seconds: float = _LOCK_SECONDS,
    ) -> None:
        self.path = path
        self.max_bytes = max_bytes
        self._user = EntryFolder(path) if path is not None else None
        self._folders = [EntryFolder(site, read_only=True) for site in sites]
        self._folders += [self._user] if self._user is not None else []
        self._memory = Memory(_MEMORY_BYTES)
        self._lock_seconds = lock_seconds
        self._lock = Lock()
        self._turns: Once | None = None
        self._told: set[str] = set()
        self._swept = False
        _CACHES.add(self)

    def renew_locks(self) -> None:
        """Take new locks in a forked child, where nobody releases those that the parent's threads had."""
        self._lock, self._turns = Lock(), None
        self._memory.renew_lock()

    def get(self, key: str) -> Entry | None:
        """Return the entry of a key after checking its digests, or None."""
        entry = self._memory.get(key)
        if entry is not None:
            return entry
        for folder in self._folders:
            entry = self._read(folder, key)
            if entry is not None:
                self._memory.keep(entry, on_disk=True)
                return entry
        return None

    def put(self, entry: Entry) -> bool:
        """Keep an entry and return whether it is on disk; otherwise it is in the memory of this process only.

        If another process wrote the same key first, its folder stays: equal keys have equal images. An entry larger
        than the cap is not written.
        """
        on_disk = False
        try:
            own, files = self._own(), entry.files()
            if own is not None and sum(map(len, files.values())) <= self.max_bytes:
                on_disk = self._write(own, [(entry.key, files)])
        finally:
            self._memory.keep(entry, on_disk=on_disk)
        return on_disk

    def put_all(self, listed: Sequence[tuple[str, dict[str, bytes]]]) -> bool:
        """Write entries, given by key as they are on disk; return whether all are there. They are counted once."""
        own = self._own()
        return own is not None and self._write(own, listed)

    def get_or_make(self, key: str, make: Callable[[], Entry]) -> tuple[Entry, bool]:
        """Return the entry of a key, made by ``make`` if there is none, and whether it was made here.

        Of all threads and processes that ask for one key at the same time, one makes it. Raises what ``make`` raises; a
        CompileError is also raised in those that waited for it, without compiling again.
        """
        entry = self.get(key)
        if entry is not None:
            return entry, False
        once = self.once()
        before = once.failure(key)
        damaged = [folder for folder in self._folders if folder.holds(key)]
        if damaged and (entry := self.get(key)) is not None:  # somebody put it there after the first look
            return entry, False
        with once.turn(key, lambda: any(folder.holds(key) for folder in self._folders if folder not in damaged)):
            entry = self.get(key)
            if entry is not None:
                return entry, False
            failure = once.error_since(before, key)
            if failure is not None:
                raise failure
            try:
                entry = make()
            except CompileError as error:
                once.failed(key, error)
                raise
            self.put(entry)
            return entry, True

    def once(self) -> Once:
        """Return the turns by key, between threads and processes."""
        from hatch_cuda_kernels.cache.publishing import Once  # a hit needs no lock

        with self._lock:
            if self._turns is None:
                self._turns = Once(self._user, timeout=self._lock_seconds)
            return self._turns

    def path_of(self, entry: Entry) -> Path | None:
        """Return an entry's image file, or None if it is in memory only."""
        return next((folder.image_path(entry) for folder in self._folders if folder.holds(entry.key)), None)

    def entries(self) -> Iterator[tuple[Entry, int, float]]:
        """Yield the readable entries of the user's own folder with bytes on disk and last use (seconds since 1970)."""
        own = self._own()
        if own is None:
            return
        for stored in sorted(own.stored()):
            entry = self._read(own, stored.key, use=False)
            if entry is not None:
                yield entry, stored.bytes, stored.used

    def prune(self, max_bytes: int) -> int:
        """Remove the least recently used entries beyond ``max_bytes`` and stale leftovers; return the bytes left.

        Raises RemovalError, at the end, for entries that cannot be removed.
        """
        own = self._own()
        if own is None:
            return 0
        from hatch_cuda_kernels.cache.publishing import shrink  # a hit needs none of it

        self.once().sweep()
        left, stuck = shrink(own, max_bytes)
        if stuck.entries:
            raise RemovalError(own.path, stuck.entries, stuck.reason)
        return left

    def clear(self) -> int:
        """Remove every entry of the user's own folder, and what else it remembers; return how many entries there were.

        What another process is just writing or using stays, and so do locks, which another process may hold. Raises
        RemovalError, at the end, for entries that cannot be removed.
        """
        self._memory.clear()
        own = self._own()
        if own is None:
            return 0
        from hatch_cuda_kernels.cache.publishing import evict_all  # a hit needs none of it

        count, stuck = evict_all(own)
        if stuck.entries:
            raise RemovalError(own.path, stuck.entries, stuck.reason)
        self.prune(self.max_bytes)
        return count

    def info(self) -> CacheInfo:
        """Count entries and bytes of the user's own folder."""
        own = self._own()
        sizes = [stored.bytes for stored in own.stored()] if own is not None else []
        return CacheInfo(str(self.path or ""), len(sizes), sum(sizes), self.max_bytes, bool(own and own.is_writable()))

    def _own(self) -> EntryFolder | None:
        """Return the user's folder unless it is distrusted. Asked at each use: it may have been made since the last."""
        if self._user is None:
            return None
        try:
            with self._user.open():
                return self._user
        except (DistrustedError, NotAFolderError) as error:
            self._tell_error(self._user, error)
            return None
        except OSError:  # perhaps it is not there yet; the next use reports it
            return self._user

    def _read(self, folder: EntryFolder, key: str, *, use: bool = True) -> Entry | None:
        try:
            return folder.read(key, use=use)
        except OSError as error:  # such as too many open files: the entry itself may be good
            self._tell_error(folder, error, f"cannot read from the kernel cache {folder.path} ({error})")
        except BadEntryError as error:
            from hatch_cuda_kernels.cache.publishing import quarantine  # a hit needs none of it

            done = "not used"
            with contextlib.suppress(OSError):  # it cannot be moved
                if not folder.read_only:
                    if not quarantine(folder, key):
                        return None
                    done = "was set aside"
                    self._sweep(folder)
            self._tell("damage", f"an entry of the kernel cache {folder.path} is damaged and {done} ({key}: {error})")
        return None

    def _write(self, own: EntryFolder, listed: Sequence[tuple[str, dict[str, bytes]]]) -> bool:
        from hatch_cuda_kernels.cache.publishing import count_entry, publish_all  # a hit needs none of it

        try:
            if not self._swept:
                self._sweep(own)
            if size := publish_all(own, listed):
                count_entry(own, listed[-1][0], size, max_bytes=self.max_bytes)
        except OSError as error:
            failed = f"cannot write to the kernel cache {own.path} ({error}); images live in memory only"
            self._tell_error(own, error, failed)
            return False
        return True

    def _sweep(self, folder: EntryFolder) -> None:
        """Remove what dead writers left, and what was set aside too long ago or too often."""
        from hatch_cuda_kernels.cache.publishing import sweep  # a hit needs none of it

        self._swept = True
        with contextlib.suppress(OSError), folder.open() as root:
            sweep(root)
        self.once().sweep()

    def _tell_error(self, folder: EntryFolder, error: OSError, message: str = "") -> None:
        if isinstance(error, DistrustedError | NotAFolderError):
            self._tell(f"distrust of {folder.path}", f"the kernel cache is not used: {error}")
        else:
            self._tell("disk", message)

    def _tell(self, trouble: str, message: str) -> None:
        with self._lock:
            told = trouble in self._told
            self._told.add(trouble)
        if not told:
            warn_user(message.replace("\n", " "))


class Memory:
    """Entries by key. Beyond ``max_bytes``, those that are also on disk are forgotten, least recently used first."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._bytes = 0
        self._on_disk: OrderedDict[str, Entry] = OrderedDict()
        self._only_here: dict[str, Entry] = {}
        self._lock = Lock()

    def renew_lock(self) -> None:
        """Do as ``DiskCache.renew_locks``."""
        self._lock = Lock()

    def get(self, key: str) -> Entry | None:
        """Return the entry of a key, or None."""
        with self._lock:
            entry = self._on_disk.get(key)
            if entry is not None:
                self._on_disk.move_to_end(key)
            return entry or self._only_here.get(key)

    def keep(self, entry: Entry, *, on_disk: bool) -> None:
        """Remember an entry; one that is nowhere else is never forgotten."""
        with self._lock:
            self._forget(entry.key)
            if not on_disk:
                self._only_here[entry.key] = entry
                return
            self._on_disk[entry.key] = entry
            self._bytes += len(entry.image)
            while self._bytes > self._max_bytes and len(self._on_disk) > 1:
                self._forget(next(iter(self._on_disk)))

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._on_disk.clear()
            self._only_here.clear()
            self._bytes = 0

    def _forget(self, key: str) -> None:
        self._only_here.pop(key, None)
        entry = self._on_disk.pop(key, None)
        self._bytes -= len(entry.image) if entry is not None else 0


#: How many notes of one name are kept. A machine needs few, but each build in a throw-away environment leaves some.
_MOST_NOTES: Final = 64
#: What a note says is found faster than this.
_NOTE_SECONDS: Final = 10.0
#: Of the digest of a subject, for its lock: each write lists the folder, so that there must be few files.
_STRIPE_DIGITS: Final = 2
#: A longer note is damage, which must not fill the memory.
_MOST_NOTE_BYTES: Final = 16 << 20


class Notes:
    """All notes of one name. Each is a JSON object about a subject. No method raises, whatever the disk does."""

    def __init__(self, name: str) -> None:
        self._name = name

    def read(self, subject: str) -> dict[str, Any]:
        """Return the note about a subject; an empty one if it is missing or damaged, or the folder is not trusted."""
        with contextlib.suppress(OSError), _opened() as notes:
            return _read_note(notes, self._file(subject))
        return {}

    def read_current(self, subject: str) -> dict[str, Any]:
        """Do the same for a note whose files still have their ``states``; return an empty one for any other."""
        note = self.read(subject)
        states = note.get("states")
        return note if isinstance(states, dict) and unchanged(states) else {}

    @contextlib.contextmanager
    def turn(self, subject: str) -> Iterator[None]:
        """Run the body while no other process has a turn about the subject, or once there is a note that still holds.

        Who had to wait for a turn that left no such note waits for no other: that one could not write it, either.
        """
        from hatch_cuda_kernels.cache.publishing import held  # who finds a note needs no lock

        # Some subjects share a lock, or there would be ever more of them.
        lock = f"{self._name}.{_digest(subject)[:_STRIPE_DIGITS]}.lock"
        with contextlib.ExitStack() as stack:
            with contextlib.suppress(OSError), _opened(make=True) as notes:
                if not stack.enter_context(held(notes, lock, 0.0)):
                    with held(notes, lock, _NOTE_SECONDS, lambda: bool(self.read_current(subject))):
                        pass
            yield

    def read_all(self) -> list[dict[str, Any]]:
        """Return every note of this name, in no particular order."""
        with contextlib.suppress(OSError), _opened() as notes:
            return [_read_note(notes, file) for file in self._files(notes)]
        return []

    def write(self, subject: str, note: Mapping[str, Any]) -> None:
        """Write or replace the note about a subject; nothing if the folder is not trusted or the note is too long."""
        data = json.dumps(note).encode()
        if len(data) > _MOST_NOTE_BYTES:
            return
        with contextlib.suppress(OSError), _opened(make=True) as notes:
            replace(notes, self._file(subject), data, notes)
            for file in sorted(self._files(notes), key=lambda file: notes.status(file).st_mtime_ns)[:-_MOST_NOTES]:
                remove(notes, file)

    def _file(self, subject: str) -> str:
        return f"{self._name}-{_digest(subject)[:32]}.json"

    def _files(self, notes: Folder) -> list[str]:
        return [name for name in notes.names() if name.startswith(f"{self._name}-")]


def file_state(path: str | Path) -> str:
    """Return text that differs once a file or folder may have changed; empty if there is none.

    A modification time can be set back after an edit. The time of the last change of any kind (ctime) cannot.
    """
    try:
        found = os.stat(path)  # noqa: PTH116 - Path takes several times as long, on the way to a cached kernel
    except (OSError, ValueError):
        return ""
    return f"{found.st_size} {found.st_mtime_ns} {found.st_ctime_ns} {found.st_ino}"


def is_older(path: Path, than: Path) -> bool:
    """Return whether a file was last written, and last changed in any way, no later than another one."""
    try:
        found, other = path.stat(), than.stat()
    except OSError:
        return False
    return found.st_mtime_ns <= other.st_mtime_ns and found.st_ctime_ns <= other.st_ctime_ns


def unchanged(states: Mapping[str, str]) -> bool:
    """Return whether every path still has the given state."""
    return all(file_state(path) == state for path, state in states.items())


def last_change(states: Iterable[str]) -> int:
    """Return when the last of these states arose, in nanoseconds since 1970; 0 if all are of nothing.

    A time of modification can be any, and lie in the future; on Windows, it alone tells of changes.
    """
    field = 1 if sys.platform == "win32" else 2
    return max((int(state.split()[field]) for state in states if state), default=0)


@contextlib.contextmanager
def _opened(*, make: bool = False) -> Iterator[Folder]:
    """Open the folder of notes. Raises OSError, also for one that another user may write to, or if there is none."""
    path = default_cache_path()
    if path is None:
        raise FileNotFoundError
    with EntryFolder(path).open_top(make=make) as top, (made if make else Folder.folder)(top, NOTES) as notes:
        yield notes


def _digest(subject: str) -> str:
    return sha256(subject.encode(errors="surrogateescape")).hexdigest()


def _read_note(notes: Folder, file: str) -> dict[str, Any]:
    try:
        data = json.loads(notes.read(file, _MOST_NOTE_BYTES))
    except (OSError, ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}
