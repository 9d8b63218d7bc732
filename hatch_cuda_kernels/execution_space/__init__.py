"""A source as nvcc's device pass sees it: of what has no device mark, bodies and values are cut."""

from hatch_cuda_kernels.doors import lazy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hatch_cuda_kernels.execution_space.cut import Level as Level
    from hatch_cuda_kernels.execution_space.cut import Place as Place
    from hatch_cuda_kernels.execution_space.device_pass import DevicePass as DevicePass
    from hatch_cuda_kernels.execution_space.device_pass import as_device_pass as as_device_pass
    from hatch_cuda_kernels.execution_space.device_pass import cut_closure as cut_closure
    from hatch_cuda_kernels.execution_space.device_source import NOT_CUT as NOT_CUT
    from hatch_cuda_kernels.execution_space.device_source import ClosureCut as ClosureCut
    from hatch_cuda_kernels.execution_space.device_source import DeviceSource as DeviceSource
    from hatch_cuda_kernels.execution_space.device_source import SourceChange as SourceChange
    from hatch_cuda_kernels.execution_space.device_source import SourceSet as SourceSet
    from hatch_cuda_kernels.execution_space.device_source import cut_sentence as cut_sentence
    from hatch_cuda_kernels.execution_space.device_source import owner_of as owner_of
    from hatch_cuda_kernels.execution_space.kernels import NOTHING_DECLARED as NOTHING_DECLARED
    from hatch_cuda_kernels.execution_space.kernels import Declared as Declared
    from hatch_cuda_kernels.execution_space.kernels import DeclaredParameter as DeclaredParameter
    from hatch_cuda_kernels.execution_space.kernels import is_kernel as is_kernel
    from hatch_cuda_kernels.execution_space.kernels import parameters_of as parameters_of
    from hatch_cuda_kernels.execution_space.marks import MARKS as MARKS
    from hatch_cuda_kernels.execution_space.oracle import blame as blame
    from hatch_cuda_kernels.execution_space.use import UNMARKED as UNMARKED
    from hatch_cuda_kernels.execution_space.use import undefined_variables as undefined_variables
    from hatch_cuda_kernels.execution_space.use import use_faults as use_faults
    from hatch_cuda_kernels.execution_space.use import used_variables as used_variables

#: A store and a rebuild need what was cut, and none of what cuts.
__getattr__ = lazy(
    __name__,
    {
        "cut": ("Level", "Place"),
        "device_pass": ("DevicePass", "as_device_pass", "cut_closure"),
        "device_source": (
            "NOT_CUT",
            "ClosureCut",
            "DeviceSource",
            "SourceChange",
            "SourceSet",
            "cut_sentence",
            "owner_of",
        ),
        "kernels": ("NOTHING_DECLARED", "Declared", "DeclaredParameter", "is_kernel", "parameters_of"),
        "marks": ("MARKS",),
        "oracle": ("blame",),
        "use": ("UNMARKED", "undefined_variables", "use_faults", "used_variables"),
    },
)
