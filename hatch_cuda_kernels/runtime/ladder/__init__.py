"""From a kernel's name to an image: request, rungs, climb, explanation."""

from hatch_cuda_kernels.doors import lazy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hatch_cuda_kernels.runtime.ladder.cache_rung import cached_candidates as cached_candidates
    from hatch_cuda_kernels.runtime.ladder.climb import obtain as obtain
    from hatch_cuda_kernels.runtime.ladder.compile_rungs import LOGGER as LOGGER
    from hatch_cuda_kernels.runtime.ladder.compile_rungs import jit_candidates as jit_candidates
    from hatch_cuda_kernels.runtime.ladder.explanation import Explanation as Explanation
    from hatch_cuda_kernels.runtime.ladder.explanation import explain as explain
    from hatch_cuda_kernels.runtime.ladder.policy import JIT_FORBIDDEN as JIT_FORBIDDEN
    from hatch_cuda_kernels.runtime.ladder.policy import Policy as Policy
    from hatch_cuda_kernels.runtime.ladder.policy import check_policy as check_policy
    from hatch_cuda_kernels.runtime.ladder.request import Request as Request
    from hatch_cuda_kernels.runtime.ladder.request import find_kernel as find_kernel
    from hatch_cuda_kernels.runtime.ladder.request import find_variable as find_variable
    from hatch_cuda_kernels.runtime.ladder.request import make_request as make_request

__getattr__ = lazy(
    __name__,
    {
        "cache_rung": ("cached_candidates",),
        "climb": ("obtain",),
        "compile_rungs": ("LOGGER", "jit_candidates"),
        "explanation": ("Explanation", "explain"),
        "policy": ("JIT_FORBIDDEN", "check_policy"),
        "request": ("Request", "find_kernel", "find_variable", "make_request"),
    },
)
