"""Compiles on the workers of a Dask cluster, through the executor that ``distributed`` offers."""

from __future__ import annotations

import time
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, Final

from hatch_cuda_kernels.compiler.toolchain import own, pip_install
from hatch_cuda_kernels.errors import BuildError
from hatch_cuda_kernels.pool.task import check_tools, tools_here

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from concurrent.futures import Executor

    from hatch_cuda_kernels.pool.task import Tools

__all__ = ["dask_executor"]

#: A cluster that grows with its work has no worker until it is asked for something, and takes a while to start one.
_NO_WORKER_SECONDS: Final = 300.0
_CONNECT_SECONDS: Final = 30.0
_TICK_SECONDS: Final = 1.0


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
            with suppress(Exception):  # of several types, when the connection is lost; what waits is told of it anyhow
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
