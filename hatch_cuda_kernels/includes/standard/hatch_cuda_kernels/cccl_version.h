// Which CCCL there is, in macros of our own: CCCL_VERSION is defined where a source includes something of CCCL, as with
// nvcc, and not where a standard header of this package asks for it.
#ifndef _HATCH_CCCL_VERSION_H
#define _HATCH_CCCL_VERSION_H

#ifndef CCCL_VERSION
#if __has_include(<cuda/std/__cccl/version.h>)
#include <cuda/std/__cccl/version.h>
#define _HATCH_CCCL_ASKED
#endif
#endif
#ifdef CCCL_VERSION
#if CCCL_VERSION >= 3001000
#define _HATCH_CCCL_3_1
#endif
#if CCCL_VERSION < 3002000
#define _HATCH_CCCL_BEFORE_3_2
#endif
#if CCCL_VERSION >= 3003000
#define _HATCH_CCCL_3_3
#endif
#endif
#ifdef _HATCH_CCCL_ASKED
#undef _HATCH_CCCL_ASKED
#undef __CCCL_VERSION_H
#undef CCCL_VERSION
#undef CCCL_MAJOR_VERSION
#undef CCCL_MINOR_VERSION
#undef CCCL_PATCH_VERSION
#endif

#endif
