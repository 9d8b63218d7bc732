"""From a kernel's name to an image: request, rungs, climb, explanation."""

from hatch_cuda_kernels.doors import lazy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hatch_cuda_kernels.runtime.ladder.climb import *
    from hatch_cuda_kernels.runtime.ladder.compile_rungs import *
    from hatch_cuda_kernels.runtime.ladder.explanation import *
    from hatch_cuda_kernels.runtime.ladder.request import *
    from hatch_cuda_kernels.runtime.ladder.trace import *

__getattr__ = lazy(
    __name__,
    {
        "climb": "before_compiling cached obtain prebuilt_cubins prebuilt_ptx trials work_ahead",
        "compile_rungs": "jit_candidates log",
        "explanation": "explain Explanation",
        "request": "find_kernel find_variable make_request Request",
        "trace": (
            "import_name lost_lines read_lines read_trace record_answer record_compile record_source TracedRequest"
        ),
    },
)
