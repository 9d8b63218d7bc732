"""Compiles on the workers of a Dask cluster, through the executor that ``distributed`` offers."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from hatch_cuda_kernels.errors import BuildError
from hatch_cuda_kernels.plugin.task import check_tools, tools_here

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from concurrent.futures import Executor

    from hatch_cuda_kernels.plugin.task import Tools

__all__ = ["dask_executor"]

#: A cluster that grows with its work has no worker until it is asked for something, and takes a while to start one.
_FIRST_WORKER_SECONDS: Final = 300.0
_CONNECT_SECONDS: Final = 30.0


@contextmanager
def dask_executor(address: str, needed: Tools, warn: Callable[[str], None]) -> Iterator[Executor]:
    """Yield an executor on the cluster whose scheduler is at an address, or described in a ``.json`` file.

    Raises BuildError when there is no scheduler or no worker, WorkerMismatchError when a worker has other tools.
    """
    client = _connect(address)
    try:
        _check_workers(client, address, needed, warn)
        yield client.get_executor(pure=False)
    finally:
        client.close()  # what runs for it, and nobody waits for any more, is cancelled


def _connect(address: str) -> Any:  # noqa: ANN401 - distributed is an extra
    try:
        from distributed import Client  # noqa: PLC0415 - an extra, and half a second
    except ModuleNotFoundError as error:
        advice = 'python3 -m pip install "hatch-cuda-kernels[dask]"'
        raise BuildError([f"executor dask:{address}: {error.name} is not installed\n  to fix: {advice}"]) from error
    place = {"scheduler_file": address} if address.endswith(".json") else {"address": address}
    try:
        return Client(**place, timeout=_CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        advice = "start one with 'dask scheduler', or correct the executor"
        raise BuildError([f"no Dask scheduler answers at {address}: {error}\n  to fix: {advice}"]) from error


def _check_workers(client: Any, address: str, needed: Tools, warn: Callable[[str], None]) -> None:  # noqa: ANN401
    if not client.nthreads():
        _wait_for_one(client, address)
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


def _wait_for_one(client: Any, address: str) -> None:  # noqa: ANN401
    try:
        client.submit(tools_here, pure=False).result(timeout=_FIRST_WORKER_SECONDS)
    except TimeoutError as error:
        advice = f"start some, for example with 'dask worker {address} --nthreads 1 --nworkers 8'"
        problem = f"the Dask scheduler at {address} had no worker for {_FIRST_WORKER_SECONDS:.0f} s"
        raise BuildError([f"{problem}\n  to fix: {advice}"]) from error
