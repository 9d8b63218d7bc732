"""The disk cache: publication, damage, unwritable places."""

from __future__ import annotations

import json
import os
import warnings

import pytest

from hatch_cuda_kernels.arch import SmArch
from hatch_cuda_kernels.cache import DiskCache, Entry, open_cache
from hatch_cuda_kernels.cache.location import default_cache_path
from hatch_cuda_kernels.errors import InputError
from hatch_cuda_kernels.image import Symbol

KEY = "ab" + "0" * 62


def entry(key=KEY, image=b"\x7fELF image"):
    """Return an entry with a bit of everything."""
    return Entry(
        key=key, module="m", kind="cubin", arch=SmArch(9, 0, "a"), image=image,
        kernels=(Symbol("k<int>", "_Z1kIiEvv", ("u64", "b8[16]:8")),), globals=(Symbol("g", "g"),),
        resources={"_Z1kIiEvv": {"registers": 8}}, ptx_isa=(9, 0), toolchain={"nvrtc": "13.0.88", "headers": ""},
        log="", created="2026-01-01T00:00:00+00:00", seconds=0.5,
    )  # fmt: skip


@pytest.fixture
def path(tmp_path):
    """Return a cache folder that does not exist yet."""
    return tmp_path / "cache"


def reopen(path):
    """Return a cache object that has seen nothing yet, as another process would."""
    return DiskCache(path, max_bytes=1 << 20)


def folder(path):
    """Return the entry's folder."""
    return path / "v1" / KEY[:2] / KEY


def test_another_process_reads_what_was_put(path):
    """Everything known about an image survives the disk."""
    reopen(path).put(entry())
    assert reopen(path).get(KEY) == entry()


def test_the_image_lies_there_raw(path):
    """Cuobjdump can read the file as it is, and entry.json says what it is."""
    reopen(path).put(entry())
    assert (folder(path) / "image.cubin").read_bytes() == b"\x7fELF image"
    described = json.loads((folder(path) / "entry.json").read_text())
    assert (described["arch"], described["toolchain"]["nvrtc"]) == ("sm_90a", "13.0.88")


def test_an_unknown_key_is_a_miss(path):
    """Nothing there is None, without a warning and without making the folder."""
    assert reopen(path).get(KEY) is None
    assert not path.exists()


def test_get_reads_the_disk_once(path):
    """A second get is answered from memory."""
    cache = reopen(path)
    reopen(path).put(entry())
    assert cache.get(KEY) is cache.get(KEY)


DAMAGE = {
    "truncated image": lambda path: (path / "image.cubin").write_bytes(b"\x7fE"),
    "flipped bit": lambda path: (path / "image.cubin").write_bytes(b"\x7fELF imagf"),
    "missing image": lambda path: (path / "image.cubin").unlink(),
    "empty description": lambda path: (path / "entry.json").write_bytes(b""),
    "no JSON": lambda path: (path / "entry.json").write_text("{"),
    "JSON of another shape": lambda path: (path / "entry.json").write_text("[1]"),
    "not text": lambda path: (path / "entry.json").write_bytes(b"\xff\xfe\x00"),
    "field missing": lambda path: edit(path, "kernels", None),
    "wrong type": lambda path: edit(path, "ptx_isa", 9),
    "another key": lambda path: edit(path, "key", "cd" * 32),
    "a path as kind": lambda path: edit(path, "kind", "../../x"),
}


def edit(path, name, value):
    """Change one field of entry.json, or drop it."""
    data = json.loads((path / "entry.json").read_text())
    data = {key: old for key, old in data.items() if key != name} | ({} if value is None else {name: value})
    (path / "entry.json").write_text(json.dumps(data))


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE.keys())
def test_damage_is_a_miss_with_one_warning_and_is_set_aside(path, damage):
    """A bad entry never raises and never loads; the next put replaces it."""
    reopen(path).put(entry())
    damage(folder(path))
    cache = reopen(path)
    with pytest.warns(RuntimeWarning, match="set aside"):
        assert cache.get(KEY) is None
    assert not folder(path).exists()
    cache.put(entry())
    assert reopen(path).get(KEY) == entry()


def test_an_entry_of_another_schema_is_left_alone(path):
    """What a newer version wrote is a miss and stays for it."""
    reopen(path).put(entry())
    edit(folder(path), "schema", 99)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert reopen(path).get(KEY) is None
    assert folder(path).exists()


@pytest.mark.skipif(os.name == "nt", reason="a file in place of a folder fails differently")
def test_a_place_that_cannot_be_written_lives_in_memory(path):
    """Where the folder is a file, put warns once and this process still has its images."""
    path.write_text("in the way")
    cache = reopen(path)
    with pytest.warns(RuntimeWarning, match="images live in memory only"):
        cache.put(entry())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cache.put(entry(key="cd" * 32))
    assert cache.get(KEY) == entry()
    assert not cache.info().writable


def test_put_leaves_an_earlier_entry_alone(path):
    """Equal keys have equal images: the first folder published stays, and no temporary is left."""
    reopen(path).put(entry())
    before = (folder(path) / "entry.json").stat().st_ino
    reopen(path).put(entry())
    assert (folder(path) / "entry.json").stat().st_ino == before
    assert not list((path / "v1" / "tmp").iterdir())


def test_info_and_clear(path):
    """The counts are true, and clear removes what they count."""
    cache = reopen(path)
    cache.put(entry())
    info = cache.info()
    assert (info.path, info.entries, info.max_bytes, info.writable) == (str(path), 1, 1 << 20, True)
    assert info.bytes == sum(file.stat().st_size for file in folder(path).iterdir())
    assert cache.clear() == 1
    assert cache.get(KEY) is None
    assert cache.info().entries == 0


def test_environment_says_where_and_how_large(tmp_path, monkeypatch):
    """The folder and the cap come from the environment; a cap that is no number is an error."""
    monkeypatch.setenv("HATCH_CUDA_KERNELS_CACHE_DIR", str(tmp_path / "here"))
    monkeypatch.setenv("HATCH_CUDA_KERNELS_CACHE_MAX_BYTES", "1000")
    assert open_cache().path == tmp_path / "here"
    assert open_cache().max_bytes == 1000
    assert open_cache() is open_cache()
    monkeypatch.setenv("HATCH_CUDA_KERNELS_CACHE_MAX_BYTES", "1 GiB")
    with pytest.raises(InputError, match="'1 GiB' is not a positive number of bytes"):
        open_cache()


def test_default_place_is_the_platforms(monkeypatch, tmp_path):
    """Without the variable, the cache is where the platform keeps caches."""
    monkeypatch.delenv("HATCH_CUDA_KERNELS_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_cache_path() == tmp_path / "hatch-cuda-kernels"
