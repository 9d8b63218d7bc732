"""Run compile jobs on an executor, longest first, and hand out results as they come.

A job whose process died is compiled once more. Of several builds with one disk cache, the first to come compiles a job,
and the others take its result. Nothing is locked but by a compile that runs, until its images are in the cache, and
nobody waits with a lock in hand: a job that another build compiles is put off. So builds that want the same images in
different orders share the work, and one that is killed, or interrupted, keeps no other from going on.
"""

from __future__ import annotations

import time
from concurrent.futures import BrokenExecutor, CancelledError, Future
from contextlib import ExitStack, closing, suppress
from dataclasses import replace
from functools import partial
from itertools import islice
from queue import Empty, SimpleQueue
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING, Final, NamedTuple

from hatch_cuda_kernels.child_process import ChildDiedError
from hatch_cuda_kernels.compiler import Compiled, CompileJob, FinishJob
from hatch_cuda_kernels.errors import CompileError, HatchCudaKernelsError, ToolchainError
from hatch_cuda_kernels.libraries import is_heavy_header
from hatch_cuda_kernels.plan import job_images
from hatch_cuda_kernels.pool.executors import WorkerExecutor, local_executor, open_executor
from hatch_cuda_kernels.pool.task import Elsewhere, Task, compile_task, needed_tools
from hatch_cuda_kernels.threads import TICK_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
    from concurrent.futures import Executor
    from typing import TypeAlias

    from hatch_cuda_kernels.cache import DiskCache, Entry, Failure
    from hatch_cuda_kernels.compiler import Job, Preamble
    from hatch_cuda_kernels.compiler.toolchain import Toolchain
    from hatch_cuda_kernels.image import ImageId, Kind
    from hatch_cuda_kernels.pool.task import Answer, Tools

    Outcomes: TypeAlias = Generator[tuple[Job, Compiled | Exception], None, None]
    Follow: TypeAlias = Callable[[Job, Compiled], Iterable[Job]]

#: NVRTC runs one front end at a time in a process.
_HEAVY_SECONDS: Final = 2.5
_LIGHT_SECONDS: Final = 0.06
_INSTANCE_SECONDS: Final = 0.01
#: A front end reads about a megabyte of text in a second.
_CHARACTER_SECONDS: Final = 1e-6
#: Bytes that nvJitLink, or ptxas, finishes in a second.
_PTX_SECOND: Final = 1_000_000
_SECOND: Final[dict[Kind, int]] = {"ltoir": 400_000, "object": 100_000_000}
#: Jobs that others compile are looked after this often, in seconds, so many at a time.
_LOOK_SECONDS: Final = 0.1
_LOOKS: Final = 64
_ALONE: Final = "without its instances, NVRTC says what is wrong"
_INSTANCES: Final = "it compiles without instances: list fewer of them, to find the one that NVRTC cannot take"
_SMALLER: Final = "leave out parts of the source to find the line that it cannot take, or try another release of CUDA"


def estimate_seconds(job: Job) -> float:
    """Return a rough compile time, good enough to order jobs and to decide about processes."""
    if isinstance(job, FinishJob):
        return sum(len(given.image) for given in job.inputs) / _SECOND.get(job.input_kind, _PTX_SECOND)
    heavy = any(map(is_heavy_header, job.program.outside))
    front_end = _HEAVY_SECONDS if heavy else _LIGHT_SECONDS
    characters = len(job.program.source) + sum(len(text) for _, text in job.program.headers)
    return front_end + _INSTANCE_SECONDS * len(job.names) + _CHARACTER_SECONDS * characters


def compile_on(  # noqa: PLR0913 - how a build compiles
    executor: Executor | str,
    jobs: Sequence[Job],
    *,
    workers: int | None = None,
    followers: int = 0,
    cost: Callable[[Job], float] = estimate_seconds,
    follow: Follow | None = None,
    needed: Tools | None = None,
    turns: Turns | None = None,
    warn: Callable[[str], None] | None = None,
) -> Outcomes:
    """Do the same as ``compile_all`` on an executor that is opened by its name, and ended with the last job.

    ``workers`` bounds the processes on this machine; ``followers`` is how many jobs ``follow`` will give. Jobs that
    finish stay in this one's threads where there are no others: nvJitLink has no lock, and ptxas is a process itself.
    Raises, in place of yielding it, what would end every job alike: ToolchainError, or BrokenExecutor, CancelledError
    or BuildError of an executor that stopped working.
    """
    costs = [0.0 if isinstance(job, FinishJob) else cost(job) for job in jobs] + [0.0] * followers
    tell = warn or (lambda _: None)
    local = partial(local_executor, costs, workers)
    needed = needed or needed_tools(jobs)
    with (
        open_executor(executor, needed, local=local, warn=tell) as opened,
        closing(compile_all(jobs, opened, cost=cost, follow=follow, needed=needed, turns=turns, warn=warn)) as outcomes,
    ):
        for job, outcome in outcomes:
            if isinstance(outcome, ToolchainError | BrokenExecutor | CancelledError):
                raise outcome  # the same for every other job
            yield job, outcome


