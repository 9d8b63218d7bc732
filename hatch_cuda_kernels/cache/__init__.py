"""The disk cache of compiled images: one format and one key for builds and for the run-time JIT."""

from __future__ import annotations

from hatch_cuda_kernels.cache.disk import CacheInfo, DiskCache
from hatch_cuda_kernels.cache.entry import Entry
from hatch_cuda_kernels.cache.location import open_cache

__all__ = ["CacheInfo", "DiskCache", "Entry", "open_cache"]
