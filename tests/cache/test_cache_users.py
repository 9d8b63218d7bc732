"""Two users for real: one has a cache, and the other tries to have his code loaded, or files overwritten, by it."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import struct
import tempfile
import time
from pathlib import Path

import pytest
from cache_entries import entry_of, folder_of, key_of, recorded, reopen
from cache_users import ATTACKER, VICTIM, as_user, needs_root, start_as

from hatch_cuda_kernels.cache.bundle import export_bundle, import_bundle
from hatch_cuda_kernels.cache.disk import RemovalError
from hatch_cuda_kernels.errors import InputError

SECONDS = 0.8
EVIL = entry_of(0, log="evil")


@pytest.fixture
def ground():
    """Return a folder like /tmp, which everybody can enter and write to."""
    needs_root()
    folder = Path(tempfile.mkdtemp(prefix="cache-users-"))
    folder.chmod(0o1777)
    yield folder
    shutil.rmtree(folder)


def plant(path):
    """Put an entry with other code under the key that the other user will ask for, readable for him."""
    assert reopen(path).put(EVIL)
    for found in (path, *path.rglob("*")):
        found.chmod(0o755 if found.is_dir() else 0o644)
    return True


def everything(folder):
    """Return what is below a folder, with owners and contents."""
    return sorted(
        [str(found), found.lstat().st_uid, found.read_text("latin-1") if found.is_file() else ""]
        for found in folder.rglob("*")
    )


def ask(path):
    """Return the log of the entry that is found, whether one can be put, and the warnings."""
    cache = reopen(path)
    with recorded() as told:
        found = cache.get(key_of(0))
        put = cache.put(entry_of(1))
        made, _ = cache.get_or_make(key_of(0), lambda: entry_of(0, log="own"))
    return [found and found.log, put, made.log, told]


def test_a_folder_planted_in_tmp(ground):
    """Who makes the expected folder first has neither his code run nor files written into it."""
    path = ground / "cache-of-victim"
    as_user(ATTACKER, plant, path)
    before = everything(path)
    found, put, made, told = as_user(VICTIM, ask, path)
    assert (found, put, made, len(told)) == (None, False, "own", 1)
    assert f"belongs to another user (uid {ATTACKER})" in told[0]
    assert everything(path) == before


def test_a_link_planted_in_tmp(ground):
    """Nor has who makes the expected folder a link to something that the user himself has unpacked."""
    unpacked, path = ground / "unpacked", ground / "cache-of-victim"
    as_user(VICTIM, plant, unpacked)
    path.symlink_to(unpacked)
    os.lchown(path, ATTACKER, ATTACKER)
    before = everything(unpacked)
    found, put, made, told = as_user(VICTIM, ask, path)
    assert (found, put, made, len(told)) == (None, False, "own", 1)
    assert everything(unpacked) == before


@pytest.mark.slow
def test_an_entry_of_another_user_in_ones_own_folder(ground):
    """A folder that was open to all for a while, and was closed again, gives nothing of what was put there."""
    path = ground / "cache"
    as_user(VICTIM, lambda: reopen(path).put(entry_of(1)))
    path.chmod(0o777)
    (path / "v1").chmod(0o777)
    as_user(ATTACKER, plant, ground / "evil")
    evil, prefix = folder_of(ground / "evil", 0), path / "v1" / key_of(0)[:2]
    shutil.move(evil.parent, prefix)
    for folder in (path, path / "v1", prefix):
        folder.chmod(0o755)
    for owned in (prefix, evil.name and prefix / evil.name):
        found, _, made, told = as_user(VICTIM, ask, path)
        assert (found, made) == (None, "own")
        assert f"belongs to another user (uid {ATTACKER})" in told[0]
        os.chown(owned, VICTIM, VICTIM)
    assert as_user(VICTIM, ask, path)[:3] in ([None, True, "own"], ["own", True, "own"])


def swap(path, evil, until):
    """Exchange a cache's folder, in a folder of one's own, for other things over and over, and 21 times at least."""
    aside, rounds = path.with_name("aside"), 0
    while rounds <= 20 or time.time() < until:
        path.rename(aside)
        kind = rounds % 4
        if kind == 0:
            evil.rename(path)
        elif kind == 1:
            path.symlink_to(evil)
        elif kind == 2:
            os.mkfifo(path)
        time.sleep(0.0002 * (rounds % 3))
        if kind == 0:
            path.rename(evil)
        elif kind < 3:
            path.unlink()
        aside.rename(path)
        time.sleep(0.0005)
        rounds += 1


def live(path, bundle, until):
    """Do with a cache what a user does, six times at least; return what was read, and the warnings."""
    found, told, rounds = set(), set(), 0
    while rounds <= 5 or time.time() < until:
        cache = reopen(path, max_bytes=(1 << 20, 4000)[rounds % 2])
        with recorded() as warned:
            entry = cache.get(key_of(0))
            found.add(entry and entry.log)
            cache.put(entry_of(rounds % 7 + 1))
            cache.get_or_make(key_of(8), lambda: entry_of(8))
            list(cache.entries())
            cache.info()
            if rounds % 10 == 9:
                with contextlib.suppress(RemovalError):
                    cache.prune(2000)
                    cache.clear()
                cache.put(entry_of(0, log="own"))
            try:
                import_bundle(cache, bundle)
            except InputError as error:
                warned.append(str(error))
        told.update(text.partition(" (")[0][:60] for text in warned)
        rounds += 1
    return [sorted(map(str, found)), sorted(told)]


@pytest.mark.slow
@pytest.mark.parametrize("victims", [1, 2])
def test_a_folder_exchanged_all_the_time(ground, victims):
    """Whatever the owner of a parent puts in the folder's place while it is used, his code is not loaded.

    Nor is anything written to his folder.
    """
    parent, bundle = ground / "project" / "parent", ground / "bundle"
    path, evil = parent / "cache", parent / "evil"
    parent.mkdir(parents=True)
    os.chown(parent, ATTACKER, ATTACKER)
    as_user(ATTACKER, plant, evil)
    path.mkdir()
    os.chown(path, VICTIM, VICTIM)
    path.chmod(0o700)
    as_user(VICTIM, lambda: reopen(path).put(entry_of(0, log="own")))
    export_bundle(reopen(None), bundle)
    before = everything(evil)
    until = time.time() + SECONDS
    living = [start_as(VICTIM, live, path, bundle, until) for _ in range(victims)]
    as_user(ATTACKER, swap, path, evil, until)
    answers = [answer() for answer in living]
    for found, _ in answers:
        assert set(found) <= {"None", "own"}
    assert any("own" in found for found, _ in answers)
    assert everything(evil) == before


def matching(path, *patterns):
    """Return what is there, as far as it can be listed while it changes."""
    found = []
    for pattern in patterns:
        with contextlib.suppress(OSError):
            found += path.glob(pattern)
    return found


def open_to(mode, name, folder=None):
    """Change the mode of a folder and of those below it; what takes their place meanwhile, links and pipes, stays."""
    with contextlib.suppress(OSError):  # just renamed
        found = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder)
        try:
            os.fchmod(found, mode)
            for below in os.listdir(found):  # noqa: PTH208 - by its descriptor
                open_to(mode, below, found)
        finally:
            os.close(found)


def open_and_close(path, end):
    """Let everybody write to a cache now and then, as a user may who does not know better, until a file is there."""
    while not end.exists():
        for mode in (0o777, 0o700):
            open_to(mode, path)
            time.sleep(0.002)


def vandalise(path, evil, precious, until):
    """Put whatever there is in the place of whatever there is, wherever that can be done, and six times at least."""
    chance, done = random.Random(1), 0
    while done <= 5 or time.time() < until:
        places = [path / "v1", *matching(path, "v1/*", "v1/locks/*", "v1/??/*", "v1/??/*/*")]
        place = chance.choice(places)
        try:
            kind = chance.randrange(6)
            if kind < 5:
                place.rename(place.with_name(f"aside{done}"))
            if kind == 0:
                place.symlink_to(precious)
            elif kind == 1:
                os.mkfifo(place)
            elif kind == 2:
                shutil.copytree(folder_of(evil, 0), place)
            elif kind == 3:
                shutil.copytree(evil / "v1", place)
            elif kind == 4:
                place.symlink_to(precious / "file")
            else:
                shutil.copytree(folder_of(evil, 0), folder_of(path, 0))
            done += 1
        except OSError:  # it is closed just now
            continue


@pytest.mark.slow
def test_a_folder_that_is_open_to_all_now_and_then(ground):
    """Whatever is put into it, nothing of that is loaded, nobody waits, and nothing else of the user's is written."""
    path, evil, precious, bundle = (ground / name for name in ("cache", "evil", "precious", "bundle"))
    as_user(ATTACKER, plant, evil)
    precious.mkdir()
    (precious / "file").write_text("precious")
    for found in (precious, precious / "file"):
        os.chown(found, VICTIM, VICTIM)
    as_user(VICTIM, lambda: reopen(path).put(entry_of(0, log="own")))
    export_bundle(reopen(None), bundle)
    before = everything(precious)
    until = time.time() + SECONDS
    opening = start_as(0, open_and_close, path, ground / "end")
    doing = start_as(ATTACKER, vandalise, path, evil, precious, until)
    found, _ = as_user(VICTIM, live, path, bundle, until)
    doing()
    (ground / "end").touch()
    opening()
    assert set(found) <= {"None", "own"}
    assert everything(precious) == before


