"""Kernels as operators of torch, which is imported when ``Store.torch_ops`` is called, and not before."""

from hatch_cuda_kernels.doors import lazy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hatch_cuda_kernels.operators.torch.operators import *

__getattr__ = lazy(
    __name__,
    {
        "operators": "operators_of_store TorchOperators TorchOptions",
    },
)
