"""Names of the standard library and of the toolkit's device headers, and the header that brings each."""

from __future__ import annotations

from typing import Final

__all__ = ["FUNCTION_NAMES", "GLOBAL_NAMES", "STD_NAMES", "TOOLKIT_NAMES"]

_BITS: Final = (8, 16, 32, 64)
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
    "hatch_cuda_kernels/gnu_words.h": (
        "__asm__ __assert_fail __builtin_offsetof __const __const__ __extension__ __signed__"
    ),
    "hatch_cuda_kernels/long_double.h": (
        "acosl asinl atanl atan2l ceill cosl expl fabsl floorl fmaxl fminl fmodl hypotl logl log10l powl roundl sinl "
        "sqrtl tanl tanhl truncl"
    ),
    "hatch_cuda_kernels/simd_types.h": "__m128 __m128d __m128i __m256 __m256d __m256i __m512 __m512d __m512i",
    "pthread.h": "pthread_attr_t pthread_cond_t pthread_key_t pthread_mutex_t pthread_t",
    "stdio.h": "FILE fflush fprintf stderr stdin stdout",
    "stdlib.h": "EXIT_FAILURE EXIT_SUCCESS RAND_MAX exit",
    "string.h": "memchr memcmp memmove strcat strchr strcmp strcpy strlen strncmp strncpy",
    "sys/time.h": "timeval timezone",
    "sys/types.h": (
        "uint ulong ushort u_char u_short u_int u_long u_int8_t u_int16_t u_int32_t u_int64_t ssize_t off_t "
        + " ".join(f"__{u}int{bits}_t" for u in ("", "u") for bits in _BITS)
    ),
    "time.h": "time_t timespec",
}
_STD: Final = {
    "algorithm": (
        "clamp copy copy_n equal fill fill_n find find_if for_each lower_bound max max_element min "
        "min_element minmax nth_element partial_sort remove reverse sort stable_sort transform unique "
        "upper_bound"
    ),
    "array": "array",
    "chrono": "chrono",
    "cmath": (
        "abs acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp2 expm1 fabs "
        "floor fma fmax fmin fmod frexp hypot isfinite isinf isnan isnormal ldexp lgamma log log10 log1p log2 "
        "lround modf nearbyint pow remainder rint round signbit sin sinh sqrt tan tanh tgamma trunc"
    ),
    "complex": "complex",
    "cstddef": "byte max_align_t nullptr_t ptrdiff_t size_t",
    "cstdint": " ".join([f"{u}int{bits}_t" for u in ("", "u") for bits in _BITS] + ["intptr_t", "uintptr_t"]),
    "cstdlib": "exit free malloc",
    "cstring": "memcmp memcpy memset strcmp strlen",
    "deque": "deque",
    "exception": "exception terminate",
    "fstream": "fstream ifstream ofstream",
    "functional": (
        "bit_and bit_or bit_xor equal_to function greater greater_equal less less_equal logical_and "
        "logical_or minus multiplies negate not_equal_to plus reference_wrapper"
    ),
    "initializer_list": "initializer_list",
    "iostream": "cerr cin clog cout endl flush",
    "iterator": "begin end iterator_traits next prev",
    "limits": "numeric_limits",
    "list": "list",
    "map": "map multimap",
    "memory": "addressof make_unique shared_ptr unique_ptr weak_ptr",
    "mutex": "lock_guard mutex once_flag unique_lock",
    "numeric": "accumulate iota",
    "optional": "nullopt optional",
    "random": (
        "bernoulli_distribution exponential_distribution mt19937 mt19937_64 normal_distribution random_device "
        "uniform_int_distribution uniform_real_distribution"
    ),
    "regex": "regex",
    "set": "multiset set",
    "sstream": "istringstream ostringstream stringbuf stringstream",
    "stdexcept": "domain_error invalid_argument logic_error out_of_range overflow_error runtime_error",
    "string": "string wstring",
    "string_view": "string_view",
    "tuple": (
        "apply forward_as_tuple get ignore make_tuple tie tuple tuple_cat tuple_element tuple_element_t "
        "tuple_size tuple_size_v"
    ),
    "type_traits": (
        "add_const add_pointer aligned_storage alignment_of common_type common_type_t conditional "
        "conditional_t decay decay_t enable_if enable_if_t extent false_type integral_constant bool_constant "
        "invoke_result invoke_result_t is_arithmetic is_arithmetic_v is_array is_base_of is_base_of_v "
        "is_class is_const is_constructible is_convertible is_convertible_v is_empty is_enum "
        "is_floating_point is_floating_point_v is_function is_integral is_integral_v is_invocable "
        "is_invocable_v is_pointer is_pointer_v is_reference is_same is_same_v is_signed is_signed_v "
        "is_trivially_copyable is_trivially_copyable_v is_unsigned is_unsigned_v is_void is_void_v "
        "make_signed make_signed_t make_unsigned make_unsigned_t remove_const remove_const_t remove_cv "
        "remove_cv_t remove_extent remove_pointer remove_pointer_t remove_reference "
        "remove_reference_t result_of true_type underlying_type underlying_type_t void_t"
    ),
    "unordered_map": "unordered_map unordered_multimap",
    "unordered_set": "unordered_set",
    "utility": (
        "declval exchange forward index_sequence index_sequence_for integer_sequence make_index_sequence "
        "make_integer_sequence make_pair move pair piecewise_construct swap"
    ),
    "vector": "vector",
}
#: Global names that sources use without an include, because nvcc includes their header or one that does.
GLOBAL_NAMES: Final = {name: header for header, names in _GLOBAL.items() for name in names.split()}
#: Those of them that are functions: a project may declare them itself.
FUNCTION_NAMES: Final = frozenset({"__assert_fail", *_GLOBAL["hatch_cuda_kernels/long_double.h"].split()})
#: The same for members of ``std``.
STD_NAMES: Final = {name: header for header, names in _STD.items() for name in names.split()}
#: Of the toolkit; ``library_names`` has those of its host libraries.
_TOOLKIT: Final = {
    "cooperative_groups.h": "cooperative_groups cg",
    "cub/cub.cuh": "cub",
    "cuComplex.h": ("cuComplex cuDoubleComplex cuFloatComplex make_cuComplex make_cuDoubleComplex make_cuFloatComplex"),
    "cuda_bf16.h": "__nv_bfloat16 __nv_bfloat162 nv_bfloat16 nv_bfloat162",
    "cuda_device_runtime_api.h": (
        "cudaGetErrorName cudaGetErrorString cudaGetLastError cudaGridDependencySynchronize cudaPeekAtLastError "
        "cudaTriggerProgrammaticLaunchCompletion"
    ),
    "cuda_fp16.h": "__half __half2 half half2 __float2half __half2float",
    "cuda_fp8.h": "__nv_fp8_e4m3 __nv_fp8_e5m2 __nv_fp8x2_e4m3 __nv_fp8x4_e4m3",
    "cuda_pipeline.h": "__pipeline_commit __pipeline_memcpy_async __pipeline_wait_prior",
    "curand_kernel.h": "curand curandState curandStatePhilox4_32_10_t curand_init curand_normal curand_uniform",
    "library_types.h": (
        "cudaDataType cudaDataType_t libraryPropertyType libraryPropertyType_t CUDA_C_16BF CUDA_C_16F CUDA_C_32F "
        "CUDA_C_32I CUDA_C_64F CUDA_C_8I CUDA_C_8U CUDA_R_16BF CUDA_R_16F CUDA_R_16I CUDA_R_16U CUDA_R_32F CUDA_R_32I "
        "CUDA_R_32U CUDA_R_64F CUDA_R_64I CUDA_R_64U CUDA_R_8F_E4M3 CUDA_R_8F_E5M2 CUDA_R_8I CUDA_R_8U"
    ),
    "math_constants.h": "CUDART_INF CUDART_INF_F CUDART_NAN CUDART_NAN_F CUDART_PI CUDART_PI_F",
    "mma.h": "nvcuda wmma",
}
#: Names of the toolkit's headers.
TOOLKIT_NAMES: Final = {name: header for header, names in _TOOLKIT.items() for name in names.split()}
