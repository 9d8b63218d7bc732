// Functions of the CUDA runtime that types name, or the host's members begin with: nvcc declares them in any source.
#ifndef _HATCH_RUNTIME_FUNCTIONS_H
#define _HATCH_RUNTIME_FUNCTIONS_H

#include <driver_types.h>
#include <surface_types.h>
#include <texture_types.h>

inline __host__ __device__ cudaChannelFormatDesc cudaCreateChannelDesc(
    int __x, int __y, int __z, int __w, cudaChannelFormatKind __kind) {
    return {__x, __y, __z, __w, __kind};
}
template <class _T>
__host__ __device__ cudaChannelFormatDesc cudaCreateChannelDesc();

// The host's: a kernel that calls one does not link.
extern "C" {
__host__ __device__ cudaError_t cudaDestroySurfaceObject(cudaSurfaceObject_t);
__host__ __device__ cudaError_t cudaDestroyTextureObject(cudaTextureObject_t);
__host__ __device__ cudaError_t cudaFreeArray(cudaArray_t);
__host__ __device__ cudaError_t cudaFreeHost(void*);
__host__ __device__ cudaError_t cudaGraphDestroy(cudaGraph_t);
__host__ __device__ cudaError_t cudaGraphExecDestroy(cudaGraphExec_t);
}

#endif
