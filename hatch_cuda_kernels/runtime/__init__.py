"""From a request to a kernel: a store's kernels, loaded where they are used."""

from hatch_cuda_kernels.doors import lazy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hatch_cuda_kernels.runtime.background import WarmUp as WarmUp
    from hatch_cuda_kernels.runtime.background import background_threads as background_threads
    from hatch_cuda_kernels.runtime.background import in_context as in_context
    from hatch_cuda_kernels.runtime.background import warm_up as warm_up
    from hatch_cuda_kernels.runtime.driver_cache import DriverCacheSettings as DriverCacheSettings
    from hatch_cuda_kernels.runtime.driver_cache import configure_driver_cache as configure_driver_cache
    from hatch_cuda_kernels.runtime.loading import InstanceCache as InstanceCache
    from hatch_cuda_kernels.runtime.loading import InstanceInfo as InstanceInfo
    from hatch_cuda_kernels.runtime.loading import KernelStats as KernelStats
    from hatch_cuda_kernels.runtime.loading import LoadedKernels as LoadedKernels
    from hatch_cuda_kernels.runtime.loading import find_global as find_global
    from hatch_cuda_kernels.runtime.loading import load as load
    from hatch_cuda_kernels.runtime.loading import load_from as load_from

__getattr__ = lazy(
    __name__,
    {
        "background": ("WarmUp", "background_threads", "in_context", "warm_up"),
        "driver_cache": ("DriverCacheSettings", "configure_driver_cache"),
        "loading": (
            "InstanceCache",
            "InstanceInfo",
            "KernelStats",
            "LoadedKernels",
            "find_global",
            "load",
            "load_from",
        ),
    },
)
