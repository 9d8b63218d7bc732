"""The cap: what is evicted in which order, whatever the clock does, and what a write costs in a large cache."""

from __future__ import annotations

import json
import os
import shutil
import time
from pathlib import Path

import pytest
from cache_entries import disk_bytes, entry_of, folder_of, key_of, reopen, set_use, total_bytes

from hatch_cuda_kernels.cache import files, publishing
from hatch_cuda_kernels.cache.disk import RemovalError

SIZE = disk_bytes(entry_of(0))
DAY = 24 * 3600


@pytest.fixture
def path(tmp_path):
    """Return a cache folder that does not exist yet."""
    return tmp_path / "cache"


def fill(path, numbers, max_bytes=1 << 20):
    """Put entries, each used an hour after the one before, the last one two hours ago."""
    numbers = list(numbers)
    for number in numbers:
        assert reopen(path, max_bytes).put(entry_of(number))
    for age, number in enumerate(reversed(numbers)):
        if folder_of(path, number).exists():
            set_use(path, number, time.time() - (age + 2) * 3600)


def left(path, numbers=range(40)):
    """Return which entries are on disk."""
    return [number for number in numbers if folder_of(path, number).exists()]


def test_the_cap_holds_after_every_put(path):
    """However many entries are put, the folder never holds more bytes than the cap, and the last one is there."""
    cap = 5 * SIZE
    for number in range(20):
        assert reopen(path, cap).put(entry_of(number))
        assert total_bytes(path) <= cap
        assert reopen(path, cap).get(key_of(number)) == entry_of(number)
    assert len(left(path)) >= 4


@pytest.mark.slow
def test_the_cap_holds_for_entries_of_any_size(path):
    """Large and small entries mixed keep to the cap; descriptions count too."""
    cap = 20_000
    for number in range(60):
        size = (50, 9000, 700)[number % 3]
        assert reopen(path, cap).put(entry_of(number, size))
        assert total_bytes(path) <= cap


def test_the_least_recently_used_go_first(path):
    """Above the cap those unused for longest are removed, down to nine tenths of it."""
    fill(path, range(10))
    reopen(path).get(key_of(0))  # used now, though it was written first
    assert reopen(path, 10 * SIZE).put(entry_of(10))
    assert left(path) == [0, 3, 4, 5, 6, 7, 8, 9, 10]


def test_looking_at_entries_is_no_use(path):
    """Listing or exporting the cache does not decide what is evicted."""
    fill(path, range(3))
    used = [used for _, _, used in reopen(path).entries()]
    assert [used for _, _, used in reopen(path).entries()] == used
    assert max(used) < time.time() - 3600


def test_a_hit_seldom_writes(path):
    """A use is recorded at most once an hour."""
    reopen(path).put(entry_of(0))
    set_use(path, 0, time.time() - 1800)
    before = (folder_of(path, 0) / "entry.json").stat().st_mtime
    reopen(path).get(key_of(0))
    assert (folder_of(path, 0) / "entry.json").stat().st_mtime == before
    set_use(path, 0, time.time() - 7200)
    reopen(path).get(key_of(0))
    assert abs((folder_of(path, 0) / "entry.json").stat().st_mtime - time.time()) < 60


def test_entries_of_equal_age_go_in_order_of_their_keys(path):
    """A file system without fine times (or an unpacked archive) evicts the same entries each time."""
    fill(path, range(10))
    for number in range(10):
        set_use(path, number, 1_000_000_000)
    reopen(path).prune(4 * SIZE)
    assert sorted(map(key_of, left(path))) == sorted(map(key_of, range(10)))[6:]


def test_an_entry_larger_than_the_cap_is_used_and_not_kept(path):
    """It evicts nothing, and this process does not make it again."""
    fill(path, range(3))
    cache = reopen(path, 4 * SIZE)
    big = entry_of(9, size=5 * SIZE)
    assert cache.get_or_make(key_of(9), lambda: big) == (big, True)
    assert cache.get_or_make(key_of(9), lambda: big) == (big, False)
    assert left(path) == [0, 1, 2]


def test_an_entry_as_large_as_the_cap_is_kept_alone(path):
    """It is not evicted by its own arrival."""
    fill(path, range(3))
    big = entry_of(9, size=5000)
    assert reopen(path, disk_bytes(big)).put(big)
    assert left(path) == [9]


