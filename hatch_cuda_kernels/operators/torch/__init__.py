"""Kernels as operators of torch, which is imported when ``Store.torch_ops`` is called, and not before."""

from hatch_cuda_kernels.doors import lazy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hatch_cuda_kernels.operators.torch.operators import TorchOperators as TorchOperators
    from hatch_cuda_kernels.operators.torch.operators import TorchOptions as TorchOptions
    from hatch_cuda_kernels.operators.torch.operators import operators_of_store as operators_of_store

__getattr__ = lazy(
    __name__,
    {
        "operators": ("TorchOperators", "TorchOptions", "operators_of_store"),
    },
)
