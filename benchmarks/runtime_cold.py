"""One cold process, ``runtime_cold.py VARIANT trivial|heavy WORK``: load one kernel, launch it, synchronise.

The kernels: trivial writes one float; heavy is the example's CUB block sort of 2048 keys. Peers are in their best
documented configuration: cuda.core from a CUBIN file, by JIT, and with its file cache; CuPy RawModule with a warm
cache; torch._compile_kernel; Triton and numba-cuda with warm caches (in their own language, so for trivial only).
"""

from __future__ import annotations

import sys
from pathlib import Path

TRIVIAL = 'extern "C" __global__ void trivial(float* y) { if (threadIdx.x == 0) y[0] = 42.0f; }\n'
HEAVY = """
#include <cub/block/block_load.cuh>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_store.cuh>
extern "C" __global__ void heavy(float* y) {
    using Sort = cub::BlockRadixSort<float, 128, 16>;
    __shared__ typename Sort::TempStorage storage;
    float keys[16];
    for (int i = 0; i < 16; ++i) keys[i] = y[threadIdx.x * 16 + i];
    Sort(storage).Sort(keys);
    for (int i = 0; i < 16; ++i) y[threadIdx.x * 16 + i] = keys[i];
}
"""
SOURCES = {"trivial": TRIVIAL, "heavy": HEAVY}
SIZE = 2048 * 4


def prepare(work: Path) -> None:
    """Build the stores and files every variant starts from."""
    from hatch_cuda_kernels import open_store
    from hatch_cuda_kernels.build import build_store
    from hatch_cuda_kernels.driver import compute_capability
    from hatch_cuda_kernels.manifest import load_manifest
    from hatch_cuda_kernels.vendor import loader_text

    major, minor = compute_capability(0)
    arch = f"sm_{major}{minor}"
    other = "sm_80" if major != 8 else "sm_90"
    many = ", ".join(dict.fromkeys(["sm_80", "sm_86", "sm_90", "sm_100", "sm_120", arch, "compute_80"]))
    stores = ("native", arch), ("ptx", f"compute_{major}{minor}"), ("unlisted", other), ("packed", many)
    for name, arches in stores:
        root = work / name
        root.mkdir(exist_ok=True)
        for kernel, source in SOURCES.items():
            (root / f"{kernel}.cu").write_text(source)
        modules = ", ".join(f"{kernel}: {{source: {kernel}.cu}}" for kernel in SOURCES)
        (root / "kernels.yaml").write_text(
            f"{{schema: 1, packing: {'solid' if name == 'packed' else 'none'}, arches: [{arches}],"
            f" modules: {{{modules}}}}}"
        )
        build_store(load_manifest(root / "kernels.yaml"), root / "_kernels")
    for kernel in SOURCES:
        image = open_store(work / "native" / "_kernels").find_image(kernel, arch=arch)
        (work / f"{kernel}.cubin").write_bytes(image.data)
    (work / "_kernels_loader.py").write_text(loader_text())
    (work / "arch").write_text(arch)
    (work / "include").write_text("\n".join(toolkit_include()))


def bare_context(work: Path, kernel: str) -> None:
    import ctypes

    cuda = ctypes.CDLL("libcuda.so.1")
    context = ctypes.c_void_p()
    check(cuda.cuInit(0))
    check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
    check(cuda.cuCtxSetCurrent(context))
    check(cuda.cuCtxSynchronize())


def bare_ctypes(work: Path, kernel: str) -> None:
    import ctypes

    cuda = ctypes.CDLL("libcuda.so.1")
    context, library, function, memory = (ctypes.c_void_p() for _ in range(4))
    check(cuda.cuInit(0))
    check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
    check(cuda.cuCtxSetCurrent(context))
    with open(work / f"{kernel}.cubin", "rb") as file:
        data = file.read()
    check(cuda.cuLibraryLoadData(ctypes.byref(library), data, None, None, 0, None, None, 0))
    check(cuda.cuLibraryGetKernel(ctypes.byref(function), library, kernel.encode()))
    check(cuda.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(SIZE)))
    params = (ctypes.c_void_p * 1)(ctypes.addressof(memory))
    check(cuda.cuLaunchKernel(function, 1, 1, 1, 128, 1, 1, 0, None, params, None))
    check(cuda.cuCtxSynchronize())


def check(status: int) -> None:
    if status != 0:
        raise SystemExit(f"driver error {status}")


def bindings_context():
    from cuda.bindings import driver

    check(int(driver.cuInit(0)[0]))
    check(int(driver.cuCtxSetCurrent(driver.cuDevicePrimaryCtxRetain(driver.cuDeviceGet(0)[1])[1])[0]))
    return driver


def bindings(work: Path, kernel: str) -> None:
    driver = bindings_context()
    with open(work / f"{kernel}.cubin", "rb") as file:
        library = driver.cuLibraryLoadData(file.read(), [], [], 0, [], [], 0)[1]
    function = driver.cuLibraryGetKernel(library, kernel.encode())[1]
    memory = driver.cuMemAlloc(SIZE)[1]
    check(int(driver.cuLaunchKernel(function, 1, 1, 1, 128, 1, 1, 0, 0, ((memory,), (None,)), 0)[0]))
    check(int(driver.cuCtxSynchronize()[0]))


def ours(work: Path, kernel: str, store: str, **options: object) -> None:
    from hatch_cuda_kernels import open_store

    function = open_store(str(work / store / "_kernels"), **options).get_kernel(kernel)
    from cuda.bindings import driver

    function[1, 128](int(driver.cuMemAlloc(SIZE)[1]))
    check(int(driver.cuCtxSynchronize()[0]))


