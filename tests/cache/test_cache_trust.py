"""Whose images are loaded: nobody else's; what is written is private; a site's folder is read and never written."""

from __future__ import annotations

import os
import stat
import sys

import pytest
from cache_entries import entry_of, folder_of, key_of, recorded, reopen, total_bytes
from cache_users import hand_over

from hatch_cuda_kernels.cache import disk, files, open_cache

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the profile folder's access list does this on Windows")

TRUST = "HATCH_CUDA_KERNELS_CACHE_TRUST"
SITES = "HATCH_CUDA_KERNELS_PATH"


@pytest.fixture
def path(tmp_path):
    """Return a cache that holds entry 0."""
    path = tmp_path / "cache"
    reopen(path).put(entry_of(0))
    return path


def is_refused(cache, reason):
    """Return whether nothing of a cache on disk is used, with one warning that gives the reason and the way out."""
    with recorded() as told:
        assert cache.get(key_of(0)) is None
        assert not cache.put(entry_of(5))
        assert cache.get_or_make(key_of(6), lambda: entry_of(6)) == (entry_of(6), True)
        assert cache.get(key_of(5)) == entry_of(5)
        assert (cache.info().entries, cache.info().writable) == (0, False)
        assert (cache.clear(), cache.prune(0), list(cache.entries())) == (0, 0, [])
    return len(told) == 1 and reason in told[0] and f"{TRUST}=1" in told[0]


def test_another_users_folder_is_refused(path, monkeypatch):
    """Nothing is read from, or written to, a folder that belongs to somebody else."""
    hand_over(monkeypatch, path)
    before = total_bytes(path)
    assert is_refused(reopen(path), "belongs to another user (uid 12345)")
    assert total_bytes(path) == before


def test_another_users_folder_inside_is_refused(path, monkeypatch):
    """Neither where the folder of entries in it belongs to somebody else."""
    hand_over(monkeypatch, path / "v1")
    assert is_refused(reopen(path), "belongs to another user")


def test_a_folder_of_root_is_used(path, monkeypatch):
    """A container image's cache, made by root, serves the container's user."""
    for found in (path, *path.rglob("*"), *path.parents[:3]):
        hand_over(monkeypatch, found, user=0)
    monkeypatch.setattr(os, "geteuid", lambda: 54321)
    assert reopen(path).get(key_of(0)) == entry_of(0)


@pytest.mark.parametrize("inside", [".", "v1"])
@pytest.mark.parametrize("mode", [0o770, 0o777, 0o1777, 0o720, 0o702])
def test_a_folder_others_can_write_to_is_refused(path, mode, inside):
    """A group's or everybody's right to write is enough, sticky or not."""
    (path / inside).chmod(mode)
    assert is_refused(reopen(path), f"mode {mode:o}")


@pytest.mark.parametrize("mode", [0o700, 0o755, 0o750])
def test_a_folder_others_can_only_read_is_used(path, mode):
    """Letting others read is this user's choice."""
    path.chmod(mode)
    assert reopen(path).get(key_of(0)) == entry_of(0)


def test_a_user_may_trust_all_the_same(path, monkeypatch):
    """HATCH_CUDA_KERNELS_CACHE_TRUST=1 uses a shared folder; any other value does not."""
    path.chmod(0o777)
    hand_over(monkeypatch, path)
    monkeypatch.setenv(TRUST, "yes")
    assert is_refused(reopen(path), "belongs to another user")
    monkeypatch.setenv(TRUST, "1")
    assert reopen(path).get(key_of(0)) == entry_of(0)
    assert reopen(path).put(entry_of(1))


def test_the_environment_is_asked_again(path, monkeypatch):
    """A process that sets the variable, or mends the folder, goes on with the disk."""
    monkeypatch.setenv("HATCH_CUDA_KERNELS_CACHE_DIR", str(path))
    path.chmod(0o777)
    with pytest.warns(RuntimeWarning, match="can be written by other users"):
        assert open_cache().get(key_of(0)) is None
    path.chmod(0o700)
    assert open_cache().get(key_of(0)) == entry_of(0)


def test_a_folder_somebody_else_made_first(tmp_path, monkeypatch):
    """A cache that was not there when this process looked, and is another user's when it writes, is refused."""
    path = tmp_path / "cache"
    cache = reopen(path)
    assert cache.get(key_of(0)) is None
    path.mkdir()
    hand_over(monkeypatch, path)
    with pytest.warns(RuntimeWarning, match="belongs to another user"):
        assert not cache.put(entry_of(0))
    assert list(path.iterdir()) == []


def test_without_users_nobody_is_distrusted(path, monkeypatch):
    """On Windows, where there are no such modes, the profile folder's access list decides."""
    path.chmod(0o777)
    monkeypatch.delattr(os, "geteuid")
    assert files.distrust(path) is None


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o077, 0o027])
def test_what_is_written_is_private_whatever_the_umask(tmp_path, mask):
    """Folders are 0700 and files 0600, down from the first folder that had to be made."""
    path = tmp_path / "parent" / "cache"
    old = os.umask(mask)
    try:
        cache = reopen(path)
        cache.get_or_make(key_of(0), lambda: entry_of(0))
        cache.put(entry_of(1))
        (folder_of(path, 1) / "image.cubin").write_bytes(b"")
        with pytest.warns(RuntimeWarning, match="set aside"):
            reopen(path).get(key_of(1))
    finally:
        os.umask(old)
    modes = {found: stat.S_IMODE(found.stat().st_mode) for found in (path.parent, path, *path.rglob("*"))}
    modes.pop(next(path.glob("v1/quarantine/*/image.cubin")))  # this test wrote it
    assert {found: oct(mode) for found, mode in modes.items() if mode != (0o700 if found.is_dir() else 0o600)} == {}
    assert {"total.json", "total.lock", "locks", "tmp", "quarantine"} <= {found.name for found in modes}


