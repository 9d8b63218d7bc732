"""Readers of what compilers write: CUBINs, PTX, logs and mangled names."""

from hatch_cuda_kernels.doors import lazy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hatch_cuda_kernels.compiler.binary.cubin import *
    from hatch_cuda_kernels.compiler.binary.log import *
    from hatch_cuda_kernels.compiler.binary.mangling import *
    from hatch_cuda_kernels.compiler.binary.ptx import *

#: Who reads a log imports no reader of images.
__getattr__ = lazy(
    __name__,
    {
        "cubin": "Cubin Linkage linkage_of_object linkage_of_ptx read_cubin without_times",
        "log": "bad_names Diagnostic parse_log",
        "mangling": "argument_parameters BUILTIN demangled function_parameters",
        "ptx": "drop_unused Ptx read_ptx used_variables",
    },
)
