"""What to do about a job whose process died: compile it again, and say what can be said."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

from hatch_cuda_kernels.child_process import ChildDiedError
from hatch_cuda_kernels.compiler import CompileJob
from hatch_cuda_kernels.errors import CompileError

if TYPE_CHECKING:
    from hatch_cuda_kernels.compiler import Compiled, Job

__all__ = ["LostJob"]

_ALONE: Final = "without its instances, NVRTC says what is wrong"
_INSTANCES: Final = "it compiles without instances: list fewer of them, to find the one that NVRTC cannot take"
_SMALLER: Final = "leave out parts of the source to find the line that it cannot take, or try another release of CUDA"


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
