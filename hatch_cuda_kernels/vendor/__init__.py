"""The loaders that a library ships itself: one file of this package's own text, and a header of C++ with its stores."""

from hatch_cuda_kernels.doors import lazy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hatch_cuda_kernels.vendor.assemble import *
    from hatch_cuda_kernels.vendor.embed import *

__getattr__ = lazy(
    __name__,
    {
        "assemble": "HEADER_FILE header_text language_of loader_text why_old",
        "embed": "check_symbol cpp_text CPP_BEGIN embedded_files MACHINES object_file table_of",
    },
)
