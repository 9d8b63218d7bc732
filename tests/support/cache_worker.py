"""What other processes do to a cache: ``python cache_worker.py FUNCTION ARGUMENTS``; ``cache_processes`` starts it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from cache_entries import entry_of, folder_of, key_of, recorded, reopen, total_bytes
from waiting import on_turn, wait_until

from hatch_cuda_kernels.cache.disk import RemovalError
from hatch_cuda_kernels.errors import CompileError


def note(file, text):
    """Add a line to a file that several processes write."""
    with Path(file).open("a") as lines:
        lines.write(f"{text}\n")


def wait_for_all(waiting, processes):
    """Wait until so many askers have found that they have to wait for a compile."""
    wait_until(lambda: len(Path(waiting).read_text().splitlines()) >= processes)


def make(path, numbers, log, waiting=os.devnull, processes=0, seconds=0.0, threads=1, *, sites=(), **settings):
    """Ask for keys; return by number whether each was made here.

    A make is noted in a log, and takes until so many processes wait for it and then some time.
    """
    cache = reopen(Path(path), sites=[*map(Path, sites)], **settings)
    made = {}

    def compile_now(number):
        note(log, number)
        wait_for_all(waiting, processes)
        time.sleep(seconds)
        return entry_of(number)

    def ask():
        for number in numbers:
            entry, here = cache.get_or_make(key_of(number), lambda: compile_now(number))  # noqa: B023
            assert entry == entry_of(number)
            made[number] = made.get(number, False) or here

    with on_turn(lambda: note(waiting, "waits")), ThreadPoolExecutor(threads) as pool:
        for asking in [pool.submit(ask) for _ in range(threads)]:
            asking.result()
    return made


def fail(path, log, waiting=os.devnull, processes=0, **settings):
    """Ask for a key whose compile fails once so many processes wait for it, and return the error's parts."""

    def compile_now():
        note(log, "tried")
        wait_for_all(waiting, processes)
        raise CompileError("m", "sm_90", "it failed", log="line 1\nline 2", flags=["-O3"], bad_names=["k<int>"])

    try:
        with on_turn(lambda: note(waiting, "waits")):
            reopen(Path(path), **settings).get_or_make(key_of(0), compile_now)
    except CompileError as error:
        return [error.module, error.arch, error.message, error.log, error.flags, error.bad_names]
    return None


def put(path, numbers, **settings):
    """Put entries, each by a cache that knows nothing, and return whether all are on disk."""
    return all(reopen(Path(path), **settings).put(entry_of(number)) for number in numbers)


def replace_damaged(path, number):
    """Damage an entry, and ask for it twice, as two processes do; return whether each had to make it."""
    (folder_of(Path(path), number) / "image.cubin").write_bytes(b"damaged")
    asked = [reopen(Path(path)).get_or_make(key_of(number), lambda: entry_of(number)) for _ in range(2)]
    assert [entry for entry, _ in asked] == [entry_of(number)] * 2
    return [made for _, made in asked]


def ask_twice(path, numbers, max_bytes):
    """Ask for entries one after the other, and again as another process; return whether each was made."""
    return [
        reopen(Path(path), max_bytes).get_or_make(key_of(number), lambda number=number: entry_of(number))[1]
        for number in [*numbers, *numbers]
    ]


def remove_all(path, how):
    """Clear or prune a cache; return the numbers of bytes and entries left, and the error."""
    cache, error = reopen(Path(path)), ""
    try:
        cache.clear() if how == "clear" else cache.prune(0)
    except RemovalError as raised:
        error = str(raised)
    info = reopen(Path(path)).info()
    return [info.bytes, info.entries, error]


def rounds(together, processes, enough):
    """Yield the numbers of rounds until each of so many processes has had enough; who has goes on at leisure."""
    together, number = Path(together), 0
    while len(list(together.iterdir())) < processes:
        yield number
        number += 1
        if number >= enough:
            (together / str(os.getpid())).touch()
            time.sleep(0.05)


def churn(path, numbers, max_bytes, **until):
    """Put entries over and over."""
    for _ in rounds(**until):
        for number in numbers:
            assert reopen(Path(path), max_bytes).put(entry_of(number))


def read(path, numbers, **until):
    """Read entries over and over; return hits and misses. Wrong bytes fail."""
    path, found = Path(path), {True: 0, False: 0}
    for _ in rounds(**until):
        for number in numbers:
            entry = reopen(path).get(key_of(number))
            assert entry in (None, entry_of(number))
            found[entry is not None] += 1
    return [found[True], found[False]]


def prune(path, **until):
    """Empty the cache over and over, one way and the other."""
    for number in rounds(**until):
        reopen(Path(path)).prune(number % 3 * 1500)
        reopen(Path(path)).clear() if number % 10 == 0 else None


def fill(path, count):
    """Put more than the disk takes; return warnings, entries on disk, and whether all goes on once there is room."""
    path, size = Path(path), 8000
    cache = reopen(path, 1 << 30)
    with recorded() as told:
        on_disk = [cache.put(entry_of(number, size)) for number in range(count)]
        remembered = all(cache.get(key_of(number)) == entry_of(number, size) for number in range(count))
        whole = all(
            (reopen(path).get(key_of(number)) == entry_of(number, size)) == there
            for number, there in enumerate(on_disk)
        )
        reopen(path).prune(0)
        again = cache.put(entry_of(count, size)) and reopen(path).get(key_of(count)) is not None
    return {
        "warnings": told,
        "on disk": sum(on_disk),
        "remembered": remembered,
        "whole": whole,
        "again": again,
    }


def is_refused(removal):
    """Return whether a removal says that something cannot be removed."""
    try:
        removal()
    except RemovalError:
        return True
    return False


def read_only(path):
    """Use a cache whose file system turns read-only; return warnings and what each call answered."""
    path = Path(path)
    reopen(path).put(entry_of(0))
    reopen(path).put(entry_of(1))
    folder = folder_of(path, 1)
    (folder / "image.cubin").write_bytes(b"damaged")
    subprocess.run(["mount", "-o", "remount,ro", str(path.parent)], check=True)
    before = total_bytes(path)
    cache = reopen(path)
    with recorded() as told:
        answers = {
            "hit": cache.get(key_of(0)) == entry_of(0),
            "damaged": cache.get(key_of(1)) is None,
            "put": cache.put(entry_of(2)),
            "made": cache.get_or_make(key_of(3), lambda: entry_of(3))[1],
            "made again": cache.get_or_make(key_of(3), lambda: entry_of(3))[1],
            "writable": cache.info().writable,
            "entries": len(list(cache.entries())),
            "refused": [is_refused(lambda: cache.prune(0)), is_refused(cache.clear)],
        }
    return answers | {"warnings": told, "same": total_bytes(path) == before}


if __name__ == "__main__":
    _, name, text = sys.argv
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.readline()
    sys.stdout.write(json.dumps(globals()[name](**json.loads(text))))
