// In place of the driver API's header, whose functions are the host's: its version and the types that kernels see.
#ifndef _HATCH_CUDA_H
#define _HATCH_CUDA_H
// The guard of the original: projects test it, and their own copies of the header have it.
#define __cuda_cuda_h__

#define CUDA_VERSION (__CUDACC_VER_MAJOR__ * 1000 + __CUDACC_VER_MINOR__ * 10)

// How functions are called.
#define CUDAAPI
#define CUDA_CB

typedef unsigned int cuuint32_t;
typedef unsigned long long cuuint64_t;
typedef unsigned long long CUdeviceptr;
typedef int CUdevice;
typedef unsigned long long CUtexObject;
typedef unsigned long long CUsurfObject;
typedef struct CUctx_st* CUcontext;
typedef struct CUmod_st* CUmodule;
typedef struct CUfunc_st* CUfunction;
typedef struct CUlib_st* CUlibrary;
typedef struct CUkern_st* CUkernel;
typedef struct CUarray_st* CUarray;
typedef struct CUmipmappedArray_st* CUmipmappedArray;
typedef struct CUevent_st* CUevent;
typedef struct CUstream_st* CUstream;
typedef struct CUgraph_st* CUgraph;
typedef struct CUgraphNode_st* CUgraphNode;
typedef struct CUgraphExec_st* CUgraphExec;
typedef struct CUgraphicsResource_st* CUgraphicsResource;
typedef struct CUlinkState_st* CUlinkState;
typedef struct CUmemPoolHandle_st* CUmemoryPool;
typedef struct CUtexref_st* CUtexref;
typedef struct CUsurfref_st* CUsurfref;
typedef struct CUextMemory_st* CUexternalMemory;
typedef struct CUextSemaphore_st* CUexternalSemaphore;
typedef struct CUuserObject_st* CUuserObject;
typedef struct CUgraphDeviceUpdatableNode_st* CUgraphDeviceNode;
typedef struct CUasyncCallbackEntry_st* CUasyncCallbackHandle;
typedef struct CUgreenCtx_st* CUgreenCtx;
typedef struct CUdevResourceDesc_st* CUdevResourceDesc;
typedef struct CUlogsCallbackEntry_st* CUlogsCallbackHandle;
typedef unsigned long long CUmemGenericAllocationHandle;
typedef cuuint64_t CUgraphConditionalHandle;
// What only the host fills or asks for.
typedef struct CUmemAllocationProp_st CUmemAllocationProp;
typedef struct CUmemAccessDesc_st CUmemAccessDesc;
typedef struct CUmemLocation_st CUmemLocation;
typedef struct CUmemDecompressParams_st CUmemDecompressParams;
typedef struct CUgraphNodeParams_st CUgraphNodeParams;
typedef struct CUipcMemHandle_st CUipcMemHandle;
typedef struct CUipcEventHandle_st CUipcEventHandle;
typedef struct CUDA_KERNEL_NODE_PARAMS_v2_st {
    CUfunction func;
    unsigned int gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes;
    void **kernelParams, **extra;
    CUkernel kern;
    CUcontext ctx;
} CUDA_KERNEL_NODE_PARAMS_v2;
typedef CUDA_KERNEL_NODE_PARAMS_v2 CUDA_KERNEL_NODE_PARAMS;
// Enumerations whose values only the host names.
enum CUaccessProperty : unsigned;
enum CUaddress_mode : unsigned;
enum CUarray_cubemap_face : unsigned;
enum CUarray_format : unsigned;
enum CUarraySparseSubresourceType : unsigned;
enum CUasyncNotificationType : unsigned;
enum CUatomicOperation : unsigned;
enum CUatomicOperationCapability : unsigned;
enum CUcigDataType : unsigned;
enum CUclusterSchedulingPolicy : unsigned;
enum CUcomputemode : unsigned;
enum CUCoredumpGenerationFlags : unsigned;
enum CUcoredumpSettings : unsigned;
enum CUDA_POINTER_ATTRIBUTE_ACCESS_FLAGS : unsigned;
enum CUdevice_attribute : unsigned;
enum CUdevice_P2PAttribute : unsigned;
enum CUdeviceNumaConfig : unsigned;
enum CUdriverProcAddress_flags : unsigned;
enum CUdriverProcAddressQueryResult : unsigned;
enum CUevent_flags : unsigned;
enum CUevent_record_flags : unsigned;
enum CUevent_sched_flags : unsigned;
enum CUevent_wait_flags : unsigned;
enum CUexecAffinityType : unsigned;
enum CUexternalMemoryHandleType : unsigned;
enum CUexternalSemaphoreHandleType : unsigned;
enum CUfilter_mode : unsigned;
enum CUflushGPUDirectRDMAWritesOptions : unsigned;
enum CUflushGPUDirectRDMAWritesScope : unsigned;
enum CUflushGPUDirectRDMAWritesTarget : unsigned;
enum CUfunc_cache : unsigned;
enum CUfunction_attribute : unsigned;
enum CUfunctionLoadingState : unsigned;
enum CUGPUDirectRDMAWritesOrdering : unsigned;
enum CUgraphChildGraphNodeOwnership : unsigned;
enum CUgraphConditionalNodeType : unsigned;
enum CUgraphDebugDot_flags : unsigned;
enum CUgraphDependencyType : unsigned;
enum CUgraphExecUpdateResult : unsigned;
enum CUgraphicsMapResourceFlags : unsigned;
enum CUgraphicsRegisterFlags : unsigned;
enum CUgraphInstantiate_flags : unsigned;
enum CUgraphInstantiateResult : unsigned;
enum CUgraphMem_attribute : unsigned;
enum CUgraphNodeType : unsigned;
enum CUipcMem_flags : unsigned;
enum CUjit_cacheMode : unsigned;
enum CUjit_fallback : unsigned;
enum CUjit_option : unsigned;
enum CUjit_target : unsigned;
enum CUjitInputType : unsigned;
enum CUlaunchAttributeID : unsigned;
enum CUlaunchMemSyncDomain : unsigned;
enum CUlibraryOption : unsigned;
enum CUlimit : unsigned;
enum CUlogLevel : unsigned;
enum CUmem_advise : unsigned;
enum CUmem_range_attribute : unsigned;
enum CUmemAccess_flags : unsigned;
enum CUmemAllocationCompType : unsigned;
enum CUmemAllocationGranularity_flags : unsigned;
enum CUmemAllocationHandleType : unsigned;
enum CUmemAllocationType : unsigned;
enum CUmemAttach_flags : unsigned;
enum CUmemcpy3DOperandType : unsigned;
enum CUmemcpyFlags : unsigned;
enum CUmemcpySrcAccessOrder : unsigned;
enum CUmemDecompressAlgorithm : unsigned;
enum CUmemHandleType : unsigned;
enum CUmemLocationType : unsigned;
enum CUmemOperationType : unsigned;
enum CUmemorytype : unsigned;
enum CUmemPool_attribute : unsigned;
enum CUmemRangeFlags : unsigned;
enum CUmemRangeHandleType : unsigned;
enum CUmoduleLoadingMode : unsigned;
enum CUmulticastGranularity_flags : unsigned;
enum CUoccupancy_flags : unsigned;
enum CUpointer_attribute : unsigned;
enum CUprocessState : unsigned;
enum CUresourcetype : unsigned;
enum CUresourceViewFormat : unsigned;
enum CUshared_carveout : unsigned;
enum CUsharedconfig : unsigned;
enum CUstream_flags : unsigned;
enum CUstreamBatchMemOpType : unsigned;
enum CUstreamCaptureMode : unsigned;
enum CUstreamCaptureStatus : unsigned;
enum CUstreamMemoryBarrier_flags : unsigned;
enum CUstreamUpdateCaptureDependencies_flags : unsigned;
enum CUstreamWaitValue_flags : unsigned;
enum CUstreamWriteValue_flags : unsigned;
enum CUsynchronizationPolicy : unsigned;
enum CUtensorMapIm2ColWideMode : unsigned;
enum CUuserObject_flags : unsigned;
enum CUuserObjectRetain_flags : unsigned;

