"""Where builds of a test compile, and what they compile, written down job by job."""

from __future__ import annotations

from contextlib import closing

from hatch_cuda_kernels.pool import compilation

__all__ = ["compile_in_threads", "watch_jobs"]


def compile_in_threads(patch):
    """Let builds compile in threads of this process: a worker process costs as much as ten small compiles."""
    from hatch_cuda_kernels.compiler.nvrtc import run_job
    from hatch_cuda_kernels.daemon_executor import DaemonThreads
    from hatch_cuda_kernels.pool.executors import default_workers

    def in_threads(compiling, finishing, workers):
        return DaemonThreads(min(workers or default_workers(), len(compiling) + len(finishing)) or 1)

    patch.setattr("hatch_cuda_kernels.pool.schedule.local_executor", in_threads)
    patch.setattr("hatch_cuda_kernels.port.trials.run_isolated", lambda job, _seconds: run_job(job))


def watch_jobs(monkeypatch, describe):
    """Return a list to which each job that is done from now on adds what ``describe`` says of it."""
    done, compile_on = [], compilation.compile_on

    def record(*given, **more):
        with closing(compile_on(*given, **more)) as outcomes:
            for job, outcome in outcomes:
                done.append(describe(job))
                yield job, outcome

    monkeypatch.setattr(compilation, "compile_on", record)
    return done
