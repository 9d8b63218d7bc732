"""Global names of the standard library, and the header that brings each."""

from __future__ import annotations

from typing import Final

from hatch_cuda_kernels.source.std_names import STD_NAMES, STD_NAMES_OF_CPP20

__all__ = ["FUNCTION_NAMES", "GLOBAL_NAMES", "RENAMED", "STD_NAMES", "STD_NAMES_OF_CPP20", "STD_TEMPLATES"]

_BITS: Final = (8, 16, 32, 64)
#: Functions of double, and of float with an f behind the name.
_BUILT_IN: Final = (
    *("fabs", "sqrt", "floor", "ceil", "trunc", "round", "rint", "exp", "log", "sin", "cos", "fmin", "fmax", "fmod"),
    *("pow", "copysign", "fma", "inf", "nan", "huge_val"),
)
_GLOBAL: Final = {
    "cfloat": "FLT_DIG FLT_EPSILON FLT_MAX FLT_MIN DBL_DIG DBL_EPSILON DBL_MAX DBL_MIN",
    "climits": (
        "CHAR_BIT CHAR_MAX CHAR_MIN SCHAR_MAX SCHAR_MIN UCHAR_MAX SHRT_MAX SHRT_MIN USHRT_MAX INT_MAX INT_MIN "
        "UINT_MAX LONG_MAX LONG_MIN ULONG_MAX LLONG_MAX LLONG_MIN ULLONG_MAX"
    ),
    "cmath": (
        "HUGE_VAL HUGE_VALF INFINITY NAN M_1_PI M_2_PI M_2_SQRTPI M_E M_LN10 M_LN2 M_LOG10E M_LOG2E M_PI "
        "M_PI_2 M_PI_4 M_SQRT1_2 M_SQRT2"
    ),
    "cstdint": " ".join(
        [f"{u}int{bits}_t" for u in ("", "u") for bits in _BITS]
        + [f"{kind}{bits}_{end}" for kind, end in (("INT", "MAX"), ("INT", "MIN"), ("UINT", "MAX")) for bits in _BITS]
        + ["intptr_t", "uintptr_t", "intmax_t", "uintmax_t", "SIZE_MAX"]
    ),
    "hatch_cuda_kernels/gl_types.h": (
        "GLenum GLboolean GLbitfield GLbyte GLshort GLint GLsizei GLubyte GLushort GLuint GLfloat GLclampf GLdouble"
    ),
    "hatch_cuda_kernels/gnu_builtins.h": " ".join(
        [f"__builtin_{name}{end}" for name in ("popcount", "parity", "ctz", "ffs", "clz") for end in ("", "l", "ll")]
        + [f"__builtin_bswap{bits}" for bits in (16, 32, 64)]
        + [f"__builtin_{name}{end}" for name in _BUILT_IN for end in ("", "f")]
        + ["__builtin_trap", "__builtin_memcpy", "__builtin_memset"]
    ),
    "hatch_cuda_kernels/gnu_macros.h": (
        "__BYTE_ORDER__ __ORDER_BIG_ENDIAN__ __ORDER_LITTLE_ENDIAN__ __ORDER_PDP_ENDIAN__ "
        "__FLOAT_WORD_ORDER__ __CHAR_BIT__ __SCHAR_MAX__ __SHRT_MAX__ __INT_MAX__ __LONG_MAX__ "
        "__LONG_LONG_MAX__ __SIZE_MAX__ __FLT_EPSILON__ __FLT_MAX__ __FLT_MIN__ __DBL_EPSILON__ __DBL_MAX__ "
        "__DBL_MIN__ __FLT_MANT_DIG__ __DBL_MANT_DIG__ __ATOMIC_RELAXED __ATOMIC_CONSUME __ATOMIC_ACQUIRE "
        "__ATOMIC_RELEASE __ATOMIC_ACQ_REL __ATOMIC_SEQ_CST __BIGGEST_ALIGNMENT__"
    ),
    "hatch_cuda_kernels/gnu_words.h": (
        "__asm__ __assert_fail __builtin_offsetof __const __const__ __extension__ __signed__"
    ),
    "hatch_cuda_kernels/long_double.h": (
        "acosl asinl atanl atan2l ceill cosl expl fabsl floorl fmaxl fminl fmodl hypotl logl log10l powl roundl sinl "
        "sqrtl tanl tanhl truncl"
    ),
    "hatch_cuda_kernels/math_names.h": "isfinite isinf isnan pow signbit",
    "hatch_cuda_kernels/simd_types.h": "__m128 __m128d __m128i __m256 __m256d __m256i __m512 __m512d __m512i",
    "pthread.h": "pthread_attr_t pthread_cond_t pthread_key_t pthread_mutex_t pthread_t",
    "stdio.h": (
        "FILE fclose fflush fgets fopen fprintf fputs fread fscanf fseek ftell fwrite perror snprintf sprintf sscanf "
        "stderr stdin stdout vsnprintf"
    ),
    "stdlib.h": (
        "EXIT_FAILURE EXIT_SUCCESS RAND_MAX atof atoi atol calloc exit getenv qsort realloc srand strtod strtof "
        "strtol strtoll strtoul strtoull"
    ),
    "string.h": (
        "memchr memcmp memmove strcasecmp strcat strchr strcmp strcpy strdup strerror strlen strncat strncmp strncpy "
        "strrchr strstr strtok"
    ),
    "sys/time.h": "timeval timezone",
    "sys/types.h": (
        "uint ulong ushort u_char u_short u_int u_long u_int8_t u_int16_t u_int32_t u_int64_t ssize_t off_t loff_t "
        "off64_t pid_t uid_t gid_t mode_t dev_t ino_t useconds_t "
        + " ".join(f"__{u}int{bits}_t" for u in ("", "u") for bits in _BITS)
    ),
    "time.h": "time_t timespec",
}
#: Global names that sources use without an include, because nvcc includes their header or one that does.
GLOBAL_NAMES: Final = {name: header for header, names in _GLOBAL.items() for name in names.split()}
#: Those of them that are functions: a project may declare them itself.
FUNCTION_NAMES: Final = frozenset({"__assert_fail", *_GLOBAL["hatch_cuda_kernels/long_double.h"].split()})
#: Those that NVRTC has, too, but with other types and values than nvcc.
RENAMED: Final = frozenset(_GLOBAL["hatch_cuda_kernels/math_names.h"].split())
#: Templates whose names hardly stand for anything else.
STD_TEMPLATES: Final = frozenset(
    {"unique_ptr", "shared_ptr", "weak_ptr", "unordered_map", "unordered_set", "numeric_limits", "initializer_list"}
    | {"enable_if", "is_same", "integral_constant"}
    | {name for name, header in STD_NAMES.items() if header == "type_traits" and name.endswith(("_t", "_v"))}
)
