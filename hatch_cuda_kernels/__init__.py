"""Ship CUDA C++ kernels prebuilt in a pure-Python wheel, and load the right image at run time.

Names are loaded on first use: importing the package loads no CUDA library, no yaml, no hatchling and no numpy.
"""

from __future__ import annotations

from hatch_cuda_kernels.doors import lazy

#: Set here, because importing typing would take most of this import's time; type checkers know the name.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from hatch_cuda_kernels.arch import *
    from hatch_cuda_kernels.build import *
    from hatch_cuda_kernels.errors import *
    from hatch_cuda_kernels.image import *
    from hatch_cuda_kernels.load import *
    from hatch_cuda_kernels.operators.cupy import *
    from hatch_cuda_kernels.options import *
    from hatch_cuda_kernels.runtime import *
    from hatch_cuda_kernels.runtime.ladder import *
    from hatch_cuda_kernels.runtime.launch import *
    from hatch_cuda_kernels.standalone import *

__version__: str

_HOMES = {
    "arch": "ComputeCapability SmArch",
    "errors": (
        "ArgumentError BuildError CompileError DriverError HatchCudaKernelsError ImageRefusedError InputError "
        "KernelNotFoundError LaunchError ManifestError NoImageError ReentryError StaleKernelError StoreError "
        "ToolchainError"
    ),
    "image": "Candidate Image",
    "options": "CppStd HostCode NvrtcOptions",
    "build": "BuildReport build_kernels",
    "load": "Store StoreModule open_store",
    "operators.cupy": "CupyKernel CupyModule",
    "runtime": "DriverCacheSettings InstanceInfo KernelStats WarmUp configure_driver_cache",
    "runtime.ladder": "Explanation",
    "runtime.launch": "GlobalVariable Kernel KernelAttributes Occupancy TensorMap tensor_map",
    "standalone": "CompiledSource compile_async compile_to_cubin compile_to_ptx",
}
_find = lazy(__name__, _HOMES)
__all__ = [name for names in _HOMES.values() for name in names.split()]


def __getattr__(name: str) -> object:
    value = globals()[name] = _version() if name == "__version__" else _find(name)
    return value


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("hatch-cuda-kernels")
    except PackageNotFoundError:  # a source tree by itself
        return "0+unknown"


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