def test_a_clock_set_back_does_not_evict_the_new(path):
    """Entries with uses in the future, from before the clock was set right, go before those used since."""
    fill(path, range(6))
    for number in (1, 3, 5):
        set_use(path, number, time.time() + 30 * DAY)
    assert reopen(path, 6 * SIZE).put(entry_of(6))
    assert len(left(path)) == 5
    assert {0, 2, 4, 6} < set(left(path))


def test_a_clock_that_jumps_breaks_nothing(path, monkeypatch):
    """Puts at times that go back and forth by years keep to the cap and keep what was put last."""
    real, cap = time.time, 4 * SIZE
    for number, years in enumerate((0, -50, 10, -1, 3, 0, -20, 0, 0)):
        with monkeypatch.context() as clock:
            clock.setattr(time, "time", lambda shift=years: real() + shift * 365 * DAY)
            assert reopen(path, cap).put(entry_of(number))
            assert reopen(path, cap).get(key_of(number)) == entry_of(number)
            assert total_bytes(path) <= cap


def test_a_use_renews_a_date_in_the_future(path):
    """An entry with a use in the future is dated right when it is used."""
    reopen(path).put(entry_of(0))
    set_use(path, 0, time.time() + 30 * DAY)
    reopen(path).get(key_of(0))
    assert abs((folder_of(path, 0) / "entry.json").stat().st_mtime - time.time()) < 60


def drop(total):
    """Remove the total."""
    total.unlink()


def write(text):
    """Return what writes other text into the total."""
    return lambda total: total.write_text(text)


NOW = time.time()
DRIFT = {
    "deleted": drop,
    "empty": write(""),
    "no JSON": write("{"),
    "of another shape": write("[3]"),
    "nested too deeply": write("[" * 100_000),
    "no number": write('{"bytes": "many", "counted": 0}'),
    "not a number": write('{"bytes": NaN, "counted": NaN}'),
    "endless": write('{"bytes": Infinity, "counted": Infinity}'),
    "negative": write('{"bytes": -1000000, "counted": 0}'),
    "much too high": write(json.dumps({"bytes": 10**15, "counted": NOW})),
    "too low, from yesterday": write(json.dumps({"bytes": 0, "counted": NOW - DAY - 60})),
    "too low, from the future": write(json.dumps({"bytes": 0, "counted": NOW + DAY})),
}


@pytest.mark.parametrize("drift", DRIFT.values(), ids=DRIFT.keys())
def test_a_total_that_is_off_heals(path, drift):
    """A total that was lost, damaged or is wrong neither lets the cache grow nor empties it."""
    fill(path, range(8))
    drift(path / "v1" / "total.json")
    assert reopen(path, 8 * SIZE).put(entry_of(8))
    assert left(path) == [2, 3, 4, 5, 6, 7, 8]
    assert json.loads((path / "v1" / "total.json").read_text())["bytes"] == total_bytes(path)


def test_entries_removed_by_hand_do_not_cost_others(path):
    """The total forgets what somebody deleted before anything is evicted for it."""
    fill(path, range(8))
    for number in range(4):
        shutil.rmtree(folder_of(path, number))
    assert reopen(path, 8 * SIZE).put(entry_of(8))
    assert left(path) == [4, 5, 6, 7, 8]


def watch_listings(monkeypatch):
    """Return the names of the folders that are listed from now on."""
    listed, names, scandir = [], files.Folder.names, os.scandir
    monkeypatch.setattr(files.Folder, "names", lambda self: listed.append(Path(self.path).name) or names(self))
    monkeypatch.setattr(os, "scandir", lambda folder: listed.append("removed") or scandir(folder))
    return listed


def test_a_put_below_the_cap_lists_no_entries(path, monkeypatch):
    """A write costs the same in a cache of one entry and of a thousand: no folder of entries is listed."""
    fill(path, range(20))
    listed = watch_listings(monkeypatch)
    cache = reopen(path)
    for number in range(20, 40):
        assert cache.put(entry_of(number))
    assert set(listed) <= {"tmp", "quarantine", "locks"}
    assert len(listed) <= 3  # once a process, and those folders are empty


