"""Readers of what compilers write: CUBINs, PTX, logs and mangled names."""

from hatch_cuda_kernels.doors import lazy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hatch_cuda_kernels.compiler.binary.cubin import Cubin as Cubin
    from hatch_cuda_kernels.compiler.binary.cubin import read_cubin as read_cubin
    from hatch_cuda_kernels.compiler.binary.elf import Linkage as Linkage
    from hatch_cuda_kernels.compiler.binary.elf import linkage_of_object as linkage_of_object
    from hatch_cuda_kernels.compiler.binary.elf import linkage_of_ptx as linkage_of_ptx
    from hatch_cuda_kernels.compiler.binary.elf import without_times as without_times
    from hatch_cuda_kernels.compiler.binary.log import Diagnostic as Diagnostic
    from hatch_cuda_kernels.compiler.binary.log import bad_names as bad_names
    from hatch_cuda_kernels.compiler.binary.log import parse_log as parse_log
    from hatch_cuda_kernels.compiler.binary.mangling import argument_parameters as argument_parameters
    from hatch_cuda_kernels.compiler.binary.mangling import demangled as demangled
    from hatch_cuda_kernels.compiler.binary.mangling import function_parameters as function_parameters
    from hatch_cuda_kernels.compiler.binary.ptx import Ptx as Ptx
    from hatch_cuda_kernels.compiler.binary.ptx import drop_unused as drop_unused
    from hatch_cuda_kernels.compiler.binary.ptx import read_ptx as read_ptx

#: Who reads a log imports no reader of images.
__getattr__ = lazy(
    __name__,
    {
        "cubin": ("Cubin", "read_cubin"),
        "elf": ("Linkage", "linkage_of_object", "linkage_of_ptx", "without_times"),
        "log": ("Diagnostic", "bad_names", "parse_log"),
        "mangling": ("argument_parameters", "demangled", "function_parameters"),
        "ptx": ("Ptx", "drop_unused", "read_ptx"),
    },
)
