"""The disk cache of compiled images: one format and one key for builds and for the run-time JIT."""

from hatch_cuda_kernels.doors import lazy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hatch_cuda_kernels.cache.bundle import *
    from hatch_cuda_kernels.cache.disk import *
    from hatch_cuda_kernels.cache.entry import *
    from hatch_cuda_kernels.cache.files import *
    from hatch_cuda_kernels.cache.publishing import *

#: A hit imports nothing that writes, locks or removes.
__getattr__ = lazy(
    __name__,
    {
        "bundle": "export_bundle import_bundle",
        "disk": "CacheInfo default_cache_path DiskCache file_state is_older last_change Notes open_cache site_paths "
        "unchanged",
        "entry": "Entry",
        "files": "distrust open_unchecked remove",
        "publishing": "Failure held",
    },
)
