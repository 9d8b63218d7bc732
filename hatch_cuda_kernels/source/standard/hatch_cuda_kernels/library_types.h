// Types of the toolkit's host libraries, as structs of the host's have them for members: what a kernel cannot use, but a
// struct that it is given can hold. Handles are pointers or integers, as in the libraries' own headers.
#ifndef _HATCH_LIBRARY_TYPES_H
#define _HATCH_LIBRARY_TYPES_H

#define _HATCH_HANDLE(name) typedef struct _Hatch_##name* name;
#define _HATCH_ENUM(name) \
    enum name : int {};

_HATCH_HANDLE(cublasHandle_t)
_HATCH_HANDLE(cublasLtHandle_t)
_HATCH_HANDLE(cublasXtHandle_t)
_HATCH_HANDLE(cublasLtMatmulDesc_t)
_HATCH_HANDLE(cublasLtMatmulPreference_t)
_HATCH_HANDLE(cublasLtMatrixLayout_t)
_HATCH_HANDLE(cudnnHandle_t)
_HATCH_HANDLE(cudnnConvolutionDescriptor_t)
_HATCH_HANDLE(cudnnFilterDescriptor_t)
_HATCH_HANDLE(cudnnPoolingDescriptor_t)
_HATCH_HANDLE(cudnnTensorDescriptor_t)
_HATCH_HANDLE(curandGenerator_t)
_HATCH_HANDLE(cusolverDnHandle_t)
_HATCH_HANDLE(cusolverSpHandle_t)
_HATCH_HANDLE(cusparseHandle_t)
_HATCH_HANDLE(cusparseMatDescr_t)
_HATCH_HANDLE(cusparseSpMatDescr_t)
_HATCH_HANDLE(cusparseDnMatDescr_t)
_HATCH_HANDLE(cusparseDnVecDescr_t)
_HATCH_HANDLE(ncclComm_t)
_HATCH_ENUM(cublasFillMode_t)
_HATCH_ENUM(cublasGemmAlgo_t)
_HATCH_ENUM(cublasOperation_t)
_HATCH_ENUM(cublasStatus_t)
_HATCH_ENUM(cudnnDataType_t)
_HATCH_ENUM(cudnnStatus_t)
_HATCH_ENUM(cufftResult)
_HATCH_ENUM(cufftType)
_HATCH_ENUM(curandStatus_t)
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
