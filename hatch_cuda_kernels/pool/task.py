"""What executors run: a compile job on its way to another process, and what that must have to give the same images."""

from __future__ import annotations

import os
import pickle
import socket
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels import __version__
from hatch_cuda_kernels.compiler import FINISHER_NAMES
from hatch_cuda_kernels.compiler.toolchain import (
    build_extra,
    own,
    pip_install,
    reinstall_option,
    require_ptxas,
    toolchain_requirements,
)
from hatch_cuda_kernels.errors import ToolchainError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import TypeAlias

    from hatch_cuda_kernels.compiler import Compiled, Job, Preamble

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
        """Return the answer that there is already, without a compile; None where there is none, or nobody to ask."""
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


def tools_here() -> Tools:
    """Return the version of each tool that decides about images here, by name; empty for one that is missing.

    Loads NVRTC. Where there is none, only this package is named.
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
    """Return those of the tools here that have a part in these jobs. Loads NVRTC.

    Raises ToolchainError if the jobs need ptxas, and there is none.
    """
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
    problems = [line for who, found in workers.items() for line in _differences(who, found, needed)]
    if problems:
        found = [version for tools in workers.values() if isinstance(tools, dict) for version in tools.values()]
        raise WorkerMismatchError("\n".join(problems), _fix(needed, found))


def _differences(who: str, found: Tools | Exception, needed: Tools) -> list[str]:
    if isinstance(found, Exception):
        return [f"{who} cannot compile for this build: {type(found).__name__}: {found}"]
    return [
        f"{who} has {name} {found.get(name) or '(none)'}, this build needs {version}"
        for name, version in needed.items()
        if found.get(name) != version
    ]


def _fix(needed: Tools, found: Iterable[str]) -> str:
    """Return how to install the build's versions, as far as they are from wheels, in place of those that were found."""
    nvrtc = needed["NVRTC"]
    package = own(build_extra(int(nvrtc.partition(".")[0])), needed[_PACKAGE])
    tools = toolchain_requirements(nvrtc, *(needed.get(name, "") for name in ("nvJitLink", "toolkit headers", "ptxas")))
    command = pip_install(package, *tools, options=reinstall_option(found), here=False)
    return f"in the environment of each of these workers, {command}"