typedef enum CUctx_flags_enum {
    CU_CTX_SCHED_AUTO = 0x00,
    CU_CTX_SCHED_SPIN = 0x01,
    CU_CTX_SCHED_YIELD = 0x02,
    CU_CTX_SCHED_BLOCKING_SYNC = 0x04,
    CU_CTX_BLOCKING_SYNC = 0x04,
    CU_CTX_SCHED_MASK = 0x07,
    CU_CTX_MAP_HOST = 0x08,
    CU_CTX_LMEM_RESIZE_TO_MAX = 0x10
} CUctx_flags;
typedef enum cudaError_enum { CUDA_SUCCESS = 0 } CUresult;

// A tensor map is filled by the host and read by the GPU. CUDA 13 aligns it to 128 bytes, CUDA 12 to 64.
typedef struct CUtensorMap_st {
    alignas(__CUDACC_VER_MAJOR__ >= 13 ? 128 : 64) cuuint64_t opaque[16];
} CUtensorMap;
typedef enum CUtensorMapDataType_enum {
    CU_TENSOR_MAP_DATA_TYPE_UINT8 = 0,
    CU_TENSOR_MAP_DATA_TYPE_UINT16,
    CU_TENSOR_MAP_DATA_TYPE_UINT32,
    CU_TENSOR_MAP_DATA_TYPE_INT32,
    CU_TENSOR_MAP_DATA_TYPE_UINT64,
    CU_TENSOR_MAP_DATA_TYPE_INT64,
    CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
    CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
    CU_TENSOR_MAP_DATA_TYPE_FLOAT64,
    CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
    CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ,
    CU_TENSOR_MAP_DATA_TYPE_TFLOAT32,
    CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ
} CUtensorMapDataType;
typedef enum CUtensorMapInterleave_enum {
    CU_TENSOR_MAP_INTERLEAVE_NONE = 0,
    CU_TENSOR_MAP_INTERLEAVE_16B,
    CU_TENSOR_MAP_INTERLEAVE_32B
} CUtensorMapInterleave;
typedef enum CUtensorMapSwizzle_enum {
    CU_TENSOR_MAP_SWIZZLE_NONE = 0,
    CU_TENSOR_MAP_SWIZZLE_32B,
    CU_TENSOR_MAP_SWIZZLE_64B,
    CU_TENSOR_MAP_SWIZZLE_128B
} CUtensorMapSwizzle;
typedef enum CUtensorMapL2promotion_enum {
    CU_TENSOR_MAP_L2_PROMOTION_NONE = 0,
    CU_TENSOR_MAP_L2_PROMOTION_L2_64B,
    CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
    CU_TENSOR_MAP_L2_PROMOTION_L2_256B
} CUtensorMapL2promotion;
typedef enum CUtensorMapFloatOOBfill_enum {
    CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE = 0,
    CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA
} CUtensorMapFloatOOBfill;

#endif
