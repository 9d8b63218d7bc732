"""From a request to a kernel: a store's kernels, loaded where they are used."""

from hatch_cuda_kernels.doors import lazy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hatch_cuda_kernels.runtime.background import *
    from hatch_cuda_kernels.runtime.driver_cache import *
    from hatch_cuda_kernels.runtime.loading import *

__getattr__ = lazy(
    __name__,
    {
        "background": "background_threads in_context warm_up WarmUp",
        "driver_cache": "configure_driver_cache DriverCacheSettings",
        "loading": "find_global InstanceCache InstanceInfo KernelStats load load_from LoadedKernels",
    },
)