def test_a_put_above_the_cap_does_list_them(path, monkeypatch):
    """The count of listings sees one when it happens."""
    fill(path, range(4))
    listed = watch_listings(monkeypatch)
    reopen(path, 4 * SIZE).put(entry_of(4))
    assert "v1" in listed


def leftover(path, place, age, size=100):
    """Leave something behind in a folder of the cache, that old in seconds."""
    folder = path / "v1" / place / f"left {age}"
    folder.mkdir(parents=True)
    (folder / "image.cubin").write_bytes(bytes(size))
    os.utime(folder, (time.time() - age,) * 2)
    return folder


def test_stale_temporaries_are_swept_and_young_ones_left(path):
    """The first write of a process removes what dead writers left over an hour ago, and nothing a live one may use."""
    young, old = leftover(path, "tmp", 3000), leftover(path, "tmp", 4000)
    future = leftover(path, "tmp", -2 * DAY)
    aside, forgotten = leftover(path, "quarantine", 4000), leftover(path, "quarantine", 25 * 3600)
    reopen(path).put(entry_of(0))
    assert (young.exists(), aside.exists()) == (True, True)
    assert not any(folder.exists() for folder in (old, future, forgotten))


def test_pruning_sweeps_too(path):
    """``cache prune`` removes stale leftovers where nothing has to be evicted, links among them."""
    reopen(path).put(entry_of(0))
    old, link = leftover(path, "tmp", 4000), path / "v1" / "tmp" / "link"
    link.symlink_to(path.parent)
    os.utime(link, (1, 1), follow_symlinks=False)
    reopen(path).prune(1 << 20)
    assert not old.exists()
    assert not link.is_symlink()
    assert path.parent.is_dir()
    assert left(path) == [0]


def test_leftovers_count(path):
    """Young temporaries take room like entries do; what was set aside goes before any entry."""
    fill(path, range(4))
    leftover(path, "quarantine", 10, size=3 * SIZE)
    assert reopen(path, 5 * SIZE).prune(5 * SIZE) == 4 * SIZE
    assert left(path) == [0, 1, 2, 3]
    leftover(path, "tmp", 20, size=3 * SIZE)
    assert reopen(path).prune(5 * SIZE) == 5 * SIZE
    assert left(path) == [2, 3]


def test_an_entry_used_or_replaced_meanwhile_is_not_evicted(path, monkeypatch):
    """What is used between the listing and the eviction stays, as cuda.core's stat guard has it."""
    fill(path, range(4))
    listed = publishing.leftover_bytes

    def used_after_the_listing(folder):
        reopen(path).get(key_of(0))
        return listed(folder)

    monkeypatch.setattr(publishing, "leftover_bytes", used_after_the_listing)
    reopen(path).prune(0)
    assert left(path) == [0]


def test_an_entry_in_use_on_windows_is_passed_over(path, monkeypatch):
    """An entry that cannot be moved, as one that is open on Windows, costs another one its place, and is named."""
    fill(path, range(4))
    move = publishing.move

    def busy(source, name, target, new):
        if name == key_of(0):
            raise PermissionError("in use")
        move(source, name, target, new)

    monkeypatch.setattr(publishing, "move", busy)
    with pytest.raises(RemovalError, match=r"an image cannot be removed from .*in use"):
        reopen(path).prune(2 * SIZE)
    assert left(path) == [0, 3]


def test_among_very_many_entries_some_are_looked_at(path, monkeypatch):
    """The cap holds, the new entry stays, and no more go than make room, however few prefixes are looked at."""
    monkeypatch.setattr(publishing, "_MOST_LISTED", 3)
    fill(path, range(40))
    cache = reopen(path, 20 * SIZE)
    for number in range(40, 50):
        assert cache.put(entry_of(number))
        assert number in left(path, range(50))
        assert reopen(path).info().bytes <= 20 * SIZE
    assert len(left(path, range(50))) >= 16


def test_where_much_room_is_made_at_once_it_is_made(path, monkeypatch):
    """An entry that takes the place of more than those that were looked at gets it."""
    monkeypatch.setattr(publishing, "_MOST_LISTED", 3)
    fill(path, range(20))
    large = entry_of(20, size=10 * SIZE)
    assert reopen(path, 20 * SIZE).put(large)
    assert reopen(path).get(large.key) == large
    assert reopen(path).info().bytes <= 20 * SIZE
