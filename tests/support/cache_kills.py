"""Kills a process at every step of what it does to a cache: ``python cache_kills.py FOLDER SCENARIO`` prints JSON.

A step is a call that changes or opens something on the disk, as Python's audit events tell them, or half a write. The
process that is killed is a fork of this one, so that thousands of kills are a matter of seconds.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import signal
import sys
import time
import warnings
from pathlib import Path

from cache_entries import disk_bytes, edit, entry_of, folder_of, key_of, reopen

from hatch_cuda_kernels.cache import files

STEPS = ("open", "os.", "shutil.", "fcntl.")
CAP = 3 * disk_bytes(entry_of(0))
NUMBERS = range(6)


def put_first(path):
    """Put into a cache that does not exist yet."""
    reopen(path, CAP).put(entry_of(5))


def put_above_the_cap(path):
    """Put where that evicts."""
    reopen(path, CAP).put(entry_of(5))


def put_over_half_a_folder(path):
    """Put where a folder without a description is in the way."""
    reopen(path, CAP).put(entry_of(5))


def make(path):
    """Make an image under the lock."""
    reopen(path, CAP).get_or_make(key_of(5), lambda: entry_of(5))


def set_aside(path):
    """Read a damaged entry, and put it anew."""
    with warnings.catch_warnings(action="ignore"):
        cache = reopen(path, CAP)
        cache.get(key_of(0))
        cache.put(entry_of(0))


def prune(path):
    """Remove all entries."""
    reopen(path, CAP).prune(0)


def clear(path):
    """Remove everything."""
    reopen(path, CAP).clear()


def prepare(scenario, path):
    """Make the cache that a scenario begins with."""
    shutil.rmtree(path, ignore_errors=True)
    if scenario is put_first:
        return
    for number in range(3):
        reopen(path, CAP).put(entry_of(number))
    if scenario is put_over_half_a_folder:
        folder_of(path, 5).mkdir(parents=True)
        (folder_of(path, 5) / "image.cubin").write_bytes(b"half")
    if scenario is set_aside:
        edit(folder_of(path, 0), sha256="0" * 64)


def die_at(step, action, path):
    """Run an action in a process that is killed before its n-th step; return whether it got that far."""
    child = os.fork()
    if child == 0:
        taken = 0

        def take_step(event, _arguments=()):
            nonlocal taken
            if event.startswith(STEPS):
                taken += 1
                if taken == step:
                    os.kill(os.getpid(), signal.SIGKILL)

        files.open = torn_open(take_step)
        sys.addaudithook(take_step)
        action(path)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert status in (0, signal.SIGKILL), status
    return status == signal.SIGKILL


def torn_open(take_step):
    """Return an ``open`` whose files may see the process die when half of the data is on disk."""

    def opened(*arguments, **settings):
        file = open(*arguments, **settings)  # noqa: PTH123, SIM115
        write = getattr(file, "write", None)

        def torn_write(data):
            write(data[: len(data) // 2])
            file.flush()
            take_step("os.write")
            write(data[len(data) // 2 :])

        class Torn(contextlib.AbstractContextManager):
            def __exit__(self, *_):
                file.close()

            read = file.read
            write = staticmethod(torn_write)

        return Torn()

    return opened


def check(path):
    """See what the next process sees: each entry whole or not there, no error, no warning; and it can go on."""
    cache = reopen(path, CAP)
    found = {number: cache.get(key_of(number)) for number in NUMBERS}
    assert all(entry in (None, entry_of(number)) for number, entry in found.items())
    assert reopen(path, CAP).put(entry_of(5))
    assert reopen(path, CAP).get(key_of(5)) == entry_of(5)
    reopen(path, CAP).prune(CAP)
    assert reopen(path, CAP).info().bytes <= CAP
    return sum(entry is not None for entry in found.values())


def at_every_step(scenario, path):
    """Kill at one step after another until the action gets to its end; return how many entries were left each time."""
    prepare(scenario, path)
    scenario(path)  # imports what it needs, once
    left = []
    while True:
        prepare(scenario, path)
        killed = die_at(len(left) + 1, scenario, path)
        if scenario is set_aside:
            with contextlib.suppress(RuntimeWarning):  # the entry was damaged before
                reopen(path, CAP).get(key_of(0))
        left.append(check(path))
        if not killed:
            return left


def live(path, chance):
    """Read, write and evict until the end."""
    while True:
        cache, number = reopen(path, CAP), chance.choice(NUMBERS)
        {"put": lambda: cache.put(entry_of(number)), "get": lambda: cache.get(key_of(number))}.get(  # noqa: B023
            chance.choice(("put", "get", "prune")),
            lambda: cache.prune(800),  # noqa: B023
        )()


def at_random(path, kills=60):
    """Kill a process that reads, writes and evicts at random times; return how many kills there were."""
    for kill in range(kills):
        child = os.fork()
        if child == 0:
            live(path, random.Random(kill))
        time.sleep(random.Random(-kill).uniform(0.0, 0.012))
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        assert status == signal.SIGKILL, "it failed before it was killed"
        check(path)
    return kills


if __name__ == "__main__":
    warnings.simplefilter("error")
    _, folder, name = sys.argv
    action = globals()[name]
    answer = at_random(Path(folder)) if action is at_random else at_every_step(action, Path(folder))
    sys.stdout.write(json.dumps(answer))
