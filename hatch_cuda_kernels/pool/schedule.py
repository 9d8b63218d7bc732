"""Run compile jobs on an executor, longest first, and hand out results as they come.

A job whose process died is compiled once more. Of several builds with one disk cache, the first to come compiles a job,
and the others take its result. Only a compile that runs holds a lock, until its images are in the cache, and no build
waits while it holds one: a job that another build compiles is put off. So builds that want the same images in different
orders share the work, and a build that is killed or interrupted does not stop the others.

Workers precompile headers for jobs that begin alike, if that pays.
"""

from __future__ import annotations

import math
import shutil
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from contextlib import ExitStack, closing, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import groupby, islice, takewhile
from queue import Empty, SimpleQueue
from threading import Event, Lock, Timer
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from hatch_cuda_kernels.child_process import ChildDiedError, ChildProcess
from hatch_cuda_kernels.compiler import (
    HEAP_BYTES,
    Beginning,
    Compiled,
    CompileJob,
    FinishJob,
    Preamble,
    Toolkit,
    can_precompile,
    compile_flags,
    run_job,
    shared_flags,
)
from hatch_cuda_kernels.compiler.toolchain import Toolchain, load_toolchain
from hatch_cuda_kernels.errors import CompileError, HatchCudaKernelsError, ToolchainError
from hatch_cuda_kernels.integrity import sha256
from hatch_cuda_kernels.libraries import begins_as
from hatch_cuda_kernels.names import is_projects
from hatch_cuda_kernels.plan import job_images
from hatch_cuda_kernels.pool.executors import (
    Elsewhere,
    Task,
    WorkerExecutor,
    compile_task,
    free_bytes,
    local_executor,
    needed_tools,
    open_executor,
)
from hatch_cuda_kernels.threads import TICK_SECONDS, interruptible

if TYPE_CHECKING:
    from hatch_cuda_kernels.cache import DiskCache, Entry, Failure
    from hatch_cuda_kernels.compiler import Job
    from hatch_cuda_kernels.image import ImageId, Kind
    from hatch_cuda_kernels.pool.executors import Answer, Tools

    Outcomes: TypeAlias = Generator[tuple[Job, Compiled | Exception], None, None]


#: Measured with NVRTC 13.0: what it reads of CUB in a second, and what it puts before each program.
_SECONDS_PER_CHARACTER: Final = 1.5e-7
_BUILTIN_SECONDS: Final = 0.012
#: A compile that begins with a precompiled header takes so much more for the rest.
_SLOWER: Final = 0.3
#: To make one takes so many times what it takes to read the headers, and a little more.
_MAKING: Final = 1.8
_MAKING_SECONDS: Final = 0.03
#: Fewer compiles are not worth a look.
_FEWEST: Final = 3
#: What a worker takes more, on disk and in memory, with all that it may precompile.
_ROOM: Final = 2 * HEAP_BYTES


class _Lead(NamedTuple):
    """What a program can begin with, and how much of its front end's time that is."""

    beginning: Beginning
    headers: tuple[str, ...]
    seconds: float
    """Of all that the program reads."""

    def read_seconds(self, depth: int) -> float:
        characters = self.beginning.characters(self.headers[:depth]) if depth else 0
        return _BUILTIN_SECONDS + _SECONDS_PER_CHARACTER * characters

    def saved(self, depth: int) -> float:
        read = self.read_seconds(depth)
        return read - _SLOWER * max(0.0, self.seconds - read)


class _Cuts(NamedTuple):
    """How deep each program's precompiled header goes, and what all of them save."""

    saved: float
    depths: tuple[tuple[_Lead, int], ...] = ()
    """Of those that begin with one."""


def choose_preambles(jobs: Sequence[Job], workers: int) -> dict[int, Preamble]:
    """Return what jobs are to begin with, by their ``id``; nothing for those that compile better without. Loads NVRTC.

    ``workers`` is how many processes share the work; each of them has to precompile separately.
    """
    if not can_precompile() or not _has_room(workers):
        return {}
    toolchain = load_toolchain()
    alike: dict[tuple[str, ...], list[CompileJob]] = defaultdict(list)
    for job in jobs:
        if isinstance(job, CompileJob) and job.kinds and not (job.options.extra or job.options.debug):
            alike[shared_flags(compile_flags(job, toolchain))].append(job)
    shares = math.ceil(workers / max(1, len(alike)))
    alike = {flags: found for flags, found in alike.items() if len(found) >= _FEWEST * shares}
    if not alike:
        return {}
    programs = [job.program for found in alike.values() for job in found]
    names = {name for program in programs for name in program.outside}
    names |= {name for program in programs for name, _ in program.headers if not is_projects(name)}
    leads = _Leads(Toolkit(toolchain.include_dirs, names))
    return {
        job: preamble
        for flags, found in alike.items()
        for job, preamble in leads.preambles(flags, found, shares).items()
    }