def access_list(*entries, mask):
    """Return a POSIX access list as the kernel has it: the owner may do everything, and others what entries say."""
    everybody = 0xFFFFFFFF
    rows = [(0x01, 7, everybody), *((0x02, rights, user) for user, rights in entries)]
    rows += [(0x04, 5, everybody), (0x10, mask, everybody), (0x20, 5, everybody)]
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *row) for row in rows)


def set_access_list(path, kind, text):
    """Set an access list, or skip the test where there is none."""
    try:
        os.setxattr(path, f"system.posix_acl_{kind}", text)
    except OSError as error:
        pytest.skip(f"no access lists here: {error}")


def test_an_access_list_that_lets_another_user_write(ground):
    """It is seen like a right of the group, on the folder and on what is in it."""
    path = ground / "cache"
    as_user(VICTIM, lambda: reopen(path).put(entry_of(0, log="own")))
    assert as_user(VICTIM, ask, path)[0] == "own"
    set_access_list(path, "access", access_list((ATTACKER, 7), mask=7))
    as_user(ATTACKER, lambda: (path / "proof").write_text("he can write"))
    found, put, _, told = as_user(VICTIM, ask, path)
    assert (found, put) == (None, False)
    assert "can be written by other users" in told[0]


def test_an_access_list_that_a_parent_hands_down(ground):
    """What is made below a parent whose list lets another user in is as private as anywhere else."""
    parent = ground / "parent"
    parent.mkdir()
    os.chown(parent, VICTIM, VICTIM)
    set_access_list(parent, "default", access_list((ATTACKER, 7), mask=7))
    path = parent / "cache"
    as_user(VICTIM, lambda: reopen(path).put(entry_of(0, log="own")))

    def can_read():
        try:
            return [entry.name for entry in os.scandir(path)]
        except PermissionError:
            return "no"

    assert as_user(ATTACKER, can_read) == "no"
    assert as_user(VICTIM, ask, path)[0] == "own"


