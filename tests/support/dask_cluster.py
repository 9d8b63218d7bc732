"""A Dask cluster of this machine: a real scheduler and real worker processes."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time

from waiting import HANG_SECONDS


class Cluster:
    """A scheduler in a folder, and the workers that were started."""

    def __init__(self, folder):
        self.file = folder / "scheduler.json"
        self._folder = folder
        self._processes = []
        self.scheduler = None
        self.workers = []
        self._plain = []

    @property
    def address(self):
        """The scheduler's address."""
        return json.loads(self.file.read_text())["address"]

    def start(self):
        """Start the scheduler."""
        self.scheduler = self._start("scheduler", "--port", "0", "--host", "127.0.0.1")
        self._wait(self.file.is_file)

    def add(self, count=1, preload=""):
        """Start workers that run some code first, and wait until the scheduler has them."""
        arguments = ["--scheduler-file", str(self.file), "--nthreads", "1", "--no-nanny", "--host", "127.0.0.1"]
        if preload:
            script = self._folder / f"preload{len(self._processes)}.py"
            script.write_text(preload)
            arguments += ["--preload", str(script)]
        started = [self._start("worker", *arguments) for _ in range(count)]
        self.workers += started
        self._plain += [] if preload else started
        self._wait_for(len(self.workers))

    def _wait_for(self, count):
        """Wait until the scheduler has so many workers."""
        from distributed import Client

        with Client(scheduler_file=str(self.file), set_as_default=False) as client:
            self._wait(lambda: len(client.nthreads()) == count)

    def keep(self, count):
        """End all workers but so many of those that run as they are, and start what lacks."""
        plain = [process for process in self._plain if process.poll() is None][:count]
        for process in self.workers:
            if process not in plain:
                process.kill()
                process.wait()
        self.workers = plain
        self._wait_for(len(plain))
        if count > len(plain):
            self.add(count - len(plain))

    def stop(self):
        """End everything, workers first."""
        for process in reversed(self._processes):
            process.kill()
            process.wait()

    def _start(self, what, *arguments):
        command = [sys.executable, "-m", f"distributed.cli.dask_{what}", "--no-dashboard", *arguments]
        if what == "scheduler":
            command += ["--scheduler-file", str(self.file)]
        log = (self._folder / f"{what}{len(self._processes)}.log").open("wb")
        with log:
            process = subprocess.Popen(command, cwd=self._folder, stdout=log, stderr=log, env=dict(os.environ))
        self._processes.append(process)
        return process

    def _wait(self, true):
        end = time.monotonic() + HANG_SECONDS
        while not true():
            assert time.monotonic() < end, "".join(log.read_text() for log in self._folder.glob("*.log"))
            time.sleep(0.05)


@contextlib.contextmanager
def run_cluster(folder):
    """Yield a cluster with a scheduler and no worker yet."""
    cluster = Cluster(folder)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()
