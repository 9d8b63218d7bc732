"""Damage on disk: every byte of an entry may be lost or flipped, and what is loaded is right or nothing."""

from __future__ import annotations

import json
import os
import shutil
import warnings

import pytest
from cache_entries import edit, entry_of, folder_of, key_of, recorded, reopen

from hatch_cuda_kernels.cache import entry as entry_module
from hatch_cuda_kernels.cache import entry as folder_module
from hatch_cuda_kernels.cache import publishing

FILES = ("image.cubin", "entry.json")


@pytest.fixture
def path(tmp_path):
    """Return a cache that holds entry 0."""
    path = tmp_path / "cache"
    reopen(path).put(entry_of(0))
    return path


def read(path):
    """Return what a new process reads, and its warnings."""
    with recorded() as told:
        entry = reopen(path).get(key_of(0))
    return entry, told


def right_or_told(path):
    """Return whether a new process reads the right entry, or nothing with one warning."""
    entry, told = read(path)
    if entry is None:
        return len(told) == 1 and "set aside" in told[0] and not folder_of(path, 0).exists()
    return entry == entry_of(0) and not told


def rewrite(path, name, data):
    """Put the sound entry back, with other bytes in one file."""
    shutil.rmtree(path, ignore_errors=True)
    reopen(path).put(entry_of(0))
    (folder_of(path, 0) / name).write_bytes(data)