def _has_room(workers: int) -> bool:
    try:
        disk = shutil.disk_usage(tempfile.gettempdir()).free
    except OSError:  # no folder can be written to
        return False
    return min(free_bytes(), disk) > workers * _ROOM


class _Leads:
    """What the programs of a build begin with; the same for every architecture."""

    def __init__(self, toolkit: Toolkit) -> None:
        self._toolkit = toolkit
        self._known: dict[tuple[int, bool], _Lead] = {}
        self._chosen: dict[tuple[int, ...], _Cuts] = {}

    def preambles(self, flags: tuple[str, ...], jobs: Sequence[CompileJob], shares: int) -> dict[int, Preamble]:
        """Return what jobs with the same flags are to begin with, ``shares`` of each kind in as many processes."""
        found = {id(job): self._lead(job) for job in jobs}
        ordered = tuple(sorted({id(lead): lead for lead in found.values()}.values(), key=lambda one: one.headers))
        key = (shares, *map(id, ordered))
        if key not in self._chosen:
            self._chosen[key] = _choose_cuts(ordered, shares)
        depths = {id(lead): depth for lead, depth in self._chosen[key].depths}
        groups: dict[tuple[tuple[str, ...], str], list[tuple[int, _Lead]]] = defaultdict(list)
        for job, lead in found.items():
            if id(lead) in depths:
                headers = lead.headers[: depths[id(lead)]]
                groups[headers, lead.beginning.digest(headers)].append((job, lead))
        return {
            job: preamble
            for (headers, digest), alike in groups.items()
            if (preamble := _preamble(headers, f"{digest} {flags}", [lead for _, lead in alike]))
            for job, _ in alike
        }

    def _lead(self, job: CompileJob) -> _Lead:
        """Return what a job can begin with: only NVRTC's own, if anything else would show in the result.

        A precompiled header has templates instantiated, whose variables are in PTX. They are left out of the PTX that
        ptxas finishes, but not of LTO-IR, objects and NVRTC's CUBINs.
        """
        moves = job.finisher == "ptxas" and not job.options.lto
        key = id(job.program), moves
        if key not in self._known:
            beginning = Beginning(job.program, job.options, self._toolkit)
            seconds = _BUILTIN_SECONDS + _SECONDS_PER_CHARACTER * beginning.characters(beginning.named)
            self._known[key] = _Lead(beginning, beginning.headers if moves else (), seconds)
        return self._known[key]


def _choose_cuts(leads: Sequence[_Lead], shares: int) -> _Cuts:
    """Choose for programs with the same flags, ordered by their headers, how many of these to precompile."""

    @cache
    def best(begin: int, end: int, above: int | None) -> _Cuts:
        """Return the best choice for some, if ``above`` headers are precompiled anyway."""
        without = total(begin, end, above)
        if end - begin < _FEWEST:
            return without
        first, last = leads[begin], leads[end - 1]  # those that differ most
        alike = takewhile(lambda pair: pair[0] == pair[1], zip(first.headers, last.headers, strict=False))
        depth = sum(1 for _ in alike)
        making = shares * (_MAKING_SECONDS + _MAKING * first.read_seconds(depth))
        here = split(begin, end, depth, depth)
        choices = without, split(begin, end, depth, above), here._replace(saved=here.saved - making)
        return max(choices, key=lambda choice: choice.saved)

    def split(begin: int, end: int, depth: int, above: int | None) -> _Cuts:
        found = []
        for following, part in groupby(range(begin, end), lambda one: leads[one].headers[depth : depth + 1]):
            start, *rest = part
            ends = start, start + len(rest) + 1
            found.append(best(*ends, above) if following else total(*ends, above))
        return _Cuts(sum(one.saved for one in found), tuple(pair for one in found for pair in one.depths))

    def total(begin: int, end: int, above: int | None) -> _Cuts:
        """Return what programs save that begin with what is precompiled anyway, as far as they do save something."""
        saved = [] if above is None else [(lead, lead.saved(above)) for lead in leads[begin:end]]
        gains = [(lead, gain) for lead, gain in saved if gain > 0]
        return _Cuts(sum(gain for _, gain in gains), tuple((lead, above or 0) for lead, _ in gains))

    return best(0, len(leads), None)


