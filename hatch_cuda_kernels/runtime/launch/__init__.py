"""From an image to launches: loading, arguments, streams."""

from hatch_cuda_kernels.doors import lazy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hatch_cuda_kernels.runtime.launch.accelerator import accelerator_state as accelerator_state
    from hatch_cuda_kernels.runtime.launch.accelerator import find_accelerator as find_accelerator
    from hatch_cuda_kernels.runtime.launch.arguments import Signature as Signature
    from hatch_cuda_kernels.runtime.launch.arrays import TensorMap as TensorMap
    from hatch_cuda_kernels.runtime.launch.elements import Element as Element
    from hatch_cuda_kernels.runtime.launch.elements import MismatchError as MismatchError
    from hatch_cuda_kernels.runtime.launch.elements import word_of_numpy as word_of_numpy
    from hatch_cuda_kernels.runtime.launch.kernel import Kernel as Kernel
    from hatch_cuda_kernels.runtime.launch.launch import Launch as Launch
    from hatch_cuda_kernels.runtime.launch.launch_rule import RULE_NAMES as RULE_NAMES
    from hatch_cuda_kernels.runtime.launch.launch_rule import rule_refusal as rule_refusal
    from hatch_cuda_kernels.runtime.launch.launch_rule import rule_texts as rule_texts
    from hatch_cuda_kernels.runtime.launch.libraries import LIBRARIES as LIBRARIES
    from hatch_cuda_kernels.runtime.launch.libraries import Loaded as Loaded
    from hatch_cuda_kernels.runtime.launch.libraries import load_image as load_image
    from hatch_cuda_kernels.runtime.launch.shapes import Configs as Configs
    from hatch_cuda_kernels.runtime.launch.shapes import Dim as Dim
    from hatch_cuda_kernels.runtime.launch.shapes import LaunchAttributes as LaunchAttributes
    from hatch_cuda_kernels.runtime.launch.shapes import LaunchOptions as LaunchOptions
    from hatch_cuda_kernels.runtime.launch.shapes import Shape as Shape
    from hatch_cuda_kernels.runtime.launch.tensor_maps import tensor_map as tensor_map
    from hatch_cuda_kernels.runtime.launch.variables import GlobalVariable as GlobalVariable

__getattr__ = lazy(
    __name__,
    {
        "accelerator": ("accelerator_state", "find_accelerator"),
        "arguments": ("Signature",),
        "arrays": ("TensorMap",),
        "elements": ("Element", "MismatchError", "word_of_numpy"),
        "kernel": ("Kernel",),
        "launch": ("Launch",),
        "launch_rule": ("RULE_NAMES", "rule_refusal", "rule_texts"),
        "libraries": ("LIBRARIES", "Loaded", "load_image"),
        "shapes": ("Configs", "Dim", "Shape"),
        "tensor_maps": ("tensor_map",),
        "variables": ("GlobalVariable",),
    },
)
