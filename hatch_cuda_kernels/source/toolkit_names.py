"""Names of the toolkit's device headers, and the header that brings each; ``library_names`` has its host libraries'."""

from __future__ import annotations

from typing import Final

__all__ = ["TOOLKIT_FUNCTIONS", "TOOLKIT_NAMES", "VERSIONS"]

_TOOLKIT: Final = {
    "cooperative_groups.h": "cooperative_groups cg",
    "cub/cub.cuh": "cub",
    "cuComplex.h": ("cuComplex cuDoubleComplex cuFloatComplex make_cuComplex make_cuDoubleComplex make_cuFloatComplex"),
    "cuda_bf16.h": "__nv_bfloat16 __nv_bfloat162 nv_bfloat16 nv_bfloat162",
    "cuda_device_runtime_api.h": (
        "cudaGetErrorName cudaGetErrorString cudaGetLastError cudaGridDependencySynchronize cudaPeekAtLastError "
        "cudaTriggerProgrammaticLaunchCompletion"
    ),
    "cuda_fp16.h": "__half __half2 half half2 __float2half __half2float",
    "cuda_fp8.h": "__nv_fp8_e4m3 __nv_fp8_e5m2 __nv_fp8x2_e4m3 __nv_fp8x4_e4m3",
    "cuda_pipeline.h": "__pipeline_commit __pipeline_memcpy_async __pipeline_wait_prior",
    "curand_kernel.h": "curand curandState curandStatePhilox4_32_10_t curand_init curand_normal curand_uniform",
    "hatch_cuda_kernels/runtime_functions.h": (
        "cudaCreateChannelDesc cudaDestroySurfaceObject cudaDestroyTextureObject cudaFreeArray cudaFreeHost "
        "cudaGraphDestroy cudaGraphExecDestroy"
    ),
    "library_types.h": (
        "cudaDataType cudaDataType_t libraryPropertyType libraryPropertyType_t CUDA_C_16BF CUDA_C_16F CUDA_C_32F "
        "CUDA_C_32I CUDA_C_64F CUDA_C_8I CUDA_C_8U CUDA_R_16BF CUDA_R_16F CUDA_R_16I CUDA_R_16U CUDA_R_32F CUDA_R_32I "
        "CUDA_R_32U CUDA_R_64F CUDA_R_64I CUDA_R_64U CUDA_R_8F_E4M3 CUDA_R_8F_E5M2 CUDA_R_8I CUDA_R_8U"
    ),
    "math_constants.h": "CUDART_INF CUDART_INF_F CUDART_NAN CUDART_NAN_F CUDART_PI CUDART_PI_F",
    "mma.h": "nvcuda wmma",
}
#: Names of the toolkit's headers.
TOOLKIT_NAMES: Final = {name: header for header, names in _TOOLKIT.items() for name in names.split()}
#: Those that a project may define itself, in place of the header's.
TOOLKIT_FUNCTIONS: Final = frozenset(
    {"__float2half", "__half2float", "make_cuComplex", "make_cuDoubleComplex", "make_cuFloatComplex"}
)
#: Macros that each header of CUB's and Thrust's brings, with what brings them where these are left out.
VERSIONS: Final = {
    f"{library}_{part}VERSION": header
    for library, header in (
        ("CUB", "cub/version.cuh"),
        ("THRUST", "thrust/version.h"),
        ("CCCL", "cuda/std/__cccl/version.h"),
    )
    for part in ("", "MAJOR_", "MINOR_", "SUBMINOR_", "PATCH_")
}
