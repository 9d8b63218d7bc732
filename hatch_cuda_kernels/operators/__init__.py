"""Kernels as operators of a framework, derived from signature and launch sizes: no code for each kernel."""

from hatch_cuda_kernels.doors import lazy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hatch_cuda_kernels.operators.kernel import *

__getattr__ = lazy(
    __name__,
    {
        "kernel": (
            "divide Division find_operator_kernel kernels_with_rules KernelWithRule OperatorKernel Sizes sizes_by_rule"
        ),
    },
)
