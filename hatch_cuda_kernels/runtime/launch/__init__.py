"""From an image to launches: loading, arguments, streams."""

from hatch_cuda_kernels.doors import lazy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hatch_cuda_kernels.runtime.launch.accelerator import *
    from hatch_cuda_kernels.runtime.launch.arguments import *
    from hatch_cuda_kernels.runtime.launch.arrays import *
    from hatch_cuda_kernels.runtime.launch.codegen import *
    from hatch_cuda_kernels.runtime.launch.elements import *
    from hatch_cuda_kernels.runtime.launch.kernel import *
    from hatch_cuda_kernels.runtime.launch.launch_rule import *
    from hatch_cuda_kernels.runtime.launch.libraries import *
    from hatch_cuda_kernels.runtime.launch.resources import *
    from hatch_cuda_kernels.runtime.launch.shapes import *
    from hatch_cuda_kernels.runtime.launch.tensor_maps import *
    from hatch_cuda_kernels.runtime.launch.variables import *

__getattr__ = lazy(
    __name__,
    {
        "accelerator": "accelerator_state find_accelerator",
        "arguments": "Packing Signature",
        "arrays": "TensorMap",
        "codegen": "prepare_launches",
        "elements": "Element MismatchError word_of_numpy",
        "kernel": "Kernel Launch launches_of",
        "launch_rule": "RULE_NAMES rule_refusal rule_texts",
        "libraries": "load_image Loaded",
        "resources": "KernelAttributes Occupancy",
        "shapes": "Configs Dim Shape",
        "tensor_maps": "tensor_map",
        "variables": "GlobalVariable",
    },
)
