"""A plan's jobs, compiled: workers, executors, progress, and the disk cache."""

from hatch_cuda_kernels.doors import lazy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hatch_cuda_kernels.pool.apart import OutOfTimeError as OutOfTimeError
    from hatch_cuda_kernels.pool.apart import compile_apart as compile_apart
    from hatch_cuda_kernels.pool.apart import one_worker as one_worker
    from hatch_cuda_kernels.pool.compilation import Progress as Progress
    from hatch_cuda_kernels.pool.compilation import compile_missing as compile_missing
    from hatch_cuda_kernels.pool.compile_all import compile_on as compile_on
    from hatch_cuda_kernels.pool.executors import DASK_REQUIREMENT as DASK_REQUIREMENT
    from hatch_cuda_kernels.pool.executors import choose_executor as choose_executor
    from hatch_cuda_kernels.pool.executors import default_workers as default_workers
    from hatch_cuda_kernels.pool.executors import is_executor as is_executor
    from hatch_cuda_kernels.pool.executors import uses_dask as uses_dask
    from hatch_cuda_kernels.pool.fresh import find_fresh as find_fresh
    from hatch_cuda_kernels.pool.fresh import find_missing as find_missing
    from hatch_cuda_kernels.pool.progress import open_progress as open_progress

#: Who only asks for an executor's name imports nothing that compiles.
__getattr__ = lazy(
    __name__,
    {
        "apart": ("OutOfTimeError", "compile_apart", "one_worker"),
        "compilation": ("Progress", "compile_missing"),
        "compile_all": ("compile_on",),
        "executors": ("DASK_REQUIREMENT", "choose_executor", "default_workers", "is_executor", "uses_dask"),
        "fresh": ("find_fresh", "find_missing"),
        "progress": ("open_progress",),
    },
)