def _preamble(headers: tuple[str, ...], digest: str, alike: Sequence[_Lead]) -> Preamble | None:
    gain = sum(lead.saved(len(headers)) for lead in alike) / len(alike)
    making = _MAKING_SECONDS + _MAKING * alike[0].read_seconds(len(headers))
    worth = max(_FEWEST, math.ceil(making / gain)) if gain > 0 else len(alike) + 1
    return Preamble(headers, sha256(digest.encode()).hexdigest(), worth) if len(alike) >= worth else None


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
        if not job.inputs:  # they are not compiled yet; it often takes as long as a light front end
            return _LIGHT_SECONDS * len(job.fronts)
        return sum(len(given.image) for given in job.inputs) / _SECOND.get(job.input_kind, _PTX_SECOND)
    heavy = any(begins_as(name, "cuda", "headers", "heavy") for name in job.program.outside)
    front_end = _HEAVY_SECONDS if heavy else _LIGHT_SECONDS
    characters = len(job.program.source) + sum(len(text) for _, text in job.program.headers)
    return front_end + _INSTANCE_SECONDS * len(job.names) + _CHARACTER_SECONDS * characters


@dataclass(frozen=True, slots=True, kw_only=True)
class How:
    """How jobs are compiled."""

    cost: Callable[[Job], float] = estimate_seconds
    follow: Callable[[Job, Compiled], Iterable[Job]] = lambda *_: ()
    """Gives the jobs that can begin once one has given its result, and been handed out."""
    following: Sequence[Job] = ()
    """All of these."""
    turns: Turns | None = None
    """Puts off jobs that others compile until these have; who receives an outcome ends its turn."""
    warn: Callable[[str], None] = lambda _: None


_PLAINLY: Final = How()


def compile_on(
    executor: Executor | str, jobs: Sequence[Job], how: How = _PLAINLY, *, workers: int | None = None
) -> Outcomes:
    """Do the same as ``compile_all`` on an executor that is opened by its name, and ended with the last job.

    ``workers`` bounds the processes on this machine. Jobs that finish stay in this one's threads where there are no
    others: nvJitLink has no lock, and ptxas is a process itself.
    Raises, in place of yielding it, what would end every job alike: ToolchainError, or BrokenExecutor, CancelledError
    or BuildError of an executor that stopped working.
    """
    every = [*jobs, *how.following]
    compiling, finishing = (
        [how.cost(job) for job in every if isinstance(job, kind)] for kind in (CompileJob, FinishJob)
    )
    local, needed = partial(local_executor, compiling, finishing, workers), partial(needed_tools, every)
    with (
        open_executor(executor, needed, local=local, warn=how.warn) as opened,
        closing(compile_all(jobs, opened, how)) as outcomes,
    ):
        for job, outcome in outcomes:
            if isinstance(outcome, ToolchainError | BrokenExecutor | CancelledError):
                raise outcome  # the same for every other job
            yield job, outcome


def compile_all(jobs: Sequence[Job], executor: Executor, how: How = _PLAINLY) -> Outcomes:
    """Compile every job and yield each with its result, or with the error that kept it from one, as they finish.

    A failing job does not stop the others: all failures of a run are reported together. Jobs whose worker process died
    are compiled again, after the others and one at a time; ``warn`` gets a message about that once. On
    KeyboardInterrupt, or when the caller closes the generator, what has not begun is cancelled.
    """
    if not isinstance(executor, WorkerExecutor):
        yield from _compile_all(jobs, executor, how, {})
        return
    executor.start_workers(len(jobs) + len(how.following))  # they load the compilers meanwhile
    try:
        yield from _compile_all(jobs, executor, how, choose_preambles(jobs, executor.max_workers))
    finally:
        executor.release_workers()


def _compile_all(jobs: Sequence[Job], executor: Executor, how: How, preambles: Mapping[int, Preamble]) -> Outcomes:
    lost: list[LostJob] = []
    needed = needed_tools([*jobs, *how.following])
    with closing(_run(_in_order(jobs, how.cost, preambles), executor, how, needed, preambles)) as outcomes:
        for job, outcome in outcomes:
            if isinstance(outcome, ChildDiedError):
                if how.turns is not None:
                    how.turns.end(job)
                lost.append(LostJob(job, outcome))
            else:
                yield job, outcome
    if lost:
        names = ", ".join(f"{found.job.module} for {found.job.arch}" for found in lost)
        why = "NVRTC crashed" if any(found.died.crashed for found in lost) else "killed, or out of memory"
        how.warn(f"a worker process died ({why}); compiling again, one at a time: {names}")
    for found in lost:  # one at a time, in a separate process: it may have been the memory
        again = found.again
        alone = how if again is found.job else _PLAINLY
        with closing(_run([again], executor, alone, needed, {})) as outcomes:
            for done, outcome in outcomes:
                known = found if done is again else LostJob(done, ChildDiedError())
                yield known.job, known.outcome(outcome)


def _in_order(jobs: Sequence[Job], cost: Callable[[Job], float], preambles: Mapping[int, Preamble]) -> list[Job]:
    """Return jobs longest first; those that begin alike come together, where the longest of them does."""
    alike: dict[object, list[Job]] = {}
    for job in sorted(jobs, key=cost, reverse=True):
        alike.setdefault(preambles.get(id(job), id(job)), []).append(job)
    return [job for group in alike.values() for job in group]


