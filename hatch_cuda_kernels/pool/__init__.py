"""A plan's jobs, compiled: workers, executors, progress, and the disk cache."""

from hatch_cuda_kernels.doors import lazy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hatch_cuda_kernels.pool.compilation import *
    from hatch_cuda_kernels.pool.executors import *
    from hatch_cuda_kernels.pool.missing import *
    from hatch_cuda_kernels.pool.progress import *
    from hatch_cuda_kernels.pool.schedule import *

#: Who only asks for an executor's name imports nothing that compiles.
__getattr__ = lazy(
    __name__,
    {
        "compilation": "compile_missing",
        "executors": "choose_executor DASK_REQUIREMENT default_workers is_executor uses_dask",
        "missing": "Compilation FailedJob find_fresh find_missing",
        "progress": "open_progress Progress",
        "schedule": "compile_on one_worker OutOfTimeError run_isolated",
    },
)
