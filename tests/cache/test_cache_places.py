"""Places that cannot be used: full, read-only, a file, no home."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys

import pytest
from cache_entries import entry_of, folder_of, key_of, recorded, reopen
from cache_processes import run_mounted

from hatch_cuda_kernels.cache import disk, open_cache
from hatch_cuda_kernels.cache.disk import default_cache_path


@pytest.fixture
def path(tmp_path):
    """Return a cache folder that does not exist yet."""
    return tmp_path / "cache"


def use(cache):
    """Use a cache in every way; fail where it does not behave as one that lives in memory, and return its warnings."""
    with recorded() as told:
        assert cache.get(key_of(0)) is None
        assert not cache.put(entry_of(0))
        assert not cache.put(entry_of(1))
        assert cache.get(key_of(0)) == entry_of(0)
        assert cache.path_of(entry_of(0)) is None
        assert cache.get_or_make(key_of(2), lambda: entry_of(2)) == (entry_of(2), True)
        assert cache.get_or_make(key_of(2), lambda: entry_of(2)) == (entry_of(2), False)
        assert list(cache.entries()) == []
        assert cache.info().entries == 0
        assert not cache.info().writable
        assert (cache.prune(0), cache.clear()) == (0, 0)
    return told


def test_a_full_disk(tmp_path):
    """Where the disk is full, one warning is given, images live in memory, and what is on disk is whole."""
    answer = run_mounted(tmp_path / "disk", "size=160k", "fill", path=tmp_path / "disk" / "cache", count=30)
    assert 1 <= answer["on disk"] < 30
    assert len(answer["warnings"]) == 1
    assert "No space left" in answer["warnings"][0]
    assert answer["remembered"]
    assert answer["whole"]
    assert answer["again"]


def test_a_full_disk_of_inodes(tmp_path):
    """A quota of files is a full disk too."""
    answer = run_mounted(tmp_path / "disk", "nr_inodes=60", "fill", path=tmp_path / "disk" / "cache", count=30)
    assert 1 <= answer["on disk"] < 30
    assert len(answer["warnings"]) == 1
    assert answer["remembered"]
    assert answer["whole"]
    assert answer["again"]


def test_a_read_only_file_system(tmp_path):
    """What is there is read, what is not lives in memory, nothing is changed, and each trouble is told once."""
    answer = run_mounted(tmp_path / "disk", "size=1m", "read_only", path=tmp_path / "disk" / "cache")
    told = answer.pop("warnings")
    assert answer == {
        "hit": True,
        "damaged": True,
        "put": False,
        "made": True,
        "made again": False,
        "writable": False,
        "entries": 1,
        "refused": [True, True],
        "same": True,
    }
    assert len(told) == 2
    assert "damaged" in told[0]
    assert "Read-only file system" in told[1]


@pytest.mark.parametrize("call", ["mkdir", "open", "rename", "replace", "fstat"])
@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EDQUOT, errno.EIO])
def test_an_error_at_any_call_is_told_once_and_loses_nothing(path, monkeypatch, call, error):
    """Whichever call fails, and how: one warning at most, the image is used, and is on disk where none is given."""
    real, left, steps = getattr(os, call), 0, 0

    def failing(*arguments, **settings):
        nonlocal left
        left -= 1
        if left == 0:
            raise OSError(error, os.strerror(error))
        return real(*arguments, **settings)

    while left <= 0:
        steps += 1
        left = steps
        shutil.rmtree(path, ignore_errors=True)
        cache = reopen(path)
        with monkeypatch.context() as broken, recorded() as told:
            broken.setattr(os, call, failing)
            assert cache.get_or_make(key_of(0), lambda: entry_of(0)) == (entry_of(0), True)
        assert len(told) <= 1
        assert cache.get(key_of(0)) == entry_of(0)
        assert reopen(path).get(key_of(0)) in ((None, entry_of(0)) if told else (entry_of(0),))
        assert not list(path.glob("v1/tmp/*"))
    assert steps >= 2


@pytest.mark.skipif(os.name == "nt", reason="a file in place of a folder fails differently")
@pytest.mark.parametrize("place", ["cache", "cache/below", "cache/below/that"])
def test_a_file_in_the_way(tmp_path, place):
    """Where the folder, or one above it, is a file, this process has its images all the same, after one warning."""
    (tmp_path / "cache").write_text("in the way")
    told = use(reopen(tmp_path / place))
    assert told == [f"the kernel cache is not used: {tmp_path / place} is a file, not a folder, or is in a file"]


def test_a_file_in_place_of_a_site_folder(tmp_path):
    """It is named, once, and the other folders are used."""
    (tmp_path / "site").write_text("in the way")
    cache = reopen(tmp_path / "cache", sites=[tmp_path / "site"])
    with recorded() as told:
        assert cache.put(entry_of(0))
        assert [cache.get(key_of(number)) for number in (0, 1, 2)] == [entry_of(0), None, None]
    assert len(told) == 1
    assert f"{tmp_path / 'site'} is a file" in told[0]


def test_no_place_at_all():
    """Without a folder everything works in memory, without a warning: that was given where the place was looked for."""
    assert use(reopen(None)) == []


@pytest.mark.parametrize("inside", ["v1", "v1/tmp", f"v1/{key_of(0)[:2]}", f"v1/{key_of(0)[:2]}/{key_of(0)}"])
def test_a_file_in_place_of_a_folder_of_the_cache(path, inside):
    """A stray file in the cache costs an image's place on disk, if anything, and no exception."""
    (path / inside).parent.mkdir(parents=True)
    (path / inside).write_text("in the way")
    cache = reopen(path)
    with recorded() as told:
        assert cache.get_or_make(key_of(0), lambda: entry_of(0)) == (entry_of(0), True)
    assert len(told) <= 1
    assert cache.get(key_of(0)) == entry_of(0)
    assert reopen(path).get(key_of(0)) == (None if told else entry_of(0))


