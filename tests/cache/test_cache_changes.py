"""Folders that vanish or change under a running process."""

from __future__ import annotations

import os
import shutil

import pytest
from cache_entries import entry_of, key_of, recorded, reopen

from hatch_cuda_kernels.cache import publishing


@pytest.fixture
def path(tmp_path):
    """Return a cache folder that does not exist yet."""
    return tmp_path / "cache"


CHANGES = {
    "removed": shutil.rmtree,
    "temporaries removed": lambda path: shutil.rmtree(path / "v1" / "tmp"),
    "entries removed": lambda path: shutil.rmtree(path / "v1" / key_of(1)[:2]),
    "locks removed": lambda path: shutil.rmtree(path / "v1" / "locks", ignore_errors=True),
    "replaced by an empty folder": lambda path: (shutil.rmtree(path), path.mkdir(mode=0o700)),
    "moved and linked": lambda path: (path.rename(path.with_name("moved")), path.symlink_to("moved")),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_a_folder_that_changes_between_operations(path, change):
    """Somebody removes or moves the cache of a running process, which goes on writing there without a word."""
    cache = reopen(path)
    assert cache.put(entry_of(0))
    assert cache.put(entry_of(1))
    change(path)
    assert cache.put(entry_of(2))
    assert cache.get_or_make(key_of(3), lambda: entry_of(3)) == (entry_of(3), True)
    assert cache.get(key_of(0)) == entry_of(0)
    assert reopen(path).get(key_of(2)) == entry_of(2)
    assert reopen(path).get(key_of(1)) in (None, entry_of(1))
    assert cache.clear() >= 2


@pytest.mark.skipif(os.name == "nt", reason="a file in place of a folder fails differently")
def test_a_folder_that_becomes_a_file(path):
    """A cache that turns into a file under a running process costs one warning."""
    cache = reopen(path)
    cache.put(entry_of(0))
    shutil.rmtree(path)
    path.write_text("now a file")
    with recorded() as told:
        assert not cache.put(entry_of(1))
        assert cache.get_or_make(key_of(2), lambda: entry_of(2)) == (entry_of(2), True)
    assert len(told) == 1
    assert f"{path} is a file" in told[0]
    assert cache.get(key_of(1)) == entry_of(1)


@pytest.mark.parametrize("step", ["write", "move"])
def test_a_folder_that_vanishes_in_the_middle_of_a_write(path, monkeypatch, step):
    """A cache that is cleared by hand while an image is written takes the image at the second try."""
    real, vanished = getattr(publishing, step), []

    def once(*arguments):
        if not vanished:
            vanished.append(shutil.rmtree(path))
        return real(*arguments)

    monkeypatch.setattr(publishing, step, once)
    assert reopen(path).put(entry_of(0))
    assert vanished
    assert reopen(path).get(key_of(0)) == entry_of(0)
