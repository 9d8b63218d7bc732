// NCCL's types and constants, for what stays of a source without its host code. Functions are the host's.
#ifndef _HATCH_NCCL_TYPES_H
#define _HATCH_NCCL_TYPES_H

#define NCCL_UNIQUE_ID_BYTES 128

typedef struct ncclComm* ncclComm_t;
typedef struct ncclWindow_vidmem* ncclWindow_t;
typedef struct {
    char internal[128];
} ncclUniqueId;
typedef enum {
    ncclSuccess, ncclUnhandledCudaError, ncclSystemError, ncclInternalError, ncclInvalidArgument, ncclInvalidUsage,
    ncclRemoteError, ncclInProgress, ncclTimeout,
} ncclResult_t;
typedef enum { ncclSum, ncclProd, ncclMax, ncclMin, ncclAvg, ncclNumOps, ncclMaxRedOp = 2147483647 } ncclRedOp_t;
typedef enum {
    ncclInt8, ncclChar = 0, ncclUint8, ncclInt32, ncclInt = 2, ncclUint32, ncclInt64, ncclUint64, ncclFloat16,
    ncclHalf = 6, ncclFloat32, ncclFloat = 7, ncclFloat64, ncclDouble = 8, ncclBfloat16, ncclFloat8e4m3, ncclFloat8e5m2,
} ncclDataType_t;

#endif