def home(monkeypatch, path=None):
    """Set HOME, or take it and the user's entry away."""
    for name in ("HATCH_CUDA_KERNELS_CACHE_DIR", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    if path is not None:
        monkeypatch.setenv("HOME", str(path))


@pytest.mark.skipif(sys.platform != "linux", reason="another platform's way to a home folder")
@pytest.mark.parametrize("stated", ["", "~/kernels"])
def test_a_user_without_a_home(monkeypatch, stated):
    """A container's user without HOME and without an entry has a cache in memory, and is told so once."""
    home(monkeypatch)
    if stated:
        monkeypatch.setenv("HATCH_CUDA_KERNELS_CACHE_DIR", stated)
    monkeypatch.setattr("pwd.getpwuid", lambda uid: {}[uid])
    disk._warn_homeless.cache_clear()
    with recorded() as told:
        cache = open_cache()
        assert open_cache().info().path == ""
    assert len(told) == 1
    assert "set HATCH_CUDA_KERNELS_CACHE_DIR to a folder" in told[0]
    assert use(cache) == []


@pytest.mark.skipif(sys.platform != "linux", reason="another platform's caches are elsewhere")
def test_a_home_that_cannot_be_written(monkeypatch, tmp_path):
    """A HOME that does not exist and cannot be made (a file is in its way) is one warning, not a crash."""
    (tmp_path / "home").write_text("")
    home(monkeypatch, tmp_path / "home")
    assert default_cache_path() == tmp_path / "home" / ".cache" / "hatch-cuda-kernels"
    assert len(use(open_cache())) == 1


def test_importing_touches_nothing(tmp_path):
    """Importing the package, and looking for the cache, makes no folder, with or without a home."""
    code = "import hatch_cuda_kernels, hatch_cuda_kernels.cache as c; print(c.open_cache().info().entries)"
    environment = {"HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"]}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("0\n", "")
    assert list(tmp_path.iterdir()) == []


def test_too_many_open_files_is_no_damage(path, monkeypatch):
    """An entry that cannot be read just now is a miss with a warning, and is there again later."""
    reopen(path).put(entry_of(0))

    def full(*_, **__):
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    cache = reopen(path)
    with monkeypatch.context() as broken, recorded() as told:
        broken.setattr(os, "open", full)
        assert cache.get(key_of(0)) is None
    assert "Too many open files" in told[0]
    assert cache.get(key_of(0)) == entry_of(0)
    assert folder_of(path, 0).exists()


def test_the_total_is_advice(path):
    """An entry whose size could not be counted is kept all the same."""
    (path / "v1" / "total.json").mkdir(parents=True)
    assert reopen(path).put(entry_of(0))
    assert reopen(path).get(key_of(0)) == entry_of(0)
    assert json.loads((folder_of(path, 0) / "entry.json").read_text())["key"] == key_of(0)
