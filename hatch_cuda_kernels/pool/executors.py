"""Where compiles run: an executor by its name, from an option or the environment, opened for one build.

There are worker processes on this machine, as many as it has cores and free memory for, and the workers of a Dask
cluster, through the executor that ``distributed`` offers. A job travels to them as a task, which states the tools that
a worker must have to give the same images.
"""

from __future__ import annotations

import os
import pickle
import shutil
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from concurrent.futures import CancelledError, Executor, Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import mkdtemp
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from hatch_cuda_kernels import __version__
from hatch_cuda_kernels.child_process import ChildDiedError, ChildProcess
from hatch_cuda_kernels.compiler import FINISHER_NAMES
from hatch_cuda_kernels.compiler.toolchain import (
    build_extra,
    own,
    pip_install,
    reinstall_option,
    require_ptxas,
    toolchain_requirements,
)
from hatch_cuda_kernels.daemon_executor import DaemonThreads
from hatch_cuda_kernels.environment import EXECUTOR
from hatch_cuda_kernels.errors import BuildError, InputError, ToolchainError
from hatch_cuda_kernels.threads import NoThreadError, leave_ctrl_c, start_daemon

if TYPE_CHECKING:
    from hatch_cuda_kernels.compiler import Compiled, Job, Preamble
    from hatch_cuda_kernels.threads import Call

    Tools: TypeAlias = dict[str, str]
    Answer: TypeAlias = "Compiled | Elsewhere"

_PACKAGE: Final = "hatch-cuda-kernels"


class WorkerMismatchError(ToolchainError):
    """A process that was given a job has other tools than the build; its images would not be the same."""


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """The answer for a job that is being compiled by another build, or as another module's job of this one."""


class Task:
    """A job with the tools it needs, by name and version.

    The job is pickled by itself, so that a worker with another version of this package can say so instead of failing
    to read it. ``preamble`` is what it may begin with in a process that only compiles. ``begin`` is called first, in
    the process that asks, wherever the job is compiled.
    """

    def __init__(
        self,
        needed: Tools,
        job: Job | bytes,
        preamble: Preamble | None = None,
        begin: Callable[[], Answer | None] | None = None,
    ) -> None:
        self._needed = needed
        self._begin = begin
        self._job = job
        self._preamble = preamble
        self._makes = False

    @property
    def group(self) -> str | None:
        """Names what tasks have in common that go faster one after another in the same process; None for others."""
        return None if self._preamble is None else self._preamble.digest

    def begin(self) -> Answer | None:
        """Return the answer if it exists without a compile, else None."""
        return None if self._begin is None else self._begin()

    def announce(self, alike: int) -> None:
        """Take notice that so many tasks of its group wait for the process that gets it, this one among them."""
        self._makes = self._preamble is not None and alike >= self._preamble.worth

    def __reduce__(self) -> tuple[object, ...]:
        given = self._job, self._preamble, self._makes
        return Task, (self._needed, self._job if isinstance(self._job, bytes) else pickle.dumps(given))

    def compile(self) -> Compiled:
        """Compile the job in this process.

        Raises WorkerMismatchError when this process has other tools than the job needs, and what the compile raises.
        """
        from hatch_cuda_kernels.compiler import (
            run_job,  # loads NVRTC
            with_preamble,
        )

        check_tools({f"the worker on {socket.gethostname()}, process {os.getpid()},": tools_here()}, self._needed)
        if not isinstance(self._job, bytes):
            return run_job(self._job)
        job, preamble, makes = pickle.loads(self._job)  # noqa: S301 - of the process that asks
        with with_preamble(preamble, makes=makes):
            return run_job(job)


def compile_task(task: Task) -> Answer:
    """Compile a task, if need be; this is the function that executors call. Raises what ``Task.compile`` raises."""
    answer = task.begin()
    return task.compile() if answer is None else answer


def load_compilers() -> None:
    """Load what a compile needs: a worker does it before its first task is there."""
    from hatch_cuda_kernels.compiler import run_job  # noqa: F401

    tools_here()


