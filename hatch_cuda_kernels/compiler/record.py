"""What a compile leaves in the disk cache: an entry with the image and all that its compile said of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hatch_cuda_kernels.cache import Entry

if TYPE_CHECKING:
    from hatch_cuda_kernels.compiler.finish_job import Job
    from hatch_cuda_kernels.compiler.job import Compiled
    from hatch_cuda_kernels.image import Kind

__all__ = ["entry_of"]


def entry_of(job: Job, kind: Kind, compiled: Compiled, *, wanted: str = "") -> Entry:
    """Return the entry of one image of a job that was compiled just now; ``wanted`` is as in ``Entry``."""
    return Entry(
        key=job.key(kind, compiled.toolchain),
        module=job.module,
        kind=kind,
        arch=job.image_arch(kind),
        image=compiled.images[kind],
        kernels=compiled.kernels,
        globals=compiled.globals,
        resources=compiled.resources,
        ptx_isa=compiled.ptx_isa,
        toolchain=compiled.toolchain.to_json(),
        log=compiled.log,
        created=Entry.now(),
        seconds=compiled.seconds,
        wanted=wanted,
    )
