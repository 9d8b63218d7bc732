"""Ship CUDA C++ kernels prebuilt in a pure-Python wheel, and load the right image at run time.

Names are loaded on first use: importing the package loads no CUDA library, no yaml, no hatchling and no numpy.
"""

from __future__ import annotations

#: Set here, because importing typing would take most of this import's time; type checkers know the name.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from hatch_cuda_kernels.arch import ComputeCapability, SmArch
    from hatch_cuda_kernels.build import BuildReport, build_kernels
    from hatch_cuda_kernels.errors import (
        ArgumentError,
        BuildError,
        CompileError,
        DriverError,
        HatchCudaKernelsError,
        ImageRefusedError,
        InputError,
        KernelNotFoundError,
        LaunchError,
        ManifestError,
        NoImageError,
        ReentryError,
        StaleKernelError,
        StoreError,
        ToolchainError,
    )
    from hatch_cuda_kernels.image import Candidate, Image
    from hatch_cuda_kernels.load import Store, open_store
    from hatch_cuda_kernels.options import CppStd, HostCode, NvrtcOptions
    from hatch_cuda_kernels.runtime import DriverCacheSettings, configure_driver_cache
    from hatch_cuda_kernels.runtime.ladder import Explanation
    from hatch_cuda_kernels.runtime.launch import GlobalVariable, Kernel, TensorMap, tensor_map
    from hatch_cuda_kernels.standalone import CompiledSource, compile_async, compile_to_cubin, compile_to_ptx

__version__: str

_HOMES = {
    "arch": ("ComputeCapability", "SmArch"),
    "errors": (
        "ArgumentError",
        "BuildError",
        "CompileError",
        "DriverError",
        "HatchCudaKernelsError",
        "ImageRefusedError",
        "InputError",
        "KernelNotFoundError",
        "LaunchError",
        "ManifestError",
        "NoImageError",
        "ReentryError",
        "StaleKernelError",
        "StoreError",
        "ToolchainError",
    ),
    "image": ("Candidate", "Image"),
    "options": ("CppStd", "HostCode", "NvrtcOptions"),
    "build": ("BuildReport", "build_kernels"),
    "load": ("Store", "open_store"),
    "runtime": ("DriverCacheSettings", "configure_driver_cache"),
    "runtime.ladder": ("Explanation",),
    "runtime.launch": ("GlobalVariable", "Kernel", "TensorMap", "tensor_map"),
    "standalone": ("CompiledSource", "compile_async", "compile_to_cubin", "compile_to_ptx"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "ArgumentError",
    "BuildError",
    "BuildReport",
    "Candidate",
    "CompileError",
    "CompiledSource",
    "ComputeCapability",
    "CppStd",
    "DriverCacheSettings",
    "DriverError",
    "Explanation",
    "GlobalVariable",
    "HatchCudaKernelsError",
    "HostCode",
    "Image",
    "ImageRefusedError",
    "InputError",
    "Kernel",
    "KernelNotFoundError",
    "LaunchError",
    "ManifestError",
    "NoImageError",
    "NvrtcOptions",
    "ReentryError",
    "SmArch",
    "StaleKernelError",
    "Store",
    "StoreError",
    "TensorMap",
    "ToolchainError",
    "build_kernels",
    "compile_async",
    "compile_to_cubin",
    "compile_to_ptx",
    "configure_driver_cache",
    "open_store",
    "tensor_map",
]


def __getattr__(name: str) -> object:
    if name == "__version__":
        value: object = _version()
    elif name in _HOME_OF:
        from importlib import import_module  # keeps the import of the package itself bare

        value = getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def _version() -> str:
    """Return the version of the installed distribution, which the tags of the repository state."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("hatch-cuda-kernels")
    except PackageNotFoundError:  # a source tree by itself
        return "0+unknown"


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
