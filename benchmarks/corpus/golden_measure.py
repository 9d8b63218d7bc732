"""A command with a limit on its processor time, and what it took."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_TICKS: Final = os.sysconf("SC_CLK_TCK")
#: How much longer than its processor time a command may take, on cores that others use, too.
_SHARE: Final = 12
_POLL_S: Final = 0.05
_LOOK_S: Final = 1.0


class Done(NamedTuple):
    """What became of a command."""

    status: int | None
    """None where it was ended at its limit."""
    out: str
    err: str
    seconds: float
    """Of processor time, its children's included."""
    wall: float
    peak: int
    """MiB of its largest process."""

    @property
    def cost(self) -> dict[str, float]:
        """What a record has of it."""
        return {"seconds": round(self.seconds, 2), "wall": round(self.wall, 2), "peak": self.peak}


def measured(command: Sequence[str], folder: Path, limit: float, environment: Mapping[str, str] | None = None) -> Done:
    """Run a command in a folder; end it, and all that it started, after so much processor time."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        start = time.perf_counter()
        process = subprocess.Popen(
            list(command),
            cwd=folder,
            env={**os.environ, **(environment or {})},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            start_new_session=True,
        )
        ended, status, usage, looked = False, 0, None, start
        while usage is None:
            pid, status, found = os.wait4(process.pid, os.WNOHANG)
            if pid:
                usage = found
            elif not ended and time.perf_counter() - looked > _LOOK_S:
                looked = time.perf_counter()
                ended = looked - start > limit * _SHARE or _spent(process.pid) > limit
                if ended:
                    os.killpg(process.pid, signal.SIGKILL)
            else:
                time.sleep(_POLL_S)
        process.returncode = os.waitstatus_to_exitcode(status)
        wall = time.perf_counter() - start
        texts = [_text(stream) for stream in (out, err)]
    seconds = max(usage.ru_utime + usage.ru_stime, limit if ended else 0)
    return Done(None if ended else process.returncode, *texts, seconds, wall, usage.ru_maxrss // 1024)


def _text(stream: tempfile._TemporaryFileWrapper[bytes]) -> str:
    stream.seek(0)
    return stream.read().decode("utf-8", "replace")


def _spent(session: int) -> float:
    """Return the processor time of a session's processes, and of those that they have waited for."""
    ticks = 0
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if fields[3] == str(session):
                ticks += sum(map(int, fields[11:15]))
    return ticks / _TICKS
