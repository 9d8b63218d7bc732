"""The rules of Windows, where other processes hold files open, tried by injected errors on any platform."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from cache_entries import entry_of, folder_of, key_of, recorded, reopen

from hatch_cuda_kernels.cache import files, publishing
from hatch_cuda_kernels.cache.entry import EntryFolder


@pytest.fixture
def path(tmp_path):
    """Return a cache folder that does not exist yet."""
    return tmp_path / "cache"


@pytest.fixture
def pauses(monkeypatch):
    """Be on Windows, and return the pauses that were made, none of which takes time."""
    made = []
    monkeypatch.setattr(files, "IS_WINDOWS", True)
    monkeypatch.setattr(files, "BY_DESCRIPTOR", False)
    monkeypatch.setattr(time, "sleep", made.append)
    return made


def busy(monkeypatch, owner, name, times):
    """Make a call fail that often as it does while somebody else has the file open."""
    real, left = getattr(owner, name), [times]

    def called(*arguments, **settings):
        if left[0]:
            left[0] -= 1
            raise PermissionError(13, "The process cannot access the file because it is being used by another process")
        return real(*arguments, **settings)

    monkeypatch.setattr(owner, name, called)


@pytest.mark.parametrize("times", [1, 7])
def test_a_rename_waits_for_who_has_the_file_open(path, pauses, monkeypatch, times):
    """A virus scanner in a new folder delays an entry, and does not cost it."""
    busy(monkeypatch, os, "rename", times)
    assert reopen(path).put(entry_of(0))
    assert reopen(path).get(key_of(0)) == entry_of(0)
    assert len(pauses) == times
    assert sum(pauses) < 1


def test_a_read_waits_for_who_has_the_file_open(path, pauses, monkeypatch):
    """A reader gets its entry after the scanner."""
    reopen(path).put(entry_of(0))
    busy(monkeypatch, os, "open", 3)
    assert reopen(path).get(key_of(0)) == entry_of(0)
    assert len(pauses) == 3


def test_a_file_that_stays_busy_is_given_up(path, pauses, monkeypatch):
    """After a little over half a second the image lives in memory, with one warning and no folder left behind."""
    busy(monkeypatch, os, "rename", 10**9)
    cache = reopen(path)
    with recorded() as told:
        assert not cache.put(entry_of(0))
        assert not cache.put(entry_of(1))
    assert len(told) == 1
    assert "live in memory only" in told[0]
    assert cache.get(key_of(0)) == entry_of(0)
    assert not list(path.glob("v1/tmp/*"))
    assert 0.5 < sum(pauses) / 2 < 1


def test_elsewhere_nobody_waits(path, monkeypatch):
    """Where a file that is open can be renamed, a refusal is one, and is told at once."""
    monkeypatch.setattr(files, "IS_WINDOWS", False)
    monkeypatch.setattr(time, "sleep", lambda _: pytest.fail("waited"))
    busy(monkeypatch, os, "rename", 1)
    with pytest.warns(RuntimeWarning, match="live in memory only"):
        assert not reopen(path).put(entry_of(0))


def test_an_entry_that_was_published_while_this_one_waited(path, pauses, monkeypatch):
    """A rename onto an entry fails with another error on Windows, and is a success all the same."""
    reopen(path).put(entry_of(0))
    real, asked = publishing.has_entry, []

    def not_at_first(prefix, key):
        asked.append(key)
        return len(asked) > 1 and real(prefix, key)

    monkeypatch.setattr(publishing, "has_entry", not_at_first)
    busy(monkeypatch, os, "rename", 10**9)
    assert reopen(path).put(entry_of(0))
    assert not list(path.glob("v1/tmp/*"))


def test_a_damaged_entry_in_use_is_told_and_not_loaded(path, pauses, monkeypatch):
    """Where it cannot be set aside, it is a miss all the same."""
    reopen(path).put(entry_of(0))
    (folder_of(path, 0) / "image.cubin").write_bytes(b"damaged")
    busy(monkeypatch, os, "rename", 10**9)
    with pytest.warns(RuntimeWarning, match="damaged"):
        assert reopen(path).get(key_of(0)) is None


def test_deep_caches_get_the_prefix(monkeypatch):
    r"""A folder so deep that an entry would pass the limit of 260 characters is written ``\\\\?\\C:\\...``."""
    short, long, share = "C:\\Users\\me\\cache", "C:\\" + "d" * 200, "\\\\host\\share\\" + "d" * 200
    assert str(EntryFolder(Path(long)).path) == long
    monkeypatch.setattr(files, "IS_WINDOWS", True)
    assert str(EntryFolder(Path(short)).path) == short
    assert str(EntryFolder(Path(long)).path) == f"\\\\?\\{long}"
    assert str(EntryFolder(Path(share)).path) == "\\\\?\\UNC\\host\\share\\" + "d" * 200
    assert str(EntryFolder(EntryFolder(Path(long)).path).path) == f"\\\\?\\{long}"
    inside = EntryFolder(Path("C:\\" + "d" * 147)).image_path(entry_of(0))
    assert len(str(inside)) < 260
