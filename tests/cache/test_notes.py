"""Notes about this machine: nobody else's are read, nothing is written where others could reach it, nothing raises."""

from __future__ import annotations

import os
import stat
import sys
import threading
import time

import pytest

from hatch_cuda_kernels.cache import open_cache
from hatch_cuda_kernels.cache.disk import Notes, file_state, unchanged

NOTES = Notes("test")
NOTE = {"a": [1, "b"]}

posix = pytest.mark.skipif(sys.platform == "win32", reason="owners and modes are POSIX's")


def files(folder):
    """Return every file below a folder."""
    return [path for path in folder.rglob("*") if path.is_file()]


def test_a_note_is_kept_by_subject(fresh_cache):
    """Each subject has a note of its own, which a later one replaces; other names do not see it."""
    assert NOTES.read("x") == {}
    for subject, note in (("x", {"old": 1}), ("y", NOTE), ("x", {"new": 2})):
        NOTES.write(subject, note)
    assert (NOTES.read("x"), NOTES.read("y"), NOTES.read("z")) == ({"new": 2}, NOTE, {})
    assert sorted(NOTES.read_all(), key=str) == [NOTE, {"new": 2}]
    assert Notes("other").read("x") == {}
    assert [*Notes("other").read_all()] == []


@posix
def test_notes_are_private(fresh_cache):
    """Nobody else can read a note, whatever the umask, or find one half written."""
    before = os.umask(0)
    try:
        NOTES.write("x", NOTE)
    finally:
        os.umask(before)
    (file,) = files(fresh_cache)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert {stat.S_IMODE(folder.stat().st_mode) for folder in (fresh_cache, file.parent)} == {0o700}


@posix
@pytest.mark.parametrize("place", [".", "notes", "file"])
def test_what_others_can_write_is_not_used(fresh_cache, monkeypatch, place):
    """A note there is neither believed nor replaced, unless the user says that it may be."""
    NOTES.write("x", NOTE)
    (file,) = files(fresh_cache)
    written = file.read_bytes()
    (file if place == "file" else fresh_cache / place).chmod(0o777)
    assert NOTES.read("x") == {}
    if place != "file":
        NOTES.write("x", {"mine": 1})
        assert ([*NOTES.read_all()], file.read_bytes()) == ([], written)
    monkeypatch.setenv("HATCH_CUDA_KERNELS_CACHE_TRUST", "1")
    assert NOTES.read("x") == NOTE


@posix
def test_links_are_not_followed(fresh_cache, tmp_path):
    """A link in a note's place is not read through, and what it leads to stays as it is."""
    NOTES.write("x", NOTE)
    (file,) = files(fresh_cache)
    target = file.rename(tmp_path / "elsewhere.json")
    file.symlink_to(target)
    assert NOTES.read("x") == {}
    NOTES.write("x", {"new": 1})
    assert (NOTES.read("x"), file.is_symlink()) == ({"new": 1}, False)
    assert target.read_text() == '{"a": [1, "b"]}'


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b"null", b"\xff", b"[" * 100_000])
def test_damage_is_an_empty_note(fresh_cache, content):
    """Whatever a file holds, it is no more than missing."""
    NOTES.write("x", NOTE)
    (file,) = files(fresh_cache)
    file.write_bytes(content)
    assert (NOTES.read("x"), [*NOTES.read_all()]) == ({}, [{}])


def test_a_disk_that_takes_nothing_is_no_error(fresh_cache, monkeypatch):
    """A file in the folder's place, or no home folder at all, only costs the next process a search."""
    fresh_cache.write_text("mine")
    NOTES.write("x", NOTE)
    assert (NOTES.read("x"), fresh_cache.read_text()) == ({}, "mine")
    monkeypatch.setattr("hatch_cuda_kernels.cache.disk.default_cache_path", lambda: None)
    NOTES.write("x", NOTE)
    assert NOTES.read("x") == {}


def test_notes_are_bounded(fresh_cache):
    """Of many, the last ones stay, and a name's notes do not displace another's."""
    Notes("other").write("x", NOTE)
    for number in range(100):
        NOTES.write(str(number), {"number": number})
    assert len([*NOTES.read_all()]) == 64
    assert NOTES.read("99") == {"number": 99}
    assert Notes("other").read("x") == NOTE


def test_turns_about_other_subjects_do_not_wait(fresh_cache):
    """Each of many processes may look for something else."""
    start = time.monotonic()
    with NOTES.turn("x"), NOTES.turn("y"):
        assert time.monotonic() - start < 5


def test_an_outdated_note_is_waited_for(fresh_cache, tmp_path):
    """Where files changed, one makes the note anew: the old one is no reason to go on."""
    entered = threading.Event()

    def enter():
        with NOTES.turn("x"):
            entered.set()

    NOTES.write("x", {"states": {str(tmp_path): "another"}})
    waiting = threading.Thread(target=enter)
    with NOTES.turn("x"):
        waiting.start()
        assert not entered.wait(0.5)
        NOTES.write("x", {"states": {}})
        assert entered.wait(5)
    waiting.join(60)


def test_a_turn_that_leaves_no_note_is_waited_for_once(fresh_cache):
    """Where none can be written, all others go on together, or the last one would wait for all."""
    inside = threading.Barrier(4)

    def enter():
        with NOTES.turn("x"):
            inside.wait(8)

    waiting = [threading.Thread(target=enter) for _ in range(3)]
    with NOTES.turn("x"):
        for thread in waiting:
            thread.start()
        time.sleep(0.5)
        assert not inside.n_waiting
    inside.wait(8)


def test_clearing_the_cache_removes_notes(fresh_cache):
    """They go with the entries."""
    NOTES.write("x", NOTE)
    open_cache().clear()
    assert NOTES.read("x") == {}


@posix
@pytest.mark.parametrize("change", ["content", "replaced", "removed", "appeared", "listed"])
def test_a_change_of_a_file_shows(tmp_path, change):
    """Also one that leaves size and modification time as they were."""
    file, absent = tmp_path / "a.h", tmp_path / "b.h"
    file.write_text("#define A 1\n")
    times = file.stat()
    states = {str(path): file_state(path) for path in (file, absent, tmp_path)}
    assert unchanged(states)
    time.sleep(0.02)  # older kernels count time in steps of 4 ms
    if change in {"content", "replaced"}:
        other = tmp_path / "c.h" if change == "replaced" else file
        other.write_text("#define A 2\n")
        os.utime(other, ns=(times.st_atime_ns, times.st_mtime_ns))
        other.replace(file)
        assert (file.stat().st_size, file.stat().st_mtime_ns) == (times.st_size, times.st_mtime_ns)
        del states[str(tmp_path)]
    elif change == "removed":
        file.unlink()
    else:
        (absent if change == "appeared" else tmp_path / "d.h").write_text("")
    assert not unchanged(states)
