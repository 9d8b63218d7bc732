"""What somebody may have put into a folder that looks right: links, pipes, other users' files, files to write to.

Nothing of it is loaded, nothing is written through it, and nobody waits for it.
"""

from __future__ import annotations

import os
import shutil
import signal
import stat
import sys
from contextlib import suppress
from functools import partial

import pytest
from cache_entries import entry_of, folder_of, key_of, recorded, reopen
from cache_users import hand_over

from hatch_cuda_kernels.cache.bundle import export_bundle, import_bundle
from hatch_cuda_kernels.cache.disk import RemovalError
from hatch_cuda_kernels.cache.entry import EntryFolder
from hatch_cuda_kernels.cache.publishing import Once
from hatch_cuda_kernels.errors import CompileError

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="links, pipes and users are Unix's")

PREFIX = f"v1/{key_of(0)[:2]}"
ENTRY = f"{PREFIX}/{key_of(0)}"
FOLDERS = ("v1", "v1/tmp", "v1/locks", "v1/quarantine", PREFIX, ENTRY)
FILES = (
    "v1/total.json",
    "v1/total.lock",
    *(f"v1/locks/{key_of(number)[:3]}.lock" for number in (0, 6)),
    f"v1/locks/{key_of(6)}.failed",
    f"{ENTRY}/entry.json",
    f"{ENTRY}/image.cubin",
)


@pytest.fixture(autouse=True)
def nobody_waits():
    """End a test that waits for a pipe."""
    signal.alarm(30)
    yield
    signal.alarm(0)


@pytest.fixture
def path(tmp_path):
    """Return a cache that was used in every way, and holds entry 0."""
    path = tmp_path / "cache"
    use(reopen(path))
    reopen(path).put(entry_of(0))
    (path / "v1" / "quarantine").mkdir(mode=0o700, exist_ok=True)
    return path


def use(cache):
    """Do everything that writes; return the warnings."""

    def fail():
        raise CompileError("m", "sm_90", "it failed")

    with recorded() as told:
        cache.get(key_of(0))
        assert cache.get_or_make(key_of(5), lambda: entry_of(5))[0] == entry_of(5)
        with pytest.raises(CompileError):
            cache.get_or_make(key_of(6), fail)
        cache.put(entry_of(0, log="new"))
        cache.put(entry_of(1))
        if cache.path_of(entry_of(1)) is not None:
            (folder_of(cache.path, 1) / "image.cubin").write_bytes(b"damaged")
            reopen(cache.path).get(key_of(1))
        list(cache.entries())
        for remove in (partial(cache.prune, 1), cache.clear):
            with suppress(RemovalError):
                remove()
        cache.put(entry_of(2))
    return told


def snapshot(folder):
    """Return everything below a folder with what a write would change."""
    return {
        found: (found.lstat().st_mode, found.lstat().st_mtime_ns, found.read_bytes() if found.is_file() else None)
        for found in (folder, *sorted(folder.rglob("*")))
    }


def replace_by_link(place, target):
    """Put a link in the place of a file or folder, and what was there where it leads to."""
    if place.exists():
        place.rename(target)
    elif place.name in {path.rpartition("/")[2] for path in FILES}:
        target.write_text("precious")
    else:
        target.mkdir()
    if target.is_dir():
        (target / "precious").write_text("precious")
        os.utime(target / "precious", (1, 1))
    place.parent.mkdir(exist_ok=True, parents=True, mode=0o700)
    place.symlink_to(target)


@pytest.mark.parametrize("place", [*FOLDERS, *FILES])
def test_nothing_is_read_or_written_through_a_link(path, tmp_path, place):
    """Wherever below the cache's folder a link is, what it leads to stays as it is, and everything goes on."""
    outside = tmp_path / "outside"
    replace_by_link(path / place, outside)
    before = snapshot(outside)
    use(reopen(path))
    assert snapshot(outside) == before


@pytest.mark.parametrize("place", FILES)
def test_a_dangling_link_makes_no_file(path, tmp_path, place):
    """A link to nothing does not decide where a file is made."""
    replace_by_link(path / place, tmp_path / "outside")
    (tmp_path / "outside").unlink()
    use(reopen(path))
    assert not (tmp_path / "outside").exists()


def make_pipe(place):
    """Put a pipe there."""
    os.mkfifo(place, 0o600)


def make_folder(place):
    """Put a folder there."""
    place.mkdir(mode=0o700)


def make_device(place):
    """Put a device there that never ends."""
    if os.geteuid() != 0:
        pytest.skip("making a device takes root")
    os.mknod(place, 0o600 | stat.S_IFCHR, os.makedev(1, 5))


@pytest.mark.parametrize("make", [make_pipe, make_folder, make_device])
@pytest.mark.parametrize("place", [*FOLDERS, *FILES])
def test_nobody_waits_for_what_is_no_file(path, place, make):
    """A pipe, a folder or a device in any place is damage at most."""
    target = path / place
    shutil.rmtree(target) if target.is_dir() else target.unlink(missing_ok=True)
    target.parent.mkdir(exist_ok=True, mode=0o700)
    make(target)
    cache = reopen(path)
    told = use(cache)
    assert len(told) <= 2
    assert cache.get(key_of(2)) == entry_of(2)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["entry.json", "image.cubin"])
