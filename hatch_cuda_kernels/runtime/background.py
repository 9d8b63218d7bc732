"""Work in advance or in the background: warm-up, compiles for the next process, kernels for coroutines."""

from __future__ import annotations

import atexit
import os
import sys
import time
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Final, TypeVar

from hatch_cuda_kernels.daemon_executor import DaemonThreads
from hatch_cuda_kernels.driver import call, on_device
from hatch_cuda_kernels.records import NamedTuple
from hatch_cuda_kernels.runtime.ladder import cached, jit_candidates, log
from hatch_cuda_kernels.threads import TICK_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from concurrent.futures import Future

    from hatch_cuda_kernels.arch import SmArch
    from hatch_cuda_kernels.runtime.ladder import Request
    from hatch_cuda_kernels.runtime.launch import Kernel

_T = TypeVar("_T")


class WarmUp(NamedTuple):
    """The result of a warm-up: loaded kernels by origin, kernels that were loaded before, and seconds."""

    prebuilt: int
    cached: int
    jitted: int
    already: int
    seconds: float


#: Modules and architectures that this process compiles exactly.
_STARTED: Final[set[tuple[str, SmArch]]] = set()
_NOT_COMPILED: Final = "the exact image could not be compiled in the background: %s"
#: Compiles for the next process.
_FOR_NEXT: Final[list[Future[None]]] = []


@cache
def background_threads() -> DaemonThreads:
    """Return the threads that compile in the background; the interpreter's exit does not wait for them.

    Two are enough: NVRTC runs one front end at a time in a process, so they only overlap its other phases.
    """
    return DaemonThreads(2)


def in_context(work: Callable[[], _T]) -> Future[_T]:
    """Run ``work`` in a background thread, in the context that is current here. Raises DriverError without a driver."""
    context = call("cuCtxGetCurrent")

    def run() -> _T:
        call("cuCtxSetCurrent", context)
        return work()

    return background_threads().submit(run)


def warm_up(
    wanted: Sequence[tuple[str, str | None]],
    devices: Sequence[int] | None,
    is_loaded: Callable[..., bool],
    get_kernel: Callable[..., Kernel],
    *,
    progress: bool | Callable[[int, int, str], None],
) -> WarmUp:
    """Load kernels, each given with its module, on devices (default: the current one); see ``Store.warm_up``."""
    tell = _show if progress is True else progress
    counts = dict.fromkeys(("prebuilt", "cached", "jitted", "already"), 0)
    start = time.perf_counter()
    steps = [(device, *found) for device in (devices if devices is not None else (None,)) for found in wanted]
    for done, (device, name, module) in enumerate(steps, start=1):
        with on_device(device):
            known = is_loaded(name, module=module)
            kernel = get_kernel(name, module=module)
        counts["already" if known else kernel.image.origin] += 1
        if callable(tell):
            tell(done, len(steps), name)
    return WarmUp(**counts, seconds=time.perf_counter() - start)


def tier_up(request: Request) -> None:
    """Compile the exact CUBIN for the next process in the background. A failure is only logged."""
    if any(candidate.accepted for candidate in cached(request)):
        return
    arch = request.arch
    for candidate in jit_candidates(request):
        if candidate.accepted and candidate.get is not None and (request.source.scope, arch) not in _STARTED:
            _STARTED.add((request.source.scope, arch))  # one compile serves every kernel of the module
            _FOR_NEXT.append(background_threads().submit(_quietly, candidate.get))
        elif candidate.damage is not None:
            log(_NOT_COMPILED, candidate.damage)


@atexit.register
def finish_for_next() -> None:
    """Wait at exit for compiles for the next process: otherwise a short program would never record one.

    Ctrl-C ends the wait, and a program that ended by Ctrl-C does not wait.
    """
    if getattr(sys, "last_type", None) is not KeyboardInterrupt:
        with suppress(KeyboardInterrupt):
            while not all(future.done() for future in _FOR_NEXT):
                time.sleep(TICK_SECONDS)


def _quietly(compile_exact: Callable[[], object]) -> None:
    try:
        compile_exact()
    except Exception as error:  # noqa: BLE001 - nobody waits for it, and the kernel in use works
        log(_NOT_COMPILED, error)


def _show(done: int, total: int, name: str) -> None:
    print(f"\rloading kernels {done}/{total} {name}\x1b[K", end="\n" if done == total else "", flush=True)  # noqa: T201


if hasattr(os, "register_at_fork"):
    # A forked child has the executor without its threads, so work given to it would never run.
    os.register_at_fork(after_in_child=background_threads.cache_clear)
