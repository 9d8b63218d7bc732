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
_HATCH_HANDLE(cusparseSpVecDescr_t, cusparseSpVecDescr)
_HATCH_HANDLE(cusparseSpSMDescr_t, cusparseSpSMDescr)
_HATCH_HANDLE(cusparseSpSVDescr_t, cusparseSpSVDescr)
_HATCH_HANDLE(cusparseSpGEMMDescr_t, cusparseSpGEMMDescr)
_HATCH_HANDLE(cusolverDnParams_t, cusolverDnParams)
_HATCH_HANDLE(cusolverRfHandle_t, cusolverRfCommon)
_HATCH_HANDLE(cudnnActivationDescriptor_t, cudnnActivationStruct)
_HATCH_HANDLE(cudnnDropoutDescriptor_t, cudnnDropoutStruct)
_HATCH_HANDLE(cudnnRNNDescriptor_t, cudnnRNNStruct)
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
enum cufftType : int {
    CUFFT_R2C = 0x2a,
    CUFFT_C2R = 0x2c,
    CUFFT_C2C = 0x29,
    CUFFT_D2Z = 0x6a,
    CUFFT_Z2D = 0x6c,
    CUFFT_Z2Z = 0x69
};
typedef cufftType cufftType_t;
typedef cufftResult cufftResult_t;
_HATCH_ENUM(cusolverStatus_t)
_HATCH_ENUM(cusparseStatus_t)
_HATCH_ENUM(ncclDataType_t)
_HATCH_ENUM(ncclResult_t)
_HATCH_ENUM(cublasLtMatmulDescAttributes_t)
_HATCH_ENUM(cublasLtMatmulPreferenceAttributes_t)
_HATCH_ENUM(cublasLtMatmulStages_t)
_HATCH_ENUM(cublasLtMatrixLayoutAttribute_t)
_HATCH_ENUM(cusolverEigMode_t)
_HATCH_ENUM(cusolverEigRange_t)
_HATCH_ENUM(cusparseAction_t)
_HATCH_ENUM(cusparseCsr2CscAlg_t)
_HATCH_ENUM(cusparseDiagType_t)
_HATCH_ENUM(cusparseDirection_t)
_HATCH_ENUM(cusparseFillMode_t)
_HATCH_ENUM(cusparseIndexBase_t)
_HATCH_ENUM(cusparseIndexType_t)
_HATCH_ENUM(cusparseOperation_t)
_HATCH_ENUM(cusparseOrder_t)
_HATCH_ENUM(cusparsePointerMode_t)
_HATCH_ENUM(cusparseSDDMMAlg_t)
_HATCH_ENUM(cusparseSolvePolicy_t)
_HATCH_ENUM(cusparseSpGEMMAlg_t)
_HATCH_ENUM(cusparseSpMMAlg_t)
_HATCH_ENUM(cusparseSpMVAlg_t)
_HATCH_ENUM(cusparseSpMatAttribute_t)
_HATCH_ENUM(cusparseSpSMAlg_t)
_HATCH_ENUM(cudnnConvolutionFwdAlgo_t)
_HATCH_ENUM(cudnnConvolutionBwdDataAlgo_t)
_HATCH_ENUM(cudnnConvolutionBwdFilterAlgo_t)
_HATCH_ENUM(ncclRedOp_t)
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
