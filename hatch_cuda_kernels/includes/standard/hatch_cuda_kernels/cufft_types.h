// cuFFT's types and constants, for what stays of a source without its host code. Functions are the host's.
// Without the three results that CUDA 13 removed.
#ifndef _HATCH_CUFFT_TYPES_H
#define _HATCH_CUFFT_TYPES_H

#if __CUDACC_VER_MAJOR__ >= 13
#define CUFFT_VERSION 12000
#else
#define CUFFT_VERSION 11401
#endif

#define CUFFT_FORWARD -1
#define CUFFT_INVERSE 1

typedef float cufftReal;
typedef double cufftDoubleReal;
typedef float2 cufftComplex;
typedef double2 cufftDoubleComplex;
typedef int cufftHandle;
typedef enum cufftResult_t {
    CUFFT_SUCCESS, CUFFT_INVALID_PLAN, CUFFT_ALLOC_FAILED, CUFFT_INVALID_TYPE, CUFFT_INVALID_VALUE,
    CUFFT_INTERNAL_ERROR, CUFFT_EXEC_FAILED, CUFFT_SETUP_FAILED, CUFFT_INVALID_SIZE, CUFFT_UNALIGNED_DATA,
    CUFFT_INVALID_DEVICE = 11, CUFFT_NO_WORKSPACE = 13, CUFFT_NOT_IMPLEMENTED, CUFFT_NOT_SUPPORTED = 16,
    CUFFT_MISSING_DEPENDENCY, CUFFT_NVRTC_FAILURE, CUFFT_NVJITLINK_FAILURE, CUFFT_NVSHMEM_FAILURE,
} cufftResult;
typedef enum cufftType_t {
    CUFFT_R2C = 42, CUFFT_C2R = 44, CUFFT_C2C = 41, CUFFT_D2Z = 106, CUFFT_Z2D = 108, CUFFT_Z2Z = 105,
} cufftType;
typedef enum cufftXtSubFormat_t {
    CUFFT_XT_FORMAT_INPUT, CUFFT_XT_FORMAT_OUTPUT, CUFFT_XT_FORMAT_INPLACE, CUFFT_XT_FORMAT_INPLACE_SHUFFLED,
    CUFFT_XT_FORMAT_1D_INPUT_SHUFFLED, CUFFT_XT_FORMAT_DISTRIBUTED_INPUT, CUFFT_XT_FORMAT_DISTRIBUTED_OUTPUT,
    CUFFT_FORMAT_UNDEFINED,
} cufftXtSubFormat;
typedef enum cufftXtCopyType_t {
    CUFFT_COPY_HOST_TO_DEVICE, CUFFT_COPY_DEVICE_TO_HOST, CUFFT_COPY_DEVICE_TO_DEVICE, CUFFT_COPY_UNDEFINED,
} cufftXtCopyType;
typedef enum cufftXtCallbackType_t {
    CUFFT_CB_LD_COMPLEX, CUFFT_CB_LD_COMPLEX_DOUBLE, CUFFT_CB_LD_REAL, CUFFT_CB_LD_REAL_DOUBLE, CUFFT_CB_ST_COMPLEX,
    CUFFT_CB_ST_COMPLEX_DOUBLE, CUFFT_CB_ST_REAL, CUFFT_CB_ST_REAL_DOUBLE, CUFFT_CB_UNDEFINED,
} cufftXtCallbackType;
typedef cufftComplex (*cufftCallbackLoadC)(void*, size_t, void*, void*);
typedef cufftDoubleComplex (*cufftCallbackLoadZ)(void*, size_t, void*, void*);
typedef cufftReal (*cufftCallbackLoadR)(void*, size_t, void*, void*);
typedef cufftDoubleReal (*cufftCallbackLoadD)(void*, size_t, void*, void*);
typedef void (*cufftCallbackStoreC)(void*, size_t, cufftComplex, void*, void*);
typedef void (*cufftCallbackStoreZ)(void*, size_t, cufftDoubleComplex, void*, void*);
typedef void (*cufftCallbackStoreR)(void*, size_t, cufftReal, void*, void*);
typedef void (*cufftCallbackStoreD)(void*, size_t, cufftDoubleReal, void*, void*);
typedef enum libFormat_t { LIB_FORMAT_CUFFT, LIB_FORMAT_UNDEFINED } libFormat;
typedef struct cudaXtDesc_t {
    int version;
    int nGPUs;
    int GPUs[64];
    void* data[64];
    size_t size[64];
    void* cudaXtState;
} cudaXtDesc;
typedef struct cudaLibXtDesc_t {
    int version;
    cudaXtDesc* descriptor;
    libFormat library;
    int subFormat;
    void* libDescriptor;
} cudaLibXtDesc;

#endif
