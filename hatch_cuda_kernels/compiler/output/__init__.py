"""Readers of what compilers write: CUBINs, PTX, logs and mangled names."""

from hatch_cuda_kernels.doors import lazy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hatch_cuda_kernels.compiler.output.cubin import Cubin as Cubin
    from hatch_cuda_kernels.compiler.output.cubin import read_cubin as read_cubin
    from hatch_cuda_kernels.compiler.output.demangle import argument_parameters as argument_parameters
    from hatch_cuda_kernels.compiler.output.demangle import demangled as demangled
    from hatch_cuda_kernels.compiler.output.demangle import function_parameters as function_parameters
    from hatch_cuda_kernels.compiler.output.line_tables import without_times as without_times
    from hatch_cuda_kernels.compiler.output.linkage import Linkage as Linkage
    from hatch_cuda_kernels.compiler.output.linkage import linkage_of_object as linkage_of_object
    from hatch_cuda_kernels.compiler.output.linkage import linkage_of_ptx as linkage_of_ptx
    from hatch_cuda_kernels.compiler.output.log import Diagnostic as Diagnostic
    from hatch_cuda_kernels.compiler.output.log import bad_names as bad_names
    from hatch_cuda_kernels.compiler.output.log import parse_log as parse_log
    from hatch_cuda_kernels.compiler.output.ptx import Ptx as Ptx
    from hatch_cuda_kernels.compiler.output.ptx import drop_unused as drop_unused
    from hatch_cuda_kernels.compiler.output.ptx import read_ptx as read_ptx

#: Who reads a log imports no reader of images.
__getattr__ = lazy(
    __name__,
    {
        "cubin": ("Cubin", "read_cubin"),
        "demangle": ("argument_parameters", "demangled", "function_parameters"),
        "line_tables": ("without_times",),
        "linkage": ("Linkage", "linkage_of_object", "linkage_of_ptx"),
        "log": ("Diagnostic", "bad_names", "parse_log"),
        "ptx": ("Ptx", "drop_unused", "read_ptx"),
    },
)
