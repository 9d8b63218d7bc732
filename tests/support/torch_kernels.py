"""Kernels in Python that run on tensors of the CPU, in the place of a store's kernels on a device."""

from __future__ import annotations

from hatch_cuda_kernels.names import python_names
from hatch_cuda_kernels.operators import KernelWithRule
from hatch_cuda_kernels.signature import Parameter

#: PTX's word by C++ type; every other one is a struct.
KINDS = {
    "float": "f32", "double": "f64", "int": "u32", "unsigned int": "u32", "long long": "u64", "bool": "u8",
    "__half": "b8[2]:2", "": "u64",
}  # fmt: skip


def ruled_kernel(name, declarations, module=None):
    """Return a kernel of such parameters: ``float* y, const float* x, long long n``."""
    found = [parameter(text) for text in declarations.split(", ") if text]
    names = python_names([told.name for told in found])
    return KernelWithRule(
        name, module, tuple(told._replace(name=name) for told, name in zip(found, names, strict=True))
    )


def parameter(declaration):
    """Return the parameter of ``const float* x``."""
    text, _, name = declaration.rpartition(" ")
    return Parameter("ptr" if text.endswith("*") else KINDS.get(text, "b8[16]:8"), text, name)


class Kernels:
    """What operators launch: functions of Python by name. ``launched`` has the names."""

    def __init__(self, **functions):
        self.functions = functions
        self.launched = []

    def __call__(self, kernel, device):
        """Give a kernel, as ``launcher_of`` does."""

        def launch(*args):
            self.launched.append(kernel.name)
            self.functions[kernel.name.partition("<")[0].rpartition("::")[2]](*args)

        return launch
