// What gcc defines before any text, on Linux x86-64: nvcc has it, NVRTC has not.
#ifndef _HATCH_GNU_MACROS_H
#define _HATCH_GNU_MACROS_H

#ifndef __BYTE_ORDER__
#define __BYTE_ORDER__ __ORDER_LITTLE_ENDIAN__
#endif
#ifndef __ORDER_BIG_ENDIAN__
#define __ORDER_BIG_ENDIAN__ 4321
#endif
#ifndef __ORDER_LITTLE_ENDIAN__
#define __ORDER_LITTLE_ENDIAN__ 1234
#endif
#ifndef __ORDER_PDP_ENDIAN__
#define __ORDER_PDP_ENDIAN__ 3412
#endif
#ifndef __FLOAT_WORD_ORDER__
#define __FLOAT_WORD_ORDER__ __ORDER_LITTLE_ENDIAN__
#endif
#ifndef __CHAR_BIT__
#define __CHAR_BIT__ 8
#endif
#ifndef __SCHAR_MAX__
#define __SCHAR_MAX__ 0x7f
#endif
#ifndef __SHRT_MAX__
#define __SHRT_MAX__ 0x7fff
#endif
#ifndef __INT_MAX__
#define __INT_MAX__ 0x7fffffff
#endif
#ifndef __LONG_MAX__
#define __LONG_MAX__ 0x7fffffffffffffffL
#endif
#ifndef __LONG_LONG_MAX__
#define __LONG_LONG_MAX__ 0x7fffffffffffffffLL
#endif
#ifndef __SIZE_MAX__
#define __SIZE_MAX__ 0xffffffffffffffffUL
#endif
#ifndef __FLT_EPSILON__
#define __FLT_EPSILON__ 1.19209289550781250000000000000000000e-7F
#endif
#ifndef __FLT_MAX__
#define __FLT_MAX__ 3.40282346638528859811704183484516925e+38F
#endif
#ifndef __FLT_MIN__
#define __FLT_MIN__ 1.17549435082228750796873653722224568e-38F
#endif
#ifndef __DBL_EPSILON__
#define __DBL_EPSILON__ 2.22044604925031308084726333618164062e-16
#endif
#ifndef __DBL_MAX__
#define __DBL_MAX__ 1.79769313486231570814527423731704357e+308
#endif
#ifndef __DBL_MIN__
#define __DBL_MIN__ 2.22507385850720138309023271733240406e-308
#endif
#ifndef __FLT_MANT_DIG__
#define __FLT_MANT_DIG__ 24
#endif
#ifndef __DBL_MANT_DIG__
#define __DBL_MANT_DIG__ 53
#endif
#ifndef __ATOMIC_RELAXED
#define __ATOMIC_RELAXED 0
#endif
#ifndef __ATOMIC_CONSUME
#define __ATOMIC_CONSUME 1
#endif
#ifndef __ATOMIC_ACQUIRE
#define __ATOMIC_ACQUIRE 2
#endif
#ifndef __ATOMIC_RELEASE
#define __ATOMIC_RELEASE 3
#endif
#ifndef __ATOMIC_ACQ_REL
#define __ATOMIC_ACQ_REL 4
#endif
#ifndef __ATOMIC_SEQ_CST
#define __ATOMIC_SEQ_CST 5
#endif
#ifndef __BIGGEST_ALIGNMENT__
#define __BIGGEST_ALIGNMENT__ 16
#endif

#endif
