"""Kernels as operators of a framework, derived from signature and launch sizes: no code for each kernel."""

from hatch_cuda_kernels.doors import lazy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hatch_cuda_kernels.operators.kernel import Division as Division
    from hatch_cuda_kernels.operators.kernel import OperatorKernel as OperatorKernel
    from hatch_cuda_kernels.operators.kernel import RuledKernel as RuledKernel
    from hatch_cuda_kernels.operators.kernel import Sizes as Sizes
    from hatch_cuda_kernels.operators.kernel import divide as divide
    from hatch_cuda_kernels.operators.kernel import find_operator_kernel as find_operator_kernel
    from hatch_cuda_kernels.operators.kernel import ruled_kernels as ruled_kernels
    from hatch_cuda_kernels.operators.kernel import ruled_sizes as ruled_sizes

__getattr__ = lazy(
    __name__,
    {
        "kernel": (
            "Division",
            "OperatorKernel",
            "RuledKernel",
            "Sizes",
            "divide",
            "find_operator_kernel",
            "ruled_kernels",
            "ruled_sizes",
        ),
    },
)
