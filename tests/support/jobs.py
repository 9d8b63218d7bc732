"""What builds of a test compile, written down job by job."""

from __future__ import annotations

from contextlib import closing

from hatch_cuda_kernels.pool import compilation

__all__ = ["watch_jobs"]


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
