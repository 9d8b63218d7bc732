"""A plan's jobs, compiled: workers, executors, progress, and the disk cache."""

from hatch_cuda_kernels.doors import lazy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hatch_cuda_kernels.pool.compilation import compile_missing as compile_missing
    from hatch_cuda_kernels.pool.executors import DASK_REQUIREMENT as DASK_REQUIREMENT
    from hatch_cuda_kernels.pool.executors import choose_executor as choose_executor
    from hatch_cuda_kernels.pool.executors import default_workers as default_workers
    from hatch_cuda_kernels.pool.executors import is_executor as is_executor
    from hatch_cuda_kernels.pool.executors import uses_dask as uses_dask
    from hatch_cuda_kernels.pool.isolation import OutOfTimeError as OutOfTimeError
    from hatch_cuda_kernels.pool.isolation import one_worker as one_worker
    from hatch_cuda_kernels.pool.isolation import run_isolated as run_isolated
    from hatch_cuda_kernels.pool.missing import find_fresh as find_fresh
    from hatch_cuda_kernels.pool.missing import find_missing as find_missing
    from hatch_cuda_kernels.pool.progress import Progress as Progress
    from hatch_cuda_kernels.pool.progress import open_progress as open_progress
    from hatch_cuda_kernels.pool.schedule import compile_on as compile_on

#: Who only asks for an executor's name imports nothing that compiles.
__getattr__ = lazy(
    __name__,
    {
        "compilation": ("compile_missing",),
        "executors": ("DASK_REQUIREMENT", "choose_executor", "default_workers", "is_executor", "uses_dask"),
        "isolation": ("OutOfTimeError", "one_worker", "run_isolated"),
        "missing": ("find_fresh", "find_missing"),
        "progress": ("Progress", "open_progress"),
        "schedule": ("compile_on",),
    },
)
