"""Other processes: each runs a function of ``cache_worker`` and says what came of it, started all at once."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from waiting import HANG_SECONDS

WORKER = Path(__file__).parent / "cache_worker.py"


class Worker:
    """A Python process about to run one function. A RuntimeWarning in it is an error, unless ``warn``."""

    def __init__(self, function, /, *, warn=False, under=(), **arguments):
        flags = () if warn else ("-W", "error::RuntimeWarning")
        self.process = subprocess.Popen(
            [*under, sys.executable, *flags, str(WORKER), function, json.dumps(arguments, default=str)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def wait_ready(self):
        """Wait until the process has imported everything."""
        line = self.process.stdout.readline()
        assert line == "ready\n", line + self.process.communicate()[1]
        return self

    def go(self):
        """Let it run."""
        self.process.stdin.write("go\n")
        self.process.stdin.flush()
        return self

    def result(self):
        """Wait for its end and return what its function returned. Fails with its traceback where it raised."""
        out, error = self.process.communicate(timeout=HANG_SECONDS)
        assert self.process.returncode == 0, error
        return json.loads(out)

    def kill(self):
        """Kill it, as the system does where memory runs out."""
        self.process.kill()
        self.process.communicate()


def run_together(*workers):
    """Start workers at one time and return what each returned."""
    for worker in workers:
        worker.wait_ready()
    for worker in workers:
        worker.go()
    return [worker.result() for worker in workers]


def run_mounted(folder, options, function, /, **arguments):
    """Run a function where ``folder`` is a small file system of its own, seen by that process only."""
    return _run_under(f"-t tmpfs -o {options} tmpfs", folder, function, arguments)


def run_on_layer(layer, folder, function, /, **arguments):
    """Run a function where ``folder`` shows a layer and hides each change of it, as in a container."""
    for name in ("upper", "work"):
        layer.with_name(name).mkdir()
    places = f"lowerdir={layer},upperdir={layer.with_name('upper')},workdir={layer.with_name('work')}"
    return _run_under(f"-t overlay -o {places} overlay", folder, function, arguments)


def run_bound(folder, function, /, **arguments):
    """Run a function where nothing can remove or rename ``folder``, because something is mounted there."""
    return _run_under(f"--bind {folder}", folder, function, arguments)


def _run_under(mounting, folder, function, arguments):
    folder.mkdir(exist_ok=True)
    mount = ("unshare", "--mount", "sh", "-c", f'mount {mounting} "$0" && exec "$@"', str(folder))
    if subprocess.run([*mount, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("mounting a file system needs root on Linux")
    return run_together(Worker(function, under=mount, warn=True, **arguments))[0]
