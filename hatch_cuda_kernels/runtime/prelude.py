"""What can be done while the driver starts: import what a load needs, and what a miss in the store would need."""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.early import is_starting
from hatch_cuda_kernels.errors import StoreError
from hatch_cuda_kernels.names import normalize_name

if TYPE_CHECKING:
    from hatch_cuda_kernels.store.reader import StoreReader

__all__ = ["prepare"]

_ALWAYS: Final = (
    "cuda.bindings.driver",
    "hatch_cuda_kernels.runtime.loading",
    "hatch_cuda_kernels.runtime.launch.launch",
)
#: The rungs of the disk cache, which most processes do not reach; here their import costs no time.
_WHILE_WAITING: Final = (
    "hatch_cuda_kernels.runtime.ladder.jit",
    "hatch_cuda_kernels.runtime.ladder.linked",
    "hatch_cuda_kernels.compiler.source.closure",
    "hatch_cuda_kernels.compiler.job",
    "platformdirs",
)


@cache
def prepare(reader: StoreReader, kernel: str) -> None:
    """Use the time until the driver is there: imports, and reading the store. What fails here fails again later."""
    for name in _ALWAYS:
        import_module(name)
    reader.find("")
    if is_starting():
        with suppress(StoreError, OSError, ValueError):
            reader.look_ahead(normalize_name(kernel))
    for name in _WHILE_WAITING:
        if is_starting():
            import_module(name)
