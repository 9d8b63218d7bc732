// Types of the toolkit's host libraries, as structs of the host's have them for members: what a kernel cannot use, but a
// struct that it is given can hold. Handles are pointers or integers, as in the libraries' own headers.
#ifndef _HATCH_LIBRARY_TYPES_H
#define _HATCH_LIBRARY_TYPES_H

#define _HATCH_HANDLE(name, type) typedef struct type* name;
#define _HATCH_ENUM(name) \
    enum name : int {};

_HATCH_HANDLE(cublasHandle_t, cublasContext)
_HATCH_HANDLE(cublasLtHandle_t, cublasLtContext)
_HATCH_HANDLE(cublasXtHandle_t, cublasXtContext)
_HATCH_HANDLE(cublasLtMatmulDesc_t, cublasLtMatmulDescOpaque)
_HATCH_HANDLE(cublasLtMatmulPreference_t, cublasLtMatmulPreferenceOpaque)
_HATCH_HANDLE(cublasLtMatrixLayout_t, cublasLtMatrixLayoutOpaque)
_HATCH_HANDLE(cudnnHandle_t, cudnnContext)
_HATCH_HANDLE(cudnnConvolutionDescriptor_t, cudnnConvolutionStruct)
_HATCH_HANDLE(cudnnFilterDescriptor_t, cudnnFilterStruct)
_HATCH_HANDLE(cudnnPoolingDescriptor_t, cudnnPoolingStruct)
_HATCH_HANDLE(cudnnTensorDescriptor_t, cudnnTensorStruct)
_HATCH_HANDLE(curandGenerator_t, curandGenerator_st)
_HATCH_HANDLE(cusolverDnHandle_t, cusolverDnContext)
_HATCH_HANDLE(cusolverSpHandle_t, cusolverSpContext)
_HATCH_HANDLE(cusparseHandle_t, cusparseContext)
_HATCH_HANDLE(cusparseMatDescr_t, cusparseMatDescr)
_HATCH_HANDLE(cusparseSpMatDescr_t, cusparseSpMatDescr)
_HATCH_HANDLE(cusparseDnMatDescr_t, cusparseDnMatDescr)
_HATCH_HANDLE(cusparseDnVecDescr_t, cusparseDnVecDescr)
_HATCH_HANDLE(ncclComm_t, ncclComm)
_HATCH_ENUM(cublasFillMode_t)
_HATCH_ENUM(cublasGemmAlgo_t)
_HATCH_ENUM(cublasLtEpilogue_t)
_HATCH_ENUM(cublasLtMatmulTile_t)
_HATCH_ENUM(cublasLtOrder_t)
_HATCH_ENUM(cublasLtPointerMode_t)
_HATCH_ENUM(cublasLtReductionScheme_t)
_HATCH_ENUM(cublasComputeType_t)
_HATCH_ENUM(cublasMath_t)
_HATCH_ENUM(cublasOperation_t)
_HATCH_ENUM(cublasPointerMode_t)
_HATCH_ENUM(cublasSideMode_t)
_HATCH_ENUM(cublasDiagType_t)
_HATCH_ENUM(cublasStatus_t)
_HATCH_ENUM(cudnnDataType_t)
_HATCH_ENUM(cudnnStatus_t)
_HATCH_ENUM(cufftResult)
_HATCH_ENUM(cufftType)
_HATCH_ENUM(cusolverStatus_t)
_HATCH_ENUM(cusparseStatus_t)
_HATCH_ENUM(ncclDataType_t)
_HATCH_ENUM(ncclResult_t)
#undef _HATCH_ENUM
#undef _HATCH_HANDLE

typedef int cufftHandle;
typedef float cufftReal;
typedef double cufftDoubleReal;
typedef float2 cufftComplex;
typedef double2 cufftDoubleComplex;
struct cublasLtMatmulAlgo_t {
    unsigned long long data[8];
};
struct ncclUniqueId {
    char internal[128];
};

#endif