def tools_here() -> Tools:
    """Return the version of each tool that decides about images here, by name. Loads NVRTC.

    Without NVRTC, only this package is named.
    """
    from hatch_cuda_kernels.compiler.toolchain import load_toolchain, ptxas_version  # loads NVRTC

    try:
        found = load_toolchain()
    except ToolchainError:
        return {_PACKAGE: __version__}
    return {
        _PACKAGE: __version__,
        FINISHER_NAMES["nvrtc"]: found.nvrtc,
        "toolkit headers": found.headers,
        FINISHER_NAMES["nvjitlink"]: found.nvjitlink,
        FINISHER_NAMES["ptxas"]: ptxas_version(found.nvrtc),
    }


def needed_tools(jobs: Sequence[Job]) -> Tools:
    """Return those of the tools here that these jobs use. Loads NVRTC. Raises ToolchainError if ptxas is missing."""
    needed = tools_here()
    if not any(job.uses_toolkit_headers for job in jobs):
        del needed["toolkit headers"]
    used = {job.finisher for job in jobs}
    if "ptxas" in used:
        require_ptxas(needed[FINISHER_NAMES["nvrtc"]])
    for finisher in FINISHER_NAMES.keys() - used - {"nvrtc"}:
        del needed[FINISHER_NAMES[finisher]]
    return {name: version for name, version in needed.items() if version}


def check_tools(workers: dict[str, Tools | Exception], needed: Tools) -> None:
    """Raise WorkerMismatchError if a worker lacks a tool: it names the workers, what they have and what to install."""
    problems, versions = list[str](), list[str]()
    for who, found in workers.items():
        if isinstance(found, Exception):
            problems.append(f"{who} cannot compile for this build: {type(found).__name__}: {found}")
            continue
        versions += found.values()
        problems += [
            f"{who} has {name} {found.get(name) or '(none)'}, this build needs {version}"
            for name, version in needed.items()
            if found.get(name) != version
        ]
    if problems:
        nvrtc, *others = (needed.get(name, "") for name in ("NVRTC", "nvJitLink", "toolkit headers", "ptxas"))
        package = own(build_extra(int(nvrtc.partition(".")[0])), needed[_PACKAGE])
        tools = toolchain_requirements(nvrtc, *others)
        command = pip_install(package, *tools, options=reinstall_option(versions), here=False)
        raise WorkerMismatchError("\n".join(problems), f"in the environment of each of these workers, {command}")


#: Also the extra ``dask``; an isolated build whose environment asks for Dask gets it through the hook.
DASK_REQUIREMENT: Final = "distributed>=2024.1"
_LOCAL: Final = "process"
_DASK: Final = "dask:"

#: Below this much estimated work, starting another worker process (0.2 s) costs more than it saves.
_WORTH_ANOTHER: Final = 0.8
#: Peak memory of one worker with CUB-like sources.
_WORKER_BYTES: Final = 450 << 20
_UNKNOWN: Final = 1 << 60
#: Files of a control group, version 2 and 1: the limit, what is used, and the part of that which is only page cache.
_V2: Final = ("memory.max", "memory.current", "inactive_file")
_V1: Final = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
#: A cluster that grows with its work has no worker until it is asked for something, and takes a while to start one.
_NO_WORKER_SECONDS: Final = 300.0
_CONNECT_SECONDS: Final = 30.0
_TICK_SECONDS: Final = 1.0


def choose_executor(*, flag: str | None = None, option: str | None = None) -> str:
    """Return the executor's name: a flag comes before the environment, which comes before the project's own option.

    Raises InputError for a variable that names none.
    """
    stated = os.environ.get(EXECUTOR)
    if stated and not is_executor(stated):
        raise InputError(f"{EXECUTOR}={stated!r} is neither {_LOCAL!r} nor '{_DASK}ADDRESS'")
    return flag or stated or option or _LOCAL


