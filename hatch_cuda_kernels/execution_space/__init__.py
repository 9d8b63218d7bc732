"""A source as nvcc's device pass sees it: of what has no device mark, bodies and values are cut."""

from hatch_cuda_kernels.doors import lazy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hatch_cuda_kernels.execution_space.cut import *
    from hatch_cuda_kernels.execution_space.device_pass import *
    from hatch_cuda_kernels.execution_space.device_source import *
    from hatch_cuda_kernels.execution_space.kernels import *
    from hatch_cuda_kernels.execution_space.marks import *
    from hatch_cuda_kernels.execution_space.oracle import *

#: A store and a rebuild need what was cut, and none of what cuts.
__getattr__ = lazy(
    __name__,
    {
        "cut": "Level Place",
        "device_pass": "as_device_pass DevicePass",
        "device_source": "CHANGES ClosureCut cut_closure DeviceSource NOT_CUT SourceChange SourceSet UNMARKED",
        "kernels": "Declared DeclaredParameter is_kernel NOTHING_DECLARED type_and_name",
        "marks": "MARKS",
        "oracle": "blame",
    },
)