def compile_all(
    jobs: Sequence[Job],
    executor: Executor,
    *,
    cost: Callable[[Job], float] = estimate_seconds,
    follow: Follow | None = None,
    needed: Tools | None = None,
    turns: Turns | None = None,
    warn: Callable[[str], None] | None = None,
) -> Outcomes:
    """Compile every job and yield each with its result, or with the error that kept it from one, as they finish.

    ``follow`` gives the jobs that can begin once one has given its result, and been handed out; ``needed`` says which
    tools all of them need, by default those of the first jobs. A failing job does not stop the others: all failures of
    a run are reported together. Jobs whose worker process died are compiled again, after the others and one at a time;
    ``warn`` is told so once. With ``turns``, jobs that others compile are put off until these have; who receives an
    outcome ends its turn. On KeyboardInterrupt, or when the caller closes the generator, what has not begun is
    cancelled.
    """
    needed = needed or needed_tools(jobs)
    lost: list[LostJob] = []
    preambles = _preambles(jobs, executor)
    run = partial(_run, executor=executor, needed=needed)
    ordered = _in_order(jobs, cost, preambles)
    with closing(run(ordered, follow=follow, preambles=preambles, turns=turns)) as outcomes:
        for job, outcome in outcomes:
            if isinstance(outcome, ChildDiedError):
                if turns is not None:
                    turns.end(job)
                lost.append(LostJob(job, outcome))
            else:
                yield job, outcome
    if lost and warn is not None:
        warn(_lost(lost))
    for found in lost:  # one at a time, in a separate process: it may have been the memory
        again = found.again
        same = again is found.job
        started = run([again], follow=follow if same else None, preambles={}, turns=turns if same else None)
        with closing(started) as outcomes:
            for done, outcome in outcomes:
                known = found if done is again else LostJob(done, ChildDiedError())
                yield known.job, known.outcome(outcome)


def _preambles(jobs: Sequence[Job], executor: Executor) -> dict[int, Preamble]:
    """Return what jobs begin with in worker processes of this package, by their ``id``."""
    if not isinstance(executor, WorkerExecutor):
        return {}
    from hatch_cuda_kernels.pool.preambles import choose_preambles  # loads NVRTC

    executor.start_workers(len(jobs))  # Python starts there meanwhile
    return choose_preambles(jobs, executor.max_workers)


def _in_order(jobs: Sequence[Job], cost: Callable[[Job], float], preambles: Mapping[int, Preamble]) -> list[Job]:
    """Return jobs longest first; those that begin alike come together, where the longest of them does."""
    alike: dict[object, list[Job]] = {}
    for job in sorted(jobs, key=cost, reverse=True):
        alike.setdefault(preambles.get(id(job), id(job)), []).append(job)
    return [job for group in alike.values() for job in group]


def _run(
    jobs: Sequence[Job],
    *,
    executor: Executor,
    needed: dict[str, str],
    follow: Follow | None,
    preambles: Mapping[int, Preamble],
    turns: Turns | None,
) -> Outcomes:
    waiting: dict[Future[Answer], Job] = {}
    elsewhere: dict[int, Job] = {}
    done: SimpleQueue[Future[Answer]] = SimpleQueue()

    def submit(job: Job) -> None:
        begin = None if turns is None else partial(turns.begin, job)
        future = _submit(executor, Task(needed, job, preambles.get(id(job)), begin))
        waiting[future] = job
        future.add_done_callback(done.put)

    try:
        for job in jobs:
            submit(job)
        while waiting or elsewhere:
            future = _next(done, _LOOK_SECONDS if elsewhere else None)
            if future is None:
                for look in [*islice(elsewhere, _LOOKS)]:
                    submit(elsewhere.pop(look))
                continue
            job = waiting.pop(future)
            outcome = _outcome(future, job)
            if isinstance(outcome, Elsewhere):
                elsewhere[id(job)] = job
                continue
            yield job, outcome
            for next_job in () if follow is None or isinstance(outcome, Exception) else follow(job, outcome):
                submit(next_job)
    finally:
        for future in waiting:
            future.cancel()


def _submit(executor: Executor, task: Task) -> Future[Answer]:
    try:
        return executor.submit(compile_task, task)
    except RuntimeError as error:  # an executor that broke, or was shut down, meanwhile
        future: Future[Answer] = Future()
        future.set_exception(BrokenExecutor(str(error)))
        return future


def _next(done: SimpleQueue[Future[Answer]], seconds: float | None) -> Future[Answer] | None:
    """Wait in short turns, for so long at most: a signal that comes just before a wait does not end it."""
    end = None if seconds is None else monotonic() + seconds
    while end is None or monotonic() < end:
        with suppress(Empty):
            return done.get(timeout=TICK_SECONDS)
    return None


def _outcome(future: Future[Answer], job: Job) -> Answer | Exception:
    try:
        return future.result()
    except (HatchCudaKernelsError, ChildDiedError, BrokenExecutor, CancelledError) as error:
        return error
    except Exception as error:  # noqa: BLE001 - such as an executor's own, of a job whose workers died
        return CompileError(job.module, str(job.arch), f"{type(error).__name__}: {error}")