@pytest.mark.parametrize("name", FILES)
def test_a_truncated_file_is_a_miss(path, name):
    """Cut at any 64th byte, an entry is not loaded, and it is said."""
    whole = (folder_of(path, 0) / name).read_bytes()
    for length in range(0, len(whole), 64):
        rewrite(path, name, whole[:length])
        assert read(path)[0] is None
        rewrite(path, name, whole[:length])
        assert right_or_told(path)


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_a_flipped_bit_is_found(path, name):
    """One bit flipped anywhere, in a lowered name as well as in the image, gives the right entry or none."""
    whole = (folder_of(path, 0) / name).read_bytes()
    wrong = []
    for place in range(0, len(whole), 5):
        data = bytearray(whole)
        data[place] ^= 1 << (place // 5 % 8)
        rewrite(path, name, bytes(data))
        if not right_or_told(path):
            wrong.append((place, 1 << (place // 5 % 8)))
    assert not wrong


def seal(**changes):
    """Return a change of fields by somebody who makes the description's digest right."""
    return lambda folder: edit(folder, **changes)


def into(name, data):
    """Return a change of one file's bytes."""
    return lambda folder: (folder / name).write_bytes(data)


def replace_by_folder(folder):
    """Put a folder where the image should be."""
    (folder / "image.cubin").unlink()
    (folder / "image.cubin").mkdir()


def replace_by_pipe(folder):
    """Put a pipe, which nobody writes to, where the description should be."""
    (folder / "entry.json").unlink()
    os.mkfifo(folder / "entry.json")


DAMAGE = {
    "missing image": lambda folder: (folder / "image.cubin").unlink(),
    "empty image": into("image.cubin", b""),
    "longer image": lambda folder: (folder / "image.cubin").write_bytes(entry_of(0).image + b"\0"),
    "image of another entry": into("image.cubin", entry_of(1).image),
    "empty description": into("entry.json", b""),
    "no JSON": into("entry.json", b"{"),
    "JSON of another shape": into("entry.json", b"[1]"),
    "JSON of no object": into("entry.json", b"null"),
    "not text": into("entry.json", b"\xff\xfe\x00"),
    "nested too deeply": into("entry.json", b"[" * 100_000),
    "a number too long": into("entry.json", b'{"schema": ' + b"9" * 5000 + b"}"),
    "edited by hand": lambda folder: (folder / "entry.json").write_text(
        (folder / "entry.json").read_text().replace("_Z1kIiEvv", "_Z1kIfEvv")
    ),
    "no digest": lambda folder: (folder / "entry.json").write_text(
        json.dumps({k: v for k, v in json.loads((folder / "entry.json").read_text()).items() if k != "check"})
    ),
    "field missing": seal(kernels=None),
    "key missing": seal(key=None),
    "wrong type": seal(ptx_isa=9),
    "wrong shape": seal(kernels=[["k"]]),
    "too short": seal(ptx_isa=[]),
    "no architecture": seal(arch="sm_"),
    "another key": seal(key=key_of(1)),
    "a path as kind": seal(kind="../../x"),
    "a path as file": seal(file="../../../../etc/passwd"),
    "a folder as image": replace_by_folder,
    "a pipe as description": replace_by_pipe,
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE.keys())
def test_damage_is_a_miss_with_one_warning_and_is_set_aside(path, damage):
    """A bad entry never raises and never loads; the next put replaces it, and it can be looked at."""
    damage(folder_of(path, 0))
    assert read(path)[0] is None
    assert not folder_of(path, 0).exists()
    assert len(list((path / "v1" / "quarantine").iterdir())) == 1
    assert reopen(path).put(entry_of(0))
    assert read(path) == (entry_of(0), [])


def test_the_warning_says_what_and_where(path):
    """Whoever reads it can find the entry, and is told once though two are damaged."""
    reopen(path).put(entry_of(1))
    for number in (0, 1):
        (folder_of(path, number) / "image.cubin").write_bytes(b"")
    cache = reopen(path)
    with recorded() as told:
        assert cache.get(key_of(0)) is None
        assert cache.get(key_of(1)) is None
    assert len(told) == 1
    assert all(part in told[0] for part in (str(path), key_of(0), "does not match its digest"))


def test_a_folder_without_a_description_is_a_miss_and_is_replaced(path):
    """Half a folder, as a file system that lost power may leave it, is no entry and in nobody's way."""
    (folder_of(path, 0) / "entry.json").unlink()
    assert read(path) == (None, [])
    assert reopen(path).put(entry_of(0))
    assert read(path) == (entry_of(0), [])


def test_only_the_last_damaged_entries_are_kept(path):
    """A disk that damages entry after entry does not fill up with them."""
    cache = reopen(path)
    with warnings.catch_warnings(action="ignore"):
        for number in range(30):
            cache.put(entry_of(number))
            (folder_of(path, number) / "image.cubin").write_bytes(b"")
            assert reopen(path).get(key_of(number)) is None
    assert len(list((path / "v1" / "quarantine").iterdir())) <= 8


def test_a_sound_entry_is_not_set_aside_for_the_damaged_one_before_it(path, monkeypatch):
    """A process that found damage, while another one found and replaced it, leaves the new entry alone."""
    image = folder_of(path, 0) / "image.cubin"
    image.write_bytes(b"damaged")
    quarantine = publishing.quarantine

    def replaced_just_before(entries, key):
        image.write_bytes(entry_of(0).image)
        return quarantine(entries, key)

    monkeypatch.setattr(publishing, "quarantine", replaced_just_before)
    assert read(path)[1] == []
    assert read(path) == (entry_of(0), [])


def test_an_entry_of_another_schema_is_left_alone(path):
    """What a newer version wrote here is a miss without a warning, and stays for it."""
    edit(folder_of(path, 0), schema=99, key=None, kind="fatbin", new=[1])
    before = (folder_of(path, 0) / "entry.json").read_bytes()
    assert read(path) == (None, [])
    cache = reopen(path)
    assert cache.get_or_make(key_of(0), lambda: entry_of(0)) == (entry_of(0), True)
    assert (folder_of(path, 0) / "entry.json").read_bytes() == before


def test_two_schemas_share_a_cache(path, monkeypatch):
    """Two versions with entries of different schemas keep the same key side by side."""
    with monkeypatch.context() as newer:
        newer.setattr(entry_module, "ENTRY_SCHEMA", 2)
        newer.setattr(folder_module, "ENTRY_SCHEMA", 2)
        assert reopen(path).get(key_of(0)) is None
        reopen(path).put(entry_of(0, size=700))
        assert reopen(path).get(key_of(0)) == entry_of(0, size=700)
    assert read(path) == (entry_of(0), [])
    assert sorted(child.name for child in path.iterdir()) == ["v1", "v2"]
