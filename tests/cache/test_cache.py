"""The disk cache as one user has it: what goes in comes out, in this process and in others."""

from __future__ import annotations

import json

import pytest
from cache_entries import entry_of, folder_of, key_of, reopen, total_bytes

from hatch_cuda_kernels.cache import disk, open_cache
from hatch_cuda_kernels.cache.disk import default_cache_path
from hatch_cuda_kernels.errors import InputError


@pytest.fixture
def path(tmp_path):
    """Return a cache folder that does not exist yet."""
    return tmp_path / "cache"


def test_another_process_reads_what_was_put(path):
    """Everything known about an image survives the disk."""
    assert reopen(path).put(entry_of(0))
    assert reopen(path).get(key_of(0)) == entry_of(0)


@pytest.mark.parametrize("kind", ["cubin", "ptx", "ltoir"])
@pytest.mark.parametrize("size", [0, 1, 100_000])
def test_images_of_any_kind_and_size(path, kind, size):
    """An image may be CUBIN, PTX or LTO-IR, and empty."""
    entry = entry_of(0, size, kind=kind, log="warning: \u00e9\nline 2", seconds=0.0)
    assert reopen(path).put(entry)
    assert reopen(path).get(key_of(0)) == entry


def test_the_image_lies_there_raw(path):
    """Cuobjdump can read the file as it is, and entry.json says what it is."""
    reopen(path).put(entry_of(0))
    assert (folder_of(path, 0) / "image.cubin").read_bytes() == entry_of(0).image
    described = json.loads((folder_of(path, 0) / "entry.json").read_text())
    assert (described["arch"], described["toolchain"]["nvrtc"]) == ("sm_90a", "13.0.88")


def test_an_unknown_key_is_a_miss(path):
    """Nothing there is None, without a warning and without making the folder."""
    assert reopen(path).get(key_of(0)) is None
    assert not path.exists()


def test_get_reads_the_disk_once(path):
    """A second get is answered from memory."""
    cache = reopen(path)
    reopen(path).put(entry_of(0))
    assert cache.get(key_of(0)) is cache.get(key_of(0))


def test_memory_is_bounded_where_the_disk_has_the_images(path, monkeypatch):
    """What was not used for longest is forgotten and read again; what is on no disk is kept."""
    monkeypatch.setattr(disk, "_MEMORY_BYTES", 2000)
    cache = reopen(path, max_bytes=60_000)
    big = entry_of(9, size=100_000)
    assert not cache.put(big)
    for number in range(4):
        cache.put(entry_of(number))
    reopen(path).prune(0)
    assert [cache.get(key_of(number)) is not None for number in range(4)] == [False, True, True, True]
    assert cache.get(key_of(9)) is big


def test_put_leaves_an_earlier_entry_alone(path):
    """Equal keys have equal images: the first folder published stays, and no temporary is left."""
    reopen(path).put(entry_of(0))
    before = (folder_of(path, 0) / "entry.json").stat().st_ino
    assert reopen(path).put(entry_of(0))
    assert (folder_of(path, 0) / "entry.json").stat().st_ino == before
    assert not list((path / "v1" / "tmp").iterdir())


def test_info_and_clear(path):
    """The counts are true, and clear removes what they count."""
    cache = reopen(path)
    cache.put(entry_of(0))
    info = cache.info()
    assert (info.path, info.entries, info.max_bytes, info.writable) == (str(path), 1, 1 << 20, True)
    assert info.bytes == total_bytes(path)
    assert cache.clear() == 1
    assert cache.get(key_of(0)) is None
    assert cache.info().entries == 0


def test_nothing_is_made_by_looking(path):
    """Info, listing, pruning and clearing a cache that is not there do not make it."""
    cache = reopen(path)
    assert cache.info().writable
    assert (cache.info().entries, list(cache.entries()), cache.prune(0), cache.clear()) == (0, [], 0, 0)
    assert not path.exists()


def test_environment_says_where_and_how_large(tmp_path, monkeypatch):
    """The folder and the cap come from the environment; equal settings share one cache."""
    monkeypatch.setenv("HATCH_CUDA_KERNELS_CACHE_DIR", str(tmp_path / "here"))
    monkeypatch.setenv("HATCH_CUDA_KERNELS_CACHE_MAX_BYTES", "1000")
    assert open_cache().path == tmp_path / "here"
    assert open_cache().max_bytes == 1000
    assert open_cache() is open_cache()
    monkeypatch.setenv("HATCH_CUDA_KERNELS_CACHE_MAX_BYTES", "2 GiB")
    assert open_cache().max_bytes == 2 << 30


@pytest.mark.parametrize(
    "cap", ["1 GB x", "0", "0MB", "-1", "1e9", "1_000", "\u0661", "9" * 19, "9" * 5000, "\x1b[31m", " 5"]
)
def test_a_cap_that_is_not_a_size_is_an_error(monkeypatch, cap):
    """It says what to write, in a line of reasonable length."""
    monkeypatch.setenv("HATCH_CUDA_KERNELS_CACHE_MAX_BYTES", cap)
    with pytest.raises(InputError, match="is not a size; write bytes, or a unit as in 2GiB") as caught:
        open_cache()
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 250


def test_the_largest_cap(monkeypatch):
    """More bytes than any disk has are a cap like any other."""
    monkeypatch.setenv("HATCH_CUDA_KERNELS_CACHE_MAX_BYTES", "9" * 18)
    assert open_cache().max_bytes == 10**18 - 1
    assert open_cache().put(entry_of(0))


def test_the_folder_may_be_named_from_home_or_from_here(tmp_path, monkeypatch):
    """``~`` is the user's home, and a relative folder is taken from where the process is."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("HATCH_CUDA_KERNELS_CACHE_DIR", "~/kernels")
    assert default_cache_path() == tmp_path / "kernels"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HATCH_CUDA_KERNELS_CACHE_DIR", "kernels")
    assert default_cache_path() == tmp_path / "kernels"


def test_default_place_is_the_platforms(monkeypatch, tmp_path):
    """Without the variable, the cache is where the platform keeps caches."""
    monkeypatch.delenv("HATCH_CUDA_KERNELS_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_cache_path() == tmp_path / "hatch-cuda-kernels"
