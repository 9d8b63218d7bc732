"""What executors run: a compile job on its way to some process, and what that process must have to compile it alike."""

from __future__ import annotations

import os
import pickle
import re
import socket
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels import __version__
from hatch_cuda_kernels.errors import ToolchainError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeAlias

    from hatch_cuda_kernels.compiler.job import Compiled
    from hatch_cuda_kernels.compiler.link_job import Job

    Tools: TypeAlias = dict[str, str]

__all__ = ["Task", "WorkerMismatchError", "check_tools", "compile_task", "needed_tools", "tools_here"]

_PACKAGE: Final = "hatch-cuda-kernels"
_VERSION: Final = re.compile(r"[0-9.]+")


class WorkerMismatchError(ToolchainError):
    """A process that was given a job has not what the build has; its images would not be the same."""


class Task:
    """A job with the tools it needs, by name and version.

    The job travels as bytes of its own: a worker with another version of this package says so, instead of failing to
    read it.
    """

    def __init__(self, needed: Tools, job: Job | bytes) -> None:
        self._needed = needed
        self._job = job

    def __reduce__(self) -> tuple[object, ...]:
        return Task, (self._needed, self._job if isinstance(self._job, bytes) else pickle.dumps(self._job))

    def compile(self) -> Compiled:
        """Compile the job here. Raises WorkerMismatchError, and what the compile raises."""
        from hatch_cuda_kernels.compiler.nvrtc import compile as compile_job  # loads NVRTC

        check_tools({f"the worker on {socket.gethostname()}, process {os.getpid()},": tools_here()}, self._needed)
        return compile_job(pickle.loads(self._job) if isinstance(self._job, bytes) else self._job)  # noqa: S301


def compile_task(task: Task) -> Compiled:
    """Compile a task: the function that executors are given."""
    return task.compile()


def tools_here() -> Tools:
    """Return what decides about images in this process, by name; the version is empty where there is none."""
    from hatch_cuda_kernels.compiler.toolchain.installed import load_toolchain  # loads NVRTC

    try:
        found = load_toolchain()
    except ToolchainError:
        return {_PACKAGE: __version__}
    return {
        _PACKAGE: __version__,
        "NVRTC": found.nvrtc,
        "toolkit headers": found.headers,
        "nvJitLink": found.nvjitlink,
    }


def needed_tools(jobs: Sequence[Job]) -> Tools:
    """Return what of the tools here has a part in these jobs."""
    from hatch_cuda_kernels.compiler.toolchain.installed import load_toolchain  # loads NVRTC

    needed = tools_here()
    if not any(job.uses_toolkit_headers for job in jobs):
        del needed["toolkit headers"]
    if not any(job.toolchain(load_toolchain()).nvjitlink for job in jobs):
        del needed["nvJitLink"]
    return {name: version for name, version in needed.items() if version}


def check_tools(workers: dict[str, Tools | Exception], needed: Tools) -> None:
    """Raise WorkerMismatchError naming every worker that lacks what is needed, what it has, and what to install."""
    problems = [line for who, found in workers.items() for line in _differences(who, found, needed)]
    if problems:
        fix = f"in the environment of each of these workers, python3 -m pip install {' '.join(_requirements(needed))}"
        raise WorkerMismatchError("\n".join(problems), fix)


def _differences(who: str, found: Tools | Exception, needed: Tools) -> list[str]:
    if isinstance(found, Exception):
        return [f"{who} cannot compile for this build: {type(found).__name__}: {found}"]
    return [
        f"{who} has {name} {found.get(name) or '(none)'}, this build needs {version}"
        for name, version in needed.items()
        if found.get(name) != version
    ]


def _requirements(needed: Tools) -> list[str]:
    """Return requirements that bring the very versions a build has, where its tools came from wheels."""
    from hatch_cuda_kernels.compiler.toolchain.parts import PARTS  # only to say what is missing

    major = int(needed["NVRTC"].split(".")[0])
    cuda = "" if major >= 13 else f"-cu{major}"
    wheels = {f"nvidia-cuda-nvrtc{cuda}": needed["NVRTC"], f"nvidia-nvjitlink{cuda}": needed.get("nvJitLink", "")}
    for part in needed.get("toolkit headers", "").split(", "):
        name, _, version = part.partition(" ")
        if name in PARTS:
            wheel = PARTS[name].wheels[0 if major >= 13 else 1].replace("_", "-")
            wheels[f"nvidia-{wheel}{cuda}"] = version
    pinned = [f"{name}=={version}" for name, version in wheels.items() if _VERSION.fullmatch(version)]
    return [repr(text) for text in (f"{_PACKAGE}[build{cuda}]=={needed[_PACKAGE]}", *pinned)]
