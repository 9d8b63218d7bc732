"""What compilers and libraries outside a project are to its sources: data, and the look-ups of it."""

from hatch_cuda_kernels.doors import lazy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hatch_cuda_kernels.libraries.compilers import *
    from hatch_cuda_kernels.libraries.table import *

#: The tables are asked where no C++ is read.
__getattr__ = lazy(
    __name__,
    {
        "compilers": "answers_probe macros_behind_headers macros_of_cccl macros_of_nvcc macros_of_nvrtc nvcc_macros",
        "table": (
            "as_declared begins_as boost_header defines_constants dispatched entry has_toolkit_prefix header_of "
            "header_of_use headers_in headers_of_others hides_mark is_cccl_header is_host_call is_host_header "
            "is_library_header is_toolkit_macro namespaces opened_namespaces own_functions package_distribution "
            "package_with renamed_functions stand_in_headers standard_headers std_templates telling_words "
            "torch_headers torch_names torch_paths words_in"
        ),
    },
)