def is_executor(name: str) -> bool:
    """Return whether a name is that of an executor: ``process``, or ``dask:`` and an address or scheduler file."""
    return name == _LOCAL or (uses_dask(name) and len(name) > len(_DASK))


def uses_dask(name: str) -> bool:
    """Return whether an executor's name asks for Dask."""
    return name.startswith(_DASK)


@contextmanager
def open_executor(
    executor: Executor | str,
    needed: Callable[[], Tools],
    *,
    local: Callable[[], DaemonThreads],
    warn: Callable[[str], None],
) -> Iterator[Executor]:
    """Yield the executor of a name for one build, and end at once what still runs on it afterwards.

    One that was made by the caller is yielded as it is, and left open.
    """
    if isinstance(executor, Executor):
        yield executor
    elif uses_dask(executor):
        with dask_executor(executor.removeprefix(_DASK), needed(), warn) as opened:
            yield opened
    else:
        opened = local()
        try:
            yield opened
        finally:
            opened.kill()


def local_executor(compiling: Sequence[float], finishing: Sequence[float], workers: int | None = None) -> DaemonThreads:
    """Return worker processes for jobs of these estimated seconds, one for little work; threads if none compiles.

    NVRTC crashes on some sources, which in this process would end the build without a message.
    """
    costs = [*compiling, *finishing]
    count = min(workers or default_workers(), len(costs)) or 1
    if not compiling:
        return DaemonThreads(count)
    return WorkerExecutor(count if sum(costs) >= _WORTH_ANOTHER else 1)


