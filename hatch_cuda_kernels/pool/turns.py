"""Who compiles a job, of several builds with one disk cache: whoever comes first. The others take what that leaves.

Nothing is locked but by a compile that runs, until its images are in the cache, and nobody waits with a lock in hand:
a job that another build compiles is put off. So builds that want the same images in different orders share the work,
and one that is killed, or interrupted, keeps no other from going on.
"""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Final, NamedTuple

from hatch_cuda_kernels.compiler import Compiled
from hatch_cuda_kernels.errors import CompileError
from hatch_cuda_kernels.plan import job_images

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TypeAlias

    from hatch_cuda_kernels.cache import DiskCache, Entry, Failure
    from hatch_cuda_kernels.compiler import Job
    from hatch_cuda_kernels.compiler.toolchain import Toolchain
    from hatch_cuda_kernels.image import ImageId

    Answer: TypeAlias = "Compiled | Elsewhere"

__all__ = ["Answer", "Elsewhere", "Turns"]


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """The answer for a job that is being compiled by another build, or as another module's job of this one."""


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