def _run(
    jobs: Sequence[Job], executor: Executor, how: How, needed: Tools, preambles: Mapping[int, Preamble]
) -> Outcomes:
    waiting: dict[Future[Answer], Job] = {}
    elsewhere: dict[int, Job] = {}
    done: SimpleQueue[Future[Answer]] = SimpleQueue()

    def submit(job: Job) -> None:
        begin = None if how.turns is None else partial(how.turns.begin, job)
        future: Future[Answer]
        try:
            future = executor.submit(compile_task, Task(needed, job, preambles.get(id(job)), begin))
        except RuntimeError as error:  # an executor that broke, or was shut down, meanwhile
            future = Future()
            future.set_exception(BrokenExecutor(str(error)))
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
            for next_job in () if isinstance(outcome, Exception) else how.follow(job, outcome):
                submit(next_job)
    finally:
        for future in waiting:
            future.cancel()


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


class LostJob(NamedTuple):
    """A job whose process died, and how."""

    job: Job
    died: ChildDiedError

    @property
    def again(self) -> Job:
        """What to compile next: the same job, or without its instances what NVRTC crashed on, for a message.

        NVRTC resolves names even after an error in a source, and was seen to crash there.
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
        known: dict[str, Any] = (
            {} if second is None else {"log": second.log, "flags": second.flags, "faults": second.faults}
        )
        return CompileError(self.job.module, str(self.job.arch), message, **known)


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
        self._waits: dict[int, tuple[float, dict[str, Failure]]] = {}
        """Since when a job is compiled elsewhere, and how the last compile of its images had failed until then."""
        self._closed = False

    def begin(self, job: Job) -> Answer | None:
        """Return None if the job is to be compiled now, and otherwise what another compile has given, or Elsewhere.

        Raises the CompileError of another compile that the job has waited for. What begins is to be ended.
        """
        keys = {image: self._keys[image] for image in job_images(job)}
        held = self._once.claim(keys.values())
        if held is None:
            failures = {key: self._once.failure(key) for key in keys.values()}
            since, _ = self._waits.setdefault(id(job), (time.monotonic(), failures))
            if time.monotonic() - since < self._once.timeout:
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
        _, failures = self._waits.get(id(job), (0.0, {}))
        for key, before in failures.items():
            error = self._once.error_since(before, key)
            if error is not None and (error.module, error.arch) == (job.module, str(job.arch)):
                raise error
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


_worker: Final[ContextVar[_Worker | None]] = ContextVar("_worker", default=None)


class OutOfTimeError(Exception):
    """A compile took longer than it may, and was ended."""


class _Worker:
    """A process that is started when it is needed, and again after it died."""

    def __init__(self) -> None:
        self._child: ChildProcess | None = None

    def compile(self, job: Job) -> Compiled | Exception:
        """Return what a job gives, or the error that it ends in."""
        self._child = self._child or ChildProcess()
        try:
            return self._child.call((run_job, (job,), {}))  # type: ignore[no-any-return]  # it crossed a pipe
        except ChildDiedError as error:
            self.end()
            return error
        except Exception as error:  # noqa: BLE001 - raised where it was asked for
            return error

    def kill(self) -> None:
        """Let the compile that is going on end without an answer."""
        if self._child is not None:
            self._child.kill()

    def end(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            with child:
                child.kill()


@contextmanager
def one_worker() -> Iterator[_Worker]:
    """Keep one process for all compiles of a block, or of a function that this decorates, and end it afterwards."""
    outer = _worker.get()
    if outer is not None:
        yield outer
        return
    worker = _Worker()
    token = _worker.set(worker)
    try:
        yield worker
    finally:
        _worker.reset(token)
        worker.end()


def run_isolated(job: Job, seconds: float | None = None) -> Compiled:
    """Return what ``run_job`` returns or raise what it raises; a crash of NVRTC is a CompileError, too.

    Raises OSError if no process can be started, and OutOfTimeError after some seconds.
    """
    expired = Event()
    if seconds == 0:
        raise OutOfTimeError
    with one_worker() as worker:

        def end() -> None:
            expired.set()
            worker.kill()

        timer = None if seconds is None else Timer(seconds, end)
        if timer is not None:
            timer.daemon = True
            timer.start()
        try:
            outcome = interruptible(lambda: worker.compile(job))
            if isinstance(outcome, ChildDiedError) and not expired.is_set():
                lost = LostJob(job, outcome)
                outcome = lost.outcome(interruptible(lambda: worker.compile(lost.again)))
        finally:
            if timer is not None:
                timer.cancel()
    if isinstance(outcome, Exception):
        if expired.is_set():
            raise OutOfTimeError
        raise outcome
    return outcome
