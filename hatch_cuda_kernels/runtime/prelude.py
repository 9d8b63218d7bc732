"""Work done while the driver starts: importing what a load needs or may need, reading the store, checking headers."""

from __future__ import annotations

from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.early import is_starting
from hatch_cuda_kernels.errors import StoreError
from hatch_cuda_kernels.names import normalize_name
from hatch_cuda_kernels.store.source import ModuleSource

if TYPE_CHECKING:
    from hatch_cuda_kernels.store.reader import StoreReader

__all__ = ["prepare"]

#: Modules that every load needs.
_NEEDED: Final = (
    "cuda.bindings.driver",
    "hatch_cuda_kernels.runtime.loading",
    "hatch_cuda_kernels.runtime.launch.launch",
)
#: Modules of the disk cache's rungs, which most processes do not need; here their import takes no extra time.
_POSSIBLE: Final = (
    "hatch_cuda_kernels.runtime.ladder.recorded",
    "hatch_cuda_kernels.compiler.source.closure",
    "hatch_cuda_kernels.compiler.job",
    "platformdirs",
)
#: Modules of a compile, which fewer processes need.
_RARE: Final = (
    "hatch_cuda_kernels.runtime.ladder.jit",
    "hatch_cuda_kernels.runtime.ladder.finished",
    "hatch_cuda_kernels.compiler.toolchain.remembered",
    "hatch_cuda_kernels.compiler.nvrtc",
    "hatch_cuda_kernels.compiler.record",
    "hatch_cuda_kernels.cache.once",
    "cuda.bindings.nvrtc",
)


def prepare(reader: StoreReader, kernel: str) -> None:
    """Import modules and read the store until the driver has started. What fails here fails again later."""
    if not is_starting():
        return
    for name in _NEEDED:
        import_module(name)
    with suppress(StoreError, OSError, ValueError):
        reader.look_ahead(normalize_name(kernel))
    for name in _POSSIBLE:
        if is_starting():
            import_module(name)
    with suppress(StoreError, OSError, ValueError):
        for line in reader.find(normalize_name(kernel))[:1]:
            ModuleSource(reader, line.module).look_ahead(is_starting)
    with suppress(ImportError):
        for name in _RARE:
            if is_starting():
                import_module(name)
