"""What compilers and libraries outside a project are to its sources: data, and the look-ups of it."""

from hatch_cuda_kernels.doors import lazy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hatch_cuda_kernels.libraries.compilers import macros_of_cccl as macros_of_cccl
    from hatch_cuda_kernels.libraries.compilers import macros_of_nvrtc as macros_of_nvrtc
    from hatch_cuda_kernels.libraries.compilers import may_be_defined as may_be_defined
    from hatch_cuda_kernels.libraries.compilers import nvcc_macros as nvcc_macros
    from hatch_cuda_kernels.libraries.compilers import shared_macros as shared_macros
    from hatch_cuda_kernels.libraries.dispatch import as_declared as as_declared
    from hatch_cuda_kernels.libraries.dispatch import dispatched as dispatched
    from hatch_cuda_kernels.libraries.dispatch import returns_data as returns_data
    from hatch_cuda_kernels.libraries.table import boost_header as boost_header
    from hatch_cuda_kernels.libraries.table import brought_headers as brought_headers
    from hatch_cuda_kernels.libraries.table import defines_constants as defines_constants
    from hatch_cuda_kernels.libraries.table import guessed_values as guessed_values
    from hatch_cuda_kernels.libraries.table import has_toolkit_prefix as has_toolkit_prefix
    from hatch_cuda_kernels.libraries.table import header_of as header_of
    from hatch_cuda_kernels.libraries.table import header_of_use as header_of_use
    from hatch_cuda_kernels.libraries.table import headers_in as headers_in
    from hatch_cuda_kernels.libraries.table import hides_mark as hides_mark
    from hatch_cuda_kernels.libraries.table import is_heavy_header as is_heavy_header
    from hatch_cuda_kernels.libraries.table import is_host_call as is_host_call
    from hatch_cuda_kernels.libraries.table import is_host_header as is_host_header
    from hatch_cuda_kernels.libraries.table import is_library_header as is_library_header
    from hatch_cuda_kernels.libraries.table import is_toolkit_macro as is_toolkit_macro
    from hatch_cuda_kernels.libraries.table import is_torch_header as is_torch_header
    from hatch_cuda_kernels.libraries.table import is_torch_name as is_torch_name
    from hatch_cuda_kernels.libraries.table import namespaces as namespaces
    from hatch_cuda_kernels.libraries.table import own_functions as own_functions
    from hatch_cuda_kernels.libraries.table import renamed_functions as renamed_functions
    from hatch_cuda_kernels.libraries.table import stand_in_headers as stand_in_headers
    from hatch_cuda_kernels.libraries.table import standard_headers as standard_headers
    from hatch_cuda_kernels.libraries.table import std_templates as std_templates
    from hatch_cuda_kernels.libraries.table import telling_words as telling_words
    from hatch_cuda_kernels.libraries.table import torch as torch
    from hatch_cuda_kernels.libraries.table import torch_headers as torch_headers
    from hatch_cuda_kernels.libraries.table import torch_names as torch_names
    from hatch_cuda_kernels.libraries.table import words_in as words_in

#: The tables are asked where no C++ is read.
__getattr__ = lazy(
    __name__,
    {
        "compilers": ("macros_of_cccl", "macros_of_nvrtc", "may_be_defined", "nvcc_macros", "shared_macros"),
        "dispatch": ("as_declared", "dispatched", "returns_data"),
        "table": (
            "boost_header",
            "brought_headers",
            "defines_constants",
            "guessed_values",
            "has_toolkit_prefix",
            "header_of",
            "header_of_use",
            "headers_in",
            "hides_mark",
            "is_heavy_header",
            "is_host_call",
            "is_host_header",
            "is_library_header",
            "is_toolkit_macro",
            "is_torch_header",
            "is_torch_name",
            "stand_in_headers",
            "namespaces",
            "own_functions",
            "renamed_functions",
            "standard_headers",
            "std_templates",
            "telling_words",
            "torch",
            "torch_headers",
            "torch_names",
            "words_in",
        ),
    },
)
