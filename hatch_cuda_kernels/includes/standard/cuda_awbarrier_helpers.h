// The toolkit's own, which includes <stdint.h> with nvcc, and declares 64 bits as long long under NVRTC.
#ifndef _HATCH_CUDA_AWBARRIER_HELPERS_H
#define _HATCH_CUDA_AWBARRIER_HELPERS_H

#include <nv/target>
#include <stdint.h>

#include <cassert>

#ifndef _HATCH_LONG_LONG
#undef __CUDACC_RTC__
#endif
#include <cooperative_groups/../cuda_awbarrier_helpers.h>
#ifndef __CUDACC_RTC__
#define __CUDACC_RTC__ 1
#endif

#endif