def _lost(lost: Sequence[LostJob]) -> str:
    names = ", ".join(f"{found.job.module} for {found.job.arch}" for found in lost)
    why = "NVRTC crashed" if any(found.died.crashed for found in lost) else "killed, or out of memory"
    return f"a worker process died ({why}); compiling again, one at a time: {names}"


class LostJob(NamedTuple):
    """A job whose process died, and how."""

    job: Job
    died: ChildDiedError

    @property
    def again(self) -> Job:
        """What to compile next: the same, or what NVRTC crashed on without its instances, to have a message.

        NVRTC resolves names after an error in a source, too, and that is where it was seen to crash.
        """
        if self.died.crashed and isinstance(self.job, CompileJob) and self.job.expressions:
            return replace(self.job, names=(), globals=())
        return self.job

    def outcome(self, second: Compiled | Exception) -> Compiled | Exception:
        """Return the outcome to report, given that of the second compile."""
        if isinstance(second, ChildDiedError):
            if self.died.crashed and second.crashed:
                return self._error(f"NVRTC crashed ({second.ending}) while it compiled this; {_SMALLER}")
            return self._error(
                "the worker process died twice while it compiled this (killed, out of memory, or NVRTC crashed)"
            )
        if self.again is self.job:
            return second
        if not isinstance(second, CompileError):
            return self._error(f"NVRTC crashed ({self.died.ending}) while it compiled this; {_INSTANCES}")
        message = f"NVRTC crashed ({self.died.ending}) while it compiled this; {_ALONE}"
        return self._error(message, second)

    def _error(self, message: str, second: CompileError | None = None) -> CompileError:
        job = self.job
        if second is None:
            return CompileError(job.module, str(job.arch), message)
        return CompileError(
            job.module, str(job.arch), message, log=second.log, flags=second.flags, faults=second.faults
        )


class _Wait(NamedTuple):
    """Since when a job is compiled elsewhere, and how the last compile of its images had failed until then."""

    since: float
    before: dict[str, Failure]


class Turns:
    """The turns of one build's jobs. Thread-safe."""

    def __init__(self, cache: DiskCache, keys: Mapping[ImageId, str], toolchain: Toolchain) -> None:
        self._cache: Final = cache
        self._once: Final = cache.once()
        self._keys: Final = keys
        self._toolchain: Final = toolchain
        self._lock: Final = Lock()
        self._held: dict[int, ExitStack] = {}
        self._found: dict[int, dict[ImageId, Entry]] = {}
        self._waits: dict[int, _Wait] = {}
        self._closed = False

    def begin(self, job: Job) -> Answer | None:
        """Return None if the job is to be compiled now, and otherwise what another compile has given, or Elsewhere.

        Raises the CompileError of another compile that the job has waited for. What begins is to be ended.
        """
        keys = {image: self._keys[image] for image in job_images(job)}
        held = self._once.claim(keys.values())
        if held is None:
            wait = self._waits.setdefault(id(job), _Wait(time.monotonic(), self._failures(keys)))
            if time.monotonic() - wait.since < self._once.timeout:
                return Elsewhere()
        with self._lock:
            self._held[id(job)] = held or ExitStack()
        if self._closed:
            self.end(job)
            return None
        entries = {image: entry for image, key in keys.items() if (entry := self._cache.get(key)) is not None}
        if entries.keys() == keys.keys():
            self._found[id(job)] = entries
            return self._compiled(job, entries)
        self._raise_failure(job)
        return None

    def found(self, job: Job) -> dict[ImageId, Entry] | None:
        """Return the entries that the job was not compiled for; None where it was."""
        return self._found.get(id(job))

    def end(self, job: Job, error: Exception | None = None) -> None:
        """Let others have the job; its images are in the cache, or ``error`` is why there are none."""
        with self._lock:
            held = self._held.pop(id(job), None)
        if held is not None:
            if isinstance(error, CompileError):
                for image in job_images(job):
                    self._once.failed(self._keys[image], error)
            held.close()

    def close(self) -> None:
        """Let others have all jobs, those included that go on in threads."""
        self._closed = True
        with self._lock:
            held, self._held = self._held, {}
        for one in held.values():
            one.close()

    def _compiled(self, job: Job, entries: Mapping[ImageId, Entry]) -> Compiled:
        first = next(iter(entries.values()))
        return Compiled(
            images={image.kind: entry.image for image, entry in entries.items()},
            kernels=first.kernels,
            globals=first.globals,
            resources=first.resources,
            ptx_isa=first.ptx_isa,
            toolchain=job.toolchain(self._toolchain),
            log=first.log,
            seconds=first.seconds,
        )

    def _failures(self, keys: Mapping[ImageId, str]) -> dict[str, Failure]:
        return {key: self._once.failure(key) for key in keys.values()}

    def _raise_failure(self, job: Job) -> None:
        wait = self._waits.get(id(job))
        for key, before in wait.before.items() if wait else ():
            error = self._once.error_since(before, key)
            if error is not None and (error.module, error.arch) == (job.module, str(job.arch)):
                raise error
