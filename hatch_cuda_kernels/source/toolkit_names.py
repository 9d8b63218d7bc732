"""Names of the toolkit's device headers, and of its libraries' types, and the header that brings each."""

from __future__ import annotations

from typing import Final

__all__ = ["TOOLKIT_NAMES"]

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
    "hatch_cuda_kernels/library_types.h": (
        "cublasComputeType_t cublasDiagType_t cublasFillMode_t cublasGemmAlgo_t cublasHandle_t "
        "cublasLtEpilogue_t cublasLtHandle_t cublasLtMatmulAlgo_t cublasLtMatmulDescAttributes_t "
        "cublasLtMatmulDesc_t cublasLtMatmulPreferenceAttributes_t cublasLtMatmulPreference_t "
        "cublasLtMatmulStages_t cublasLtMatmulTile_t cublasLtMatrixLayoutAttribute_t cublasLtMatrixLayout_t "
        "cublasLtOrder_t cublasLtPointerMode_t cublasLtReductionScheme_t cublasMath_t cublasOperation_t "
        "cublasPointerMode_t cublasSideMode_t cublasStatus_t cublasXtHandle_t cudnnActivationDescriptor_t "
        "cudnnConvolutionBwdDataAlgo_t cudnnConvolutionBwdFilterAlgo_t cudnnConvolutionDescriptor_t "
        "cudnnConvolutionFwdAlgo_t cudnnDataType_t cudnnDropoutDescriptor_t cudnnFilterDescriptor_t "
        "cudnnHandle_t cudnnPoolingDescriptor_t cudnnRNNDescriptor_t cudnnStatus_t cudnnTensorDescriptor_t "
        "cufftComplex cufftDoubleComplex cufftDoubleReal cufftHandle cufftReal cufftResult cufftResult_t cufftType "
        "cufftType_t curandGenerator_t cusolverDnHandle_t cusolverDnParams_t "
        "cusolverEigMode_t cusolverEigRange_t cusolverRfHandle_t cusolverSpHandle_t cusolverStatus_t "
        "cusparseAction_t cusparseCsr2CscAlg_t cusparseDiagType_t cusparseDirection_t cusparseDnMatDescr_t "
        "cusparseDnVecDescr_t cusparseFillMode_t cusparseHandle_t cusparseIndexBase_t cusparseIndexType_t "
        "cusparseMatDescr_t cusparseOperation_t cusparseOrder_t cusparsePointerMode_t cusparseSDDMMAlg_t "
        "cusparseSolvePolicy_t cusparseSpGEMMAlg_t cusparseSpGEMMDescr_t cusparseSpMMAlg_t cusparseSpMVAlg_t "
        "cusparseSpMatAttribute_t cusparseSpMatDescr_t cusparseSpSMAlg_t cusparseSpSMDescr_t "
        "cusparseSpSVDescr_t cusparseSpVecDescr_t cusparseStatus_t ncclComm_t ncclDataType_t ncclRedOp_t "
        "ncclResult_t ncclUniqueId"
    ),
    "math_constants.h": "CUDART_INF CUDART_INF_F CUDART_NAN CUDART_NAN_F CUDART_PI CUDART_PI_F",
    "mma.h": "nvcuda wmma",
}
#: Names of the toolkit's headers.
TOOLKIT_NAMES: Final = {name: header for header, names in _TOOLKIT.items() for name in names.split()}
