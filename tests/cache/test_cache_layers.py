"""A cache in a lower layer of an overlay, whose folders cannot be renamed; and what cannot be removed at all."""

from __future__ import annotations

import pytest
from cache_entries import disk_bytes, entry_of, folder_of, key_of, reopen
from cache_processes import Worker, run_bound, run_on_layer, run_together

pytestmark = pytest.mark.slow
SIZE = disk_bytes(entry_of(0))


@pytest.fixture
def layer(tmp_path):
    """Return a folder with a cache of three entries, as a build of a container image leaves it."""
    layer = tmp_path / "layer"
    layer.mkdir()
    cache = reopen(layer / "cache")
    assert all(cache.put(entry_of(number)) for number in range(3))
    return layer


def test_a_damaged_entry_of_a_layer_is_made_once(layer, tmp_path):
    """It is replaced above the layer: the next process has it."""
    folder = tmp_path / "merged"
    assert run_on_layer(layer, folder, "replace_damaged", path=folder / "cache", number=1) == [True, False]
    assert reopen(layer / "cache").get(key_of(1)) == entry_of(1)


@pytest.mark.parametrize("how", ["clear", "prune"])
def test_a_layer_is_cleared(layer, tmp_path, how):
    """Entries of the layer are gone for who is above it, and still in the layer."""
    folder = tmp_path / "merged"
    assert run_on_layer(layer, folder, "remove_all", path=folder / "cache", how=how) == [0, 0, ""]
    assert reopen(layer / "cache").info().entries == 3


def test_a_cap_below_the_size_of_a_layer_keeps_what_was_made_last(layer, tmp_path):
    """Entries of the layer make room, so that what is compiled stays for the next process."""
    folder = tmp_path / "merged"
    asked = {"path": folder / "cache", "numbers": [5, 6], "max_bytes": 2 * SIZE + 2000}
    assert run_on_layer(layer, folder, "ask_twice", **asked) == [True, True, False, False]


@pytest.mark.parametrize("how", ["clear", "prune"])
def test_what_cannot_be_removed_is_named(layer, how):
    """The others go, and the error says how many stay, where and why."""
    path = layer / "cache"
    *left, error = run_bound(folder_of(path, 1), "remove_all", path=path, how=how)
    assert left == [SIZE, 1]
    assert f"an image cannot be removed from the kernel cache {path} (" in error
    assert "busy" in error


def test_what_cannot_be_removed_takes_no_room_from_others(layer):
    """Below a cap that one immovable entry exceeds, new entries stay."""
    path = layer / "cache"
    asked = {"path": path, "numbers": [5, 6], "max_bytes": 2 * SIZE + 2000}
    assert run_bound(folder_of(path, 1), "ask_twice", **asked) == [True, True, False, False]


def test_a_damaged_entry_of_a_site_folder_is_compiled_once(layer, tmp_path):
    """Eight processes find it damaged, where they may not set it aside; one of them compiles."""
    (folder_of(layer / "cache", 1) / "image.cubin").write_bytes(b"damaged")
    log, waiting = tmp_path / "log", tmp_path / "waiting"
    log.touch()
    waiting.touch()
    asking = {"path": tmp_path / "own", "numbers": [1], "log": log, "waiting": waiting, "processes": 8}
    made = run_together(*(Worker("make", warn=True, sites=[layer / "cache"], **asking) for _ in range(8)))
    assert sorted(answer["1"] for answer in made) == [False] * 7 + [True]
