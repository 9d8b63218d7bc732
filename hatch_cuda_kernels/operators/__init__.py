"""Kernels as operators of a framework, derived from signature and launch sizes: no code for each kernel."""

from hatch_cuda_kernels.doors import lazy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hatch_cuda_kernels.operators.kernel import Division as Division
    from hatch_cuda_kernels.operators.kernel import KernelWithRule as KernelWithRule
    from hatch_cuda_kernels.operators.kernel import OperatorKernel as OperatorKernel
    from hatch_cuda_kernels.operators.kernel import Sizes as Sizes
    from hatch_cuda_kernels.operators.kernel import divide as divide
    from hatch_cuda_kernels.operators.kernel import find_operator_kernel as find_operator_kernel
    from hatch_cuda_kernels.operators.kernel import kernels_with_rules as kernels_with_rules
    from hatch_cuda_kernels.operators.kernel import sizes_by_rule as sizes_by_rule

__getattr__ = lazy(
    __name__,
    {
        "kernel": (
            "Division",
            "OperatorKernel",
            "KernelWithRule",
            "Sizes",
            "divide",
            "find_operator_kernel",
            "kernels_with_rules",
            "sizes_by_rule",
        ),
    },
)