def test_a_site_that_cannot_be_listed(ground):
    """A site's folder that its users may enter, but not list, serves them."""
    site = ground / "site"
    as_user(ATTACKER, plant, site)
    for folder in (site, site / "v1"):
        folder.chmod(0o711)
    assert as_user(VICTIM, lambda: reopen(None, sites=[site]).get(key_of(0)).log) == "evil"


def test_a_file_that_another_user_cannot_read(ground):
    """An entry of root that was made without rights for others is a miss, and raises nothing."""
    path = ground / "cache"
    assert reopen(path).put(entry_of(0))
    path.chmod(0o755)
    for found in path.rglob("*"):
        found.chmod(0o755 if found.is_dir() else 0o600)
    found, put, made, told = as_user(VICTIM, ask, path)
    assert (found, put, made) == (None, False, "own")
    assert ["not used" in text for text in told] == [True, False]
    assert all("Permission denied" in text for text in told)


def lose_the_right_to_read(path):
    """Return whether an entry that its owner cannot read is made again, and is there for the next process."""
    assert reopen(path).put(entry_of(0))
    (folder_of(path, 0) / "entry.json").chmod(0)
    with recorded() as told:
        made = [reopen(path).get_or_make(key_of(0), lambda: entry_of(0))[1] for _ in range(2)]
    return [*made, *told]


def test_an_entry_that_its_owner_cannot_read_is_made_again_once(ground):
    """It is set aside, as damage is: otherwise each process would compile it, and none could record it."""
    *made, told = as_user(VICTIM, lose_the_right_to_read, ground / "cache")
    assert made == [True, False]
    assert "Permission denied" in told
