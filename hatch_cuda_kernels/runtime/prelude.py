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
    "hatch_cuda_kernels.runtime.launch.generated",
)
#: Modules of the disk cache's rungs, which most processes do not need; here their import takes no extra time.
_POSSIBLE: Final = (
    "hatch_cuda_kernels.runtime.ladder.recorded",
    "hatch_cuda_kernels.compiler.toolchain.remembered",
    "platformdirs",
)
#: Modules of a compile. They take much longer, so they wait unless the kernel is in no image.
_OF_COMPILES: Final = (
    "hatch_cuda_kernels.includes.reader",
    "hatch_cuda_kernels.runtime.ladder.jit",
    "hatch_cuda_kernels.runtime.ladder.finished",
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
    with suppress(StoreError, OSError, ValueError, ImportError):
        listed = reader.find(normalize_name(kernel))
        for line in listed[:1]:
            ModuleSource(reader, line.module).look_ahead(is_starting)
        for name in () if listed else _OF_COMPILES:
            if is_starting():
                import_module(name)
