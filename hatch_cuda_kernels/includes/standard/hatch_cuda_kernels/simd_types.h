// The host's vector registers, for classes that have one as a member: device code computes with none.
#ifndef _HATCH_SIMD_TYPES_H
#define _HATCH_SIMD_TYPES_H

#define _HATCH_SIMD(bytes, suffix)                \
    struct alignas(bytes) __m##suffix {           \
        unsigned char __held[bytes];              \
    };

_HATCH_SIMD(16, 128)
_HATCH_SIMD(16, 128d)
_HATCH_SIMD(16, 128i)
_HATCH_SIMD(32, 256)
_HATCH_SIMD(32, 256d)
_HATCH_SIMD(32, 256i)
_HATCH_SIMD(64, 512)
_HATCH_SIMD(64, 512d)
_HATCH_SIMD(64, 512i)
#undef _HATCH_SIMD

#endif