def test_an_endless_file_does_not_fill_the_memory(path, name):
    """Of a file of a terabyte no more is read than its entry may have."""
    os.truncate(folder_of(path, 0) / name, 1 << 40)
    with pytest.warns(RuntimeWarning, match="set aside"):
        assert reopen(path).get(key_of(0)) is None


GIFTS = {
    "another user's": hand_over,
    "written by the group": lambda _, place: place.chmod(place.stat().st_mode | 0o020),
    "written by all": lambda _, place: place.chmod(place.stat().st_mode | 0o002),
    "written by all, sticky": lambda _, place: place.chmod(place.stat().st_mode | 0o1002),
}
REASONS = ("belongs to another user", "can be written by other users")


@pytest.mark.parametrize("gift", GIFTS.values(), ids=GIFTS.keys())
@pytest.mark.parametrize("place", ["v1", PREFIX, ENTRY, f"{ENTRY}/entry.json", f"{ENTRY}/image.cubin"])
def test_what_others_could_have_written_is_not_loaded(path, monkeypatch, place, gift):
    """Whichever part of an entry's way belongs to somebody else or can be written by others, it is a miss."""
    gift(monkeypatch, path / place)
    cache = reopen(path)
    with recorded() as told:
        assert cache.get(key_of(0)) is None
        assert cache.get_or_make(key_of(0), lambda: entry_of(0, log="own")) == (entry_of(0, log="own"), True)
        assert reopen(path).get(key_of(0)) in (None, entry_of(0, log="own"))
    assert 1 <= len(told) <= 3
    assert all(any(reason in text for reason in REASONS) for text in told)


@pytest.mark.parametrize("gift", GIFTS.values(), ids=GIFTS.keys())
@pytest.mark.parametrize("place", ["v1", PREFIX, ENTRY, f"{ENTRY}/entry.json", f"{ENTRY}/image.cubin"])
def test_nor_is_it_from_a_site(path, tmp_path, monkeypatch, place, gift):
    """A site's folder that is right at the top is looked into just the same; the user's own folder serves."""
    reopen(tmp_path / "user").put(entry_of(0, log="own"))
    gift(monkeypatch, path / place)
    cache = reopen(tmp_path / "user", sites=[path])
    with recorded() as told:
        assert cache.get(key_of(0)).log == "own"
    assert len(told) == 1
    assert any(reason in told[0] for reason in REASONS)


@pytest.mark.parametrize("place", [f"{ENTRY}/entry.json", f"{ENTRY}/image.cubin", ENTRY])
def test_an_entry_that_others_could_have_written_is_replaced(path, place):
    """It is set aside, like damage, and the next process has an entry of its own."""
    (path / place).chmod(0o777)
    with pytest.warns(RuntimeWarning, match="set aside"):
        assert reopen(path).get(key_of(0)) is None
    assert reopen(path).put(entry_of(0, log="own"))
    assert reopen(path).get(key_of(0)).log == "own"


def test_a_folder_of_entries_that_others_can_write_to_is_not_written(path):
    """Nothing is set aside from, or put into, a folder that is distrusted, however deep it is."""
    prefix = path / PREFIX
    prefix.chmod(0o777)
    before = snapshot(prefix)
    cache = reopen(path)
    with recorded() as told:
        assert cache.get(key_of(0)) is None
        assert not cache.put(entry_of(0, log="own"))
        with suppress(RemovalError):
            cache.prune(0)
            cache.clear()
    assert snapshot(prefix) == before
    assert all("can be written by other users" in text for text in told)


@pytest.mark.parametrize("mode", [0o777, 0o770])
def test_a_folder_that_is_distrusted_from_now_on_is_not_written(path, mode):
    """A process that has used a folder writes nothing more to it once others can: no entry, no lock, no error."""
    cache = reopen(path)
    use(cache)
    cache.put(entry_of(9))
    (path / "v1").chmod(mode)
    before = snapshot(path)
    told = use(cache)
    assert snapshot(path) == before
    assert len(told) == 1


def test_errors_others_could_have_left_are_not_raised(path):
    """A file in the place of a failed compile's error says nothing unless it is as this version writes it."""
    key, once = key_of(7), Once(EntryFolder(path), timeout=1)
    before = once.failure(key)
    for text in ("[]", "{}", '{"module": [], "arch": {}, "message": 1, "log": 2, "flags": "abc", "bad_names": [1]}'):
        (path / "v1" / "locks" / f"{key}.failed").write_text(text)
        (path / "v1" / "locks" / f"{key}.failed").chmod(0o600)
        assert once.failure(key).left
        assert once.error_since(before, key) is None


def test_its_owner_may_link_files(path, tmp_path):
    """Hard links, as backups make them, do no harm: who owns a file, and may write to it, is the same at each name."""
    shutil.copytree(path, tmp_path / "backup", copy_function=os.link)
    assert reopen(path).get(key_of(0)) == entry_of(0)
    assert reopen(tmp_path / "backup").get(key_of(0)) == entry_of(0)


def test_a_bundle_is_not_written_through_a_link(path, tmp_path):
    """A link in the bundle's place is replaced, and what it leads to stays."""
    (tmp_path / "precious").write_text("precious")
    (tmp_path / "all.bundle").symlink_to("precious")
    export_bundle(reopen(path), tmp_path / "all.bundle")
    assert (tmp_path / "precious").read_text() == "precious"
    assert import_bundle(reopen(tmp_path / "other"), tmp_path / "all.bundle") >= 1