def link_entry(path):
    """Put a link to another folder in an entry's place."""
    folder_of(path, 0).rename(path / "elsewhere")
    folder_of(path, 0).symlink_to(path / "elsewhere")


def link_file(name):
    """Return what puts a link in the place of one of an entry's files."""

    def link(path):
        file = folder_of(path, 0) / name
        file.rename(path / name)
        file.symlink_to(path / name)

    return link


LINKS = {"entry": link_entry, "description": link_file("entry.json"), "image": link_file("image.cubin")}


@pytest.mark.parametrize("link", LINKS.values(), ids=LINKS.keys())
def test_links_are_refused(path, link):
    """A symbolic link in an entry's place is damage, even one to the right bytes, and is replaced by the next put."""
    link(path)
    with pytest.warns(RuntimeWarning, match="symbolic link"):
        assert reopen(path).get(key_of(0)) is None
    assert reopen(path).put(entry_of(0))
    assert not folder_of(path, 0).is_symlink()
    assert reopen(path).get(key_of(0)) == entry_of(0)
    assert reopen(path).clear() == 1
    assert not list(path.glob("v1/??/*"))


def test_a_dangling_link_is_in_nobodys_way(path):
    """A link to nowhere is a miss, and is replaced by the next put."""
    link_entry(path)
    (path / "elsewhere").rename(path / "gone")
    with pytest.warns(RuntimeWarning, match="symbolic link"):
        assert reopen(path).get(key_of(0)) is None
    assert reopen(path).put(entry_of(0))
    assert reopen(path).get(key_of(0)) == entry_of(0)


@pytest.fixture
def sites(tmp_path, monkeypatch):
    """Return two site folders, each with entry 0 and one of its own, and a user's cache behind them."""
    first, second = tmp_path / "first", tmp_path / "second"
    for site, number in ((first, 1), (second, 2)):
        reopen(site).put(entry_of(0, log=site.name))
        reopen(site).put(entry_of(number))
    monkeypatch.setenv("HATCH_CUDA_KERNELS_CACHE_DIR", str(tmp_path / "user"))
    monkeypatch.setenv(SITES, os.pathsep.join(map(str, (tmp_path / "none", first, "", second))))
    disk._cache_at.cache_clear()
    return first, second


def test_sites_are_read_in_order_before_the_users_cache(sites, tmp_path):
    """The first folder named wins, a missing one is passed over, and what only one has is found there."""
    reopen(tmp_path / "user").put(entry_of(0, log="user"))
    reopen(tmp_path / "user").put(entry_of(3))
    assert open_cache().get(key_of(0)).log == "first"
    assert [open_cache().get(key_of(number)) for number in (1, 2, 3)] == [entry_of(1), entry_of(2), entry_of(3)]
    assert open_cache().path_of(entry_of(2)) == folder_of(sites[1], 2) / "image.cubin"
    assert open_cache().info().entries == 2


def snapshot(folder):
    """Return names, sizes and times of everything below a folder."""
    return {found: (found.stat().st_size, found.stat().st_mtime_ns) for found in (folder, *folder.rglob("*"))}


def test_sites_are_never_written(sites, tmp_path):
    """No image, no use, no quarantine, no lock: a site is as it was after hits, damage, puts, prune and clear."""
    (folder_of(sites[1], 2) / "image.cubin").write_bytes(b"damaged")
    for site in sites:
        os.utime(folder_of(site, 0) / "entry.json", (1, 1))
    before = [snapshot(site) for site in sites]
    cache = open_cache()
    assert cache.get(key_of(0)).log == "first"
    with pytest.warns(RuntimeWarning, match="damaged and not used"):
        assert cache.get_or_make(key_of(2), lambda: entry_of(2)) == (entry_of(2), True)
    assert cache.put(entry_of(4))
    cache.prune(0)
    cache.clear()
    assert [snapshot(site) for site in sites] == before
    assert [str(found) for found in cache.entries()] == []


def test_a_damaged_site_entry_falls_through(sites):
    """Where the first site's entry is damaged, the next one serves."""
    (folder_of(sites[0], 0) / "image.cubin").write_bytes(b"damaged")
    with pytest.warns(RuntimeWarning, match="damaged and not used"):
        assert open_cache().get(key_of(0)).log == "second"


def test_a_site_others_can_write_to_is_refused(sites):
    """A site folder may belong to anybody, but not be writable by everybody."""
    sites[0].chmod(0o777)
    with pytest.warns(RuntimeWarning, match="can be written by other users"):
        assert open_cache().get(key_of(0)).log == "second"
    assert open_cache().get(key_of(1)) is None


def test_a_site_of_another_user_is_used(sites, monkeypatch):
    """An administrator's folder, which this user named, is read."""
    for found in (sites[0], *sites[0].rglob("*")):
        hand_over(monkeypatch, found)
    assert open_cache().get(key_of(0)).log == "first"