def vendored(work: Path, kernel: str) -> None:
    import ctypes

    sys.path.insert(0, str(work))
    from _kernels_loader import open_store

    function = open_store(work / "native" / "_kernels").get_kernel(kernel)
    cuda, memory = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p()
    check(cuda.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(SIZE)))
    function[1, 128](memory.value)
    check(cuda.cuCtxSynchronize())


def ours_jit(work: Path, kernel: str) -> None:
    import os
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        os.environ["HATCH_CUDA_KERNELS_CACHE_DIR"] = folder
        ours(work, kernel, "unlisted")


def core(work: Path, kernel: str, make: str) -> None:
    from cuda.core import Device, LaunchConfig, ObjectCode, launch

    device = Device()
    device.set_current()
    if make == "cubin":
        code = ObjectCode.from_cubin(str(work / f"{kernel}.cubin"))
    else:
        code = core_program(work, kernel, device, cached=make == "file cache")
    function = code.get_kernel(kernel)
    stream = device.default_stream
    buffer = device.allocate(SIZE, stream=stream)
    launch(stream, LaunchConfig(grid=1, block=128), function, buffer)
    stream.sync()


def core_program(work: Path, kernel: str, device, *, cached: bool):
    from cuda.core import Program, ProgramOptions

    arch = (work / "arch").read_text()
    options = ProgramOptions(std="c++17", arch=arch, include_path=(work / "include").read_text().split())
    if not cached:
        return Program(SOURCES[kernel], code_type="c++", options=options).compile("cubin")
    from cuda.core.utils import FileStreamProgramCache, make_program_cache_key

    key = make_program_cache_key(
        code=SOURCES[kernel], code_type="c++", options=options, target_type="cubin", extra_digest=b"pinned headers"
    )
    with FileStreamProgramCache(work / "core-cache") as cache:
        code = cache.get(key)
        if code is None:
            code = Program(SOURCES[kernel], code_type="c++", options=options).compile("cubin")
            cache[key] = code
    from cuda.core import ObjectCode

    return code if hasattr(code, "get_kernel") else ObjectCode.from_cubin(code)


def toolkit_include() -> list[str]:
    from hatch_cuda_kernels.compiler.toolchain.toolchain import load_toolchain

    return list(load_toolchain().include_dirs)


def cupy_warm(work: Path, kernel: str) -> None:
    import os

    os.environ["CUPY_CACHE_DIR"] = str(work / "cupy-cache")
    import cupy

    options = ("-std=c++17", *(f"-I{folder}" for folder in (work / "include").read_text().split()))
    function = cupy.RawModule(code=SOURCES[kernel], options=options).get_function(kernel)
    memory = cupy.empty(SIZE // 4, cupy.float32)
    function((1,), (128,), (memory,))
    cupy.cuda.Device().synchronize()


def torch_compile_kernel(work: Path, kernel: str) -> None:
    import torch

    source = SOURCES[kernel]
    function = torch.cuda._compile_kernel(source, kernel, cuda_include_dirs=(work / "include").read_text().split())
    memory = torch.empty(SIZE // 4, device="cuda")
    function((1, 1, 1), (128, 1, 1), (memory,))
    torch.cuda.synchronize()


def triton_warm(work: Path, kernel: str) -> None:
    only_trivial(kernel)
    import os

    os.environ["TRITON_CACHE_DIR"] = str(work / "triton-cache")
    import torch
    from peers_triton import write_one

    memory = torch.empty(4, device="cuda")
    write_one[(1,)](memory)
    torch.cuda.synchronize()


def numba_warm(work: Path, kernel: str) -> None:
    only_trivial(kernel)
    import os

    os.environ["NUMBA_CACHE_DIR"] = str(work / "numba-cache")
    from numba import cuda
    from peers_numba import write_one

    memory = cuda.device_array(4, "float32")
    write_one[1, 128](memory)
    cuda.synchronize()


def only_trivial(kernel: str) -> None:
    if kernel != "trivial":
        raise SystemExit("its own language: the trivial kernel only")


VARIANTS = {
    "interpreter alone": lambda work, kernel: None,
    "context only (ctypes)": bare_context,
    "bare ctypes, CUBIN": bare_ctypes,
    "cuda.bindings, CUBIN": bindings,
    "ours: prebuilt CUBIN": lambda work, kernel: ours(work, kernel, "native"),
    "ours: vendored loader, prebuilt CUBIN": vendored,
    "ours: prebuilt CUBIN of a pack": lambda work, kernel: ours(work, kernel, "packed"),
    "ours: warm disk cache": lambda work, kernel: ours(work, kernel, "unlisted"),
    "ours: prebuilt PTX, warm driver cache": lambda work, kernel: ours(work, kernel, "ptx"),
    "ours: prebuilt PTX, no driver cache": lambda work, kernel: ours(work, kernel, "ptx"),
    "ours: JIT": ours_jit,
    "cuda.core from_cubin": lambda work, kernel: core(work, kernel, "cubin"),
    "cuda.core FileStreamProgramCache, warm": lambda work, kernel: core(work, kernel, "file cache"),
    "cuda.core JIT": lambda work, kernel: core(work, kernel, "jit"),
    "CuPy RawModule, warm cache": cupy_warm,
    "torch._compile_kernel": torch_compile_kernel,
    "Triton, warm cache": triton_warm,
    "numba-cuda, warm cache": numba_warm,
}

if __name__ == "__main__":
    VARIANTS[sys.argv[1]](Path(sys.argv[3]), sys.argv[2])
