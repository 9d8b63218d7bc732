"""The disk cache of compiled images: one format and one key for builds and for the run-time JIT."""

from hatch_cuda_kernels.doors import lazy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hatch_cuda_kernels.cache.bundle import export_bundle as export_bundle
    from hatch_cuda_kernels.cache.bundle import import_bundle as import_bundle
    from hatch_cuda_kernels.cache.disk import CacheInfo as CacheInfo
    from hatch_cuda_kernels.cache.disk import DiskCache as DiskCache
    from hatch_cuda_kernels.cache.disk import default_cache_path as default_cache_path
    from hatch_cuda_kernels.cache.disk import open_cache as open_cache
    from hatch_cuda_kernels.cache.disk import site_paths as site_paths
    from hatch_cuda_kernels.cache.entry import Entry as Entry
    from hatch_cuda_kernels.cache.files import distrust as distrust
    from hatch_cuda_kernels.cache.files import open_unchecked as open_unchecked
    from hatch_cuda_kernels.cache.files import remove as remove
    from hatch_cuda_kernels.cache.locks import Failure as Failure
    from hatch_cuda_kernels.cache.locks import held as held
    from hatch_cuda_kernels.cache.notes import Notes as Notes
    from hatch_cuda_kernels.cache.notes import file_state as file_state
    from hatch_cuda_kernels.cache.notes import is_older as is_older
    from hatch_cuda_kernels.cache.notes import unchanged as unchanged

#: A hit imports nothing that writes, locks or removes.
__getattr__ = lazy(
    __name__,
    {
        "bundle": ("export_bundle", "import_bundle"),
        "disk": ("CacheInfo", "DiskCache", "default_cache_path", "open_cache", "site_paths"),
        "entry": ("Entry",),
        "files": ("distrust", "open_unchecked", "remove"),
        "locks": ("Failure", "held"),
        "notes": ("Notes", "file_state", "is_older", "unchanged"),
    },
)
