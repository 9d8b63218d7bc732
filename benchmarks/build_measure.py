"""Run commands and say what they took: wall, CPU and peak memory of all their processes together. Linux only."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, NamedTuple

_TICK_SECONDS: Final = 0.05
_PAGE: Final = os.sysconf("SC_PAGE_SIZE")
_TICKS: Final = os.sysconf("SC_CLK_TCK")


class Usage(NamedTuple):
    """What commands took together; times in seconds."""

    wall: float
    cpu: float
    """User and system time of all processes, as the kernel counted it (wait4)."""
    peak: int
    """Bytes: the largest sum of resident sets, looked at every 50 ms; pages that processes share count in each."""
    root_cpu: float
    """CPU of the commands' own processes, without what they started: as of the last sample."""
    walls: tuple[float, ...]
    """Of each command."""


Command = Sequence[str | Path]


def measure(
    commands: Sequence[Command], *, parallel: int = 1, cwd: Path, env: Mapping[str, str] | None = None
) -> tuple[Usage, list[str]]:
    """Run the commands, ``parallel`` at a time, and return their usage and what each printed. Exits when one fails."""
    sampler = _Sampler()
    start = time.perf_counter()
    with sampler, ThreadPoolExecutor(parallel) as pool:
        done = list(pool.map(lambda command: _run(command, sampler, cwd, os.environ | dict(env or {})), commands))
    wall = time.perf_counter() - start
    walls = tuple(took for took, _, _ in done)
    usage = Usage(wall, sum(cpu for _, cpu, _ in done), sampler.peak, sum(sampler.root_cpu.values()), walls)
    return usage, [text for _, _, text in done]


def _run(command: Command, sampler: _Sampler, cwd: Path, env: Mapping[str, str]) -> tuple[float, float, str]:
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        start = time.perf_counter()
        process = subprocess.Popen(list(map(str, command)), cwd=cwd, env=env, stdout=out, stderr=err)
        sampler.root_cpu[process.pid] = 0.0
        _, status, usage = os.wait4(process.pid, 0)  # its own and its children's, if it waited for them
        took = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        if process.returncode != 0:
            sys.exit(f"failed ({process.returncode}): {' '.join(map(str, command))}\n{err.read()}\n{out.read()}")
        return took, usage.ru_utime + usage.ru_stime, out.read()


class _Sampler:
    """Looks at the processes in turns while they run."""

    def __init__(self) -> None:
        self.peak = 0
        self.root_cpu: dict[int, float] = {}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._over.wait(_TICK_SECONDS):
            roots = list(self.root_cpu)
            self.peak = max(self.peak, sum(_resident(pid) for root in roots for pid in _tree(root)))
            for root in roots:
                self.root_cpu[root] = max(self.root_cpu[root], _cpu(root))


def _tree(pid: int) -> Iterator[int]:
    yield pid
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:  # it has ended meanwhile
        return
    for thread in threads:  # a child is listed with the thread that started it
        for child in _read(f"/proc/{pid}/task/{thread}/children").split():
            yield from _tree(int(child))


def _resident(pid: int) -> int:
    fields = _read(f"/proc/{pid}/statm").split()
    return int(fields[1]) * _PAGE if fields else 0


def _cpu(pid: int) -> float:
    fields = _read(f"/proc/{pid}/stat").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS if fields else 0.0


def _read(path: str) -> str:
    try:
        return Path(path).read_text()
    except OSError:
        return ""
