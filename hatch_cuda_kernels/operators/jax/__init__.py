"""Kernels inside ``jax.jit``: an XLA FFI handler made with ctypes. The first call that is declared imports JAX."""

from hatch_cuda_kernels.doors import lazy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hatch_cuda_kernels.operators.jax.call import *

__getattr__ = lazy(
    __name__,
    {
        "call": "declare JaxCall",
    },
)