def default_workers() -> int:
    """Return how many workers this machine has cores and free memory for."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(cores, free_bytes() // _WORKER_BYTES))


class WorkerExecutor(DaemonThreads):
    """At most ``max_workers`` processes, each with a thread here; started when needed, ended when nothing is left.

    Between ``start_workers`` and ``release_workers``, those without a call wait for the next.

    A worker that dies fails the one call it ran with ChildDiedError; another takes its place. A call whose first
    argument has a ``begin`` ends with what that returns here, unless it is None. Calls whose first argument has a
    ``group`` go to a worker that did others of it, if possible; its ``announce`` gets the number of them that wait for
    that worker. Temporary files of each are in a folder that goes with it.
    """

    def __init__(self, max_workers: int) -> None:
        super().__init__(max_workers)
        self._workers: set[ChildProcess] = set()
        self._idle: list[ChildProcess] = []
        """Those that no thread has."""
        self._held = False
        """Whether the idle ones wait for more calls."""
        self._starting: threading.Thread | None = None
        self._killed = False
        self._waiting: Counter[Hashable] = Counter()
        self._busy: dict[threading.Thread, Hashable] = {}
        """The group that each thread works on."""
        self._temporary: dict[ChildProcess, str | None] = {}

    @property
    def max_workers(self) -> int:
        """How many processes there may be."""
        return self._max_workers

    def start_workers(self, calls: int) -> None:
        """Begin to start the processes for so many calls before these are there, as far as that is possible.

        In a thread: Ctrl-C, which is the main thread's, does not come between a process and the note of it.
        """
        self._held = True
        with suppress(NoThreadError), self._lock:
            self._starting = start_daemon(partial(self._start_ahead, min(calls, self._max_workers)))
            self._threads.add(self._starting)

    def release_workers(self) -> None:
        """End the processes without a call, now and from now on."""
        self._held = False
        if self._starting is not None:
            self._starting.join()
        if not self._busy:
            self._end_idle()

    def kill(self) -> None:
        """Cancel what waits and end every worker now: NVRTC cannot be interrupted."""
        with self._lock:
            self._killed = True
            for worker in self._workers:
                worker.kill()
        self.shutdown(cancel_futures=True)
        for worker in [*self._workers]:  # also those that nobody has taken
            self._end(worker)

    def _start_ahead(self, count: int) -> None:
        leave_ctrl_c()
        with suppress(OSError, ChildDiedError):
            for _ in range(count):
                self._idle.append(self._start())
        self._done()

    def _work(self) -> None:
        leave_ctrl_c()
        worker = None
        while (found := self._next_call()) is not None:
            future, call = found
            if not future.set_running_or_notify_cancel():
                continue
            try:
                result = _begin(call)
                if result is None:
                    worker = worker or self._take()
                    self._announce(call)
                    result = worker.call(call)
            except ChildDiedError as error:
                self._end(worker)
                worker = None
                future.set_exception(error)
            except Exception as error:  # noqa: BLE001 - it is the caller's
                future.set_exception(error)
            else:
                future.set_result(result)
        if worker is not None:
            self._idle.append(worker)
        if not (self._held or self._busy):
            self._end_idle()
        self._done()

    def _added(self, call: Call) -> None:
        self._waiting[_group(call)] += 1

    def _next_call(self) -> tuple[Future[Any], Call] | None:
        with self._lock:
            mine = self._busy.pop(threading.current_thread(), None)
            if not self._calls:
                self._active -= 1
                return None
            position = self._choose(mine)
            found = self._calls[position]
            del self._calls[position]
            group = self._busy[threading.current_thread()] = _group(found[1])
            self._waiting[group] -= 1
            return found

    def _choose(self, mine: Hashable) -> int:
        """Return which call comes next: of the group that was worked on, of one without a worker, of the largest."""
        if mine is not None and self._waiting[mine]:
            return self._first({mine})
        taken = {*self._busy.values()} - {None}
        if any(waits for group, waits in self._waiting.items() if group not in taken):
            return self._first(self._waiting.keys() - taken)
        return self._first({max(taken, key=lambda group: self._waiting[group])})

    def _first(self, groups: AbstractSet[Hashable]) -> int:
        return next(position for position, (_, call) in enumerate(self._calls) if _group(call) in groups)

    def _announce(self, call: Call) -> None:
        group = _group(call)
        if group is not None:
            with self._lock:
                alike = self._waiting[group] + 1
                sharing = sum(other == group for other in self._busy.values())
            call[1][0].announce(alike // sharing)

    def _take(self) -> ChildProcess:
        if self._starting is not None:
            self._starting.join()
        with self._lock:
            idle = self._idle.pop() if self._idle else None
        return idle or self._start()

    def _start(self) -> ChildProcess:
        with self._lock:
            if self._killed:
                raise ChildDiedError
            folder = None
            with suppress(OSError):  # there may be no place for temporary files at all
                folder = mkdtemp(prefix="hatch-cuda-kernels-")
            worker = ChildProcess(temporary=folder, ahead=load_compilers)
            self._temporary[worker] = folder
            self._workers.add(worker)
            return worker

    def _end_idle(self) -> None:
        while self._idle:
            with suppress(IndexError):  # another thread was faster
                self._end(self._idle.pop())

    def _end(self, worker: ChildProcess | None) -> None:
        if worker is None:
            return
        with worker:
            pass
        with self._lock:
            self._workers.discard(worker)
            folder = self._temporary.pop(worker, None)
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)


def _begin(call: Call) -> Any:  # whatever a worker would return
    _, args, _ = call
    return args[0].begin() if args and hasattr(args[0], "begin") else None


def _group(call: Call) -> Hashable:
    _, args, _ = call
    return getattr(args[0], "group", None) if args else None


def free_bytes(root: Path = Path("/")) -> int:
    """Return the bytes that can be taken without swapping; a very large number if the system does not say.

    ``root`` is where ``proc`` and ``sys`` are. Linux: proc(5), "Control Group v2" and "Memory Resource Controller".
    """
    rooms = [1024 * _fields(root / "proc/meminfo").get("MemAvailable:", _UNKNOWN), _UNKNOWN]
    for line in _lines(root / "proc/self/cgroup"):
        _, controllers, path = line.split(":", 2)
        if "memory" in controllers.split(","):
            rooms += _group_rooms(root / "sys/fs/cgroup/memory", path, _V1)
        elif not controllers:
            rooms += _group_rooms(root / "sys/fs/cgroup", path, _V2)
    return max(0, min(rooms))


def _group_rooms(mount: Path, path: str, files: tuple[str, str, str]) -> Iterator[int]:
    """Yield the room of a group and of those around it. A container may see only the mount, not its own path below."""
    limit_file, used_file, cache_field = files
    folder = mount / path.lstrip("/")
    for group in (folder, *folder.parents):
        limit, used = _number(group / limit_file), _number(group / used_file)
        if limit is not None and used is not None:
            yield limit - used + _fields(group / "memory.stat").get(cache_field, 0)
        if group == mount:
            return


def _number(path: Path) -> int | None:
    text = next(iter(_lines(path)), "")
    return int(text) if text.isdigit() else None


def _fields(path: Path) -> dict[str, int]:
    fields = (line.split() for line in _lines(path))
    return {found[0]: int(found[1]) for found in fields if len(found) > 1 and found[1].isdigit()}


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []


@contextmanager
def dask_executor(address: str, needed: Tools, warn: Callable[[str], None]) -> Iterator[Executor]:
    """Yield an executor on the cluster whose scheduler is at an address, or described in a ``.json`` file.

    Raises BuildError when there is no scheduler or no worker, WorkerMismatchError when a worker has other tools.
    """
    client = _connect(address)
    executor = client.get_executor(pure=False)
    try:
        with _watched(client, address):
            _check_workers(client, needed, warn)
            yield executor
    finally:
        client.close()  # cancels what still runs for it


def _connect(address: str) -> Any:  # distributed is an extra
    try:
        from distributed import Client  # an extra, and half a second
    except ModuleNotFoundError as error:
        advice = pip_install(own("dask"))
        raise BuildError([f"executor dask:{address}: {error.name} is not installed\n  to fix: {advice}"]) from error
    place = {"scheduler_file": address} if address.endswith(".json") else {"address": address}
    try:
        return Client(**place, timeout=_CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        advice = "start one with 'dask scheduler', or correct the executor"
        raise BuildError([f"no Dask scheduler answers at {address}: {error}\n  to fix: {advice}"]) from error


def _check_workers(client: Any, needed: Tools, warn: Callable[[str], None]) -> None:
    if not client.nthreads():
        client.submit(tools_here, pure=False).result()  # gets a cluster that grows with its work to start one
    found = client.run(tools_here, on_error="return")
    # One that was lost just now needs no check; one that comes later is checked by its first job.
    check_tools(
        {f"Dask worker {worker}": tools for worker, tools in found.items() if not isinstance(tools, OSError)}, needed
    )
    threaded = sorted(worker for worker, threads in client.nthreads().items() if threads > 1)
    if threaded and "toolkit headers" in needed:
        warn(
            f"Dask workers with several threads ({', '.join(threaded)}) are hardly faster than with one: NVRTC reads "
            "headers one source at a time in a process; start them with 'dask worker --nthreads 1 --nworkers N'"
        )


@contextmanager
def _watched(client: Any, address: str) -> Iterator[None]:
    """Give up, by closing the client, when there has been no worker for a long time; Dask would wait forever."""
    given_up: list[str] = []
    finished = Event()

    def watch() -> None:
        seen = time.monotonic()
        while not finished.wait(_TICK_SECONDS):
            with suppress(Exception):  # of several types, when the connection is lost; what waits gets its own error
                seen = time.monotonic() if client.nthreads() else seen
            if time.monotonic() - seen > _NO_WORKER_SECONDS:
                advice = f"start some, for example with 'dask worker {address} --nthreads 1 --nworkers 8'"
                problem = f"the Dask scheduler at {address} had no worker for {_NO_WORKER_SECONDS:.0f} s"
                given_up.append(f"{problem}\n  to fix: {advice}")
                client.close()
                return

    thread = Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    except CancelledError as error:  # every future, when the client is closed or its connection lost
        lost = f"the connection to the Dask scheduler at {address} was lost; what was compiled is kept, build again"
        raise BuildError(given_up or [lost]) from error
    finally:
        finished.set()
        thread.join()
