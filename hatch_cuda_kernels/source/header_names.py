"""Names of the standard library, and the header that brings each."""

from __future__ import annotations

from typing import Final

__all__ = ["FUNCTION_NAMES", "GLOBAL_NAMES", "STD_NAMES", "STD_TEMPLATES"]

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
        "uint ulong ushort u_char u_short u_int u_long u_int8_t u_int16_t u_int32_t u_int64_t ssize_t off_t "
        + " ".join(f"__{u}int{bits}_t" for u in ("", "u") for bits in _BITS)
    ),
    "time.h": "time_t timespec",
}
_STD: Final = {
    "algorithm": (
        "all_of any_of binary_search clamp copy copy_backward copy_if copy_n count count_if equal equal_range fill "
        "fill_n find find_end find_first_of find_if find_if_not for_each generate generate_n includes inplace_merge "
        "is_heap is_permutation is_sorted is_sorted_until iter_swap lexicographical_compare lower_bound make_heap "
        "max max_element merge min min_element minmax minmax_element mismatch move_backward next_permutation "
        "none_of nth_element partial_sort partial_sort_copy partition pop_heap prev_permutation push_heap "
        "random_shuffle remove remove_copy remove_copy_if remove_if replace replace_copy replace_if reverse "
        "reverse_copy rotate rotate_copy sample search search_n set_difference set_intersection "
        "set_symmetric_difference set_union shuffle sort sort_heap stable_partition stable_sort swap_ranges "
        "transform unique unique_copy upper_bound"
    ),
    "any": "any any_cast bad_any_cast make_any",
    "array": "array",
    "cctype": "isalnum isalpha isblank isdigit islower isprint ispunct isspace isupper isxdigit tolower toupper",
    "charconv": "from_chars to_chars",
    "chrono": "chrono",
    "cmath": (
        "abs acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp2 expm1 fabs fabsf "
        "fdim floor fma fmax fmaxf fmin fminf fmod fpclassify frexp hypot ilogb isfinite isinf isnan isnormal ldexp "
        "lgamma llround log log10 log1p log2 logb lrint lround modf nan nearbyint nextafter pow remainder remquo "
        "rint round scalbn signbit sin sinh sqrt sqrtf tan tanh tgamma trunc"
    ),
    "complex": "arg complex conj imag norm polar proj real",
    "condition_variable": "condition_variable condition_variable_any cv_status",
    "cstddef": "byte max_align_t nullptr_t ptrdiff_t size_t",
    "cstdint": " ".join([f"{u}int{bits}_t" for u in ("", "u") for bits in _BITS])
    + " ".join(f" {u}int_{kind}{bits}_t" for u in ("", "u") for kind in ("fast", "least") for bits in _BITS)
    + " intmax_t intptr_t uintmax_t uintptr_t",
    "cstdio": (
        "FILE fclose feof fflush fgetc fgets fopen fprintf fputs fread fscanf fseek ftell fwrite perror printf puts "
        "rename snprintf sprintf sscanf vsnprintf"
    ),
    "cstdlib": (
        "abort atexit atof atoi atol atoll bsearch calloc div exit free getenv malloc qsort rand realloc srand "
        "strtod strtof strtol strtoll strtoul strtoull system"
    ),
    "cstring": (
        "memchr memcmp memcpy memmove memset strcat strchr strcmp strcpy strerror strlen strncat strncmp strncpy "
        "strrchr strstr strtok"
    ),
    "ctime": "clock clock_t ctime difftime gmtime localtime mktime strftime time time_t tm",
    "deque": "deque",
    "exception": (
        "bad_exception current_exception exception exception_ptr make_exception_ptr nested_exception "
        "rethrow_exception rethrow_if_nested set_terminate terminate throw_with_nested uncaught_exception "
        "uncaught_exceptions"
    ),
    "filesystem": "filesystem",
    "forward_list": "forward_list",
    "fstream": "fstream ifstream ofstream",
    "functional": (
        "bad_function_call bind bit_and bit_not bit_or bit_xor cref divides equal_to function greater greater_equal "
        "hash invoke is_bind_expression is_placeholder less less_equal logical_and logical_not logical_or mem_fn "
        "minus modulus multiplies negate not_equal_to not_fn placeholders plus ref reference_wrapper"
    ),
    "future": "async future future_error future_status launch packaged_task promise shared_future",
    "initializer_list": "initializer_list",
    "iomanip": "get_time put_time quoted resetiosflags setbase setfill setiosflags setprecision setw",
    "ios": (
        "basic_ios boolalpha dec defaultfloat fixed hex hexfloat internal ios ios_base left noboolalpha noshowpos "
        "noskipws oct right scientific showbase showpoint showpos skipws streamoff streampos streamsize uppercase"
    ),
    "iostream": "cerr cin clog cout endl flush",
    "istream": "basic_iostream basic_istream iostream istream ws",
    "iterator": (
        "advance back_insert_iterator back_inserter begin bidirectional_iterator_tag cbegin cend crbegin crend data "
        "distance empty end forward_iterator_tag front_inserter input_iterator_tag insert_iterator inserter "
        "istream_iterator istreambuf_iterator iterator iterator_traits make_move_iterator make_reverse_iterator "
        "move_iterator next ostream_iterator ostreambuf_iterator output_iterator_tag prev "
        "random_access_iterator_tag rbegin rend reverse_iterator size"
    ),
    "limits": "denorm_absent float_denorm_style float_round_style numeric_limits round_to_nearest round_toward_zero",
    "list": "list",
    "locale": "has_facet locale numpunct use_facet",
    "map": "map multimap",
    "memory": (
        "addressof align allocate_shared allocator allocator_traits bad_weak_ptr const_pointer_cast default_delete "
        "destroy destroy_at dynamic_pointer_cast enable_shared_from_this make_shared make_unique owner_less "
        "pointer_traits reinterpret_pointer_cast shared_ptr static_pointer_cast uninitialized_copy "
        "uninitialized_fill unique_ptr weak_ptr"
    ),
    "mutex": (
        "adopt_lock call_once defer_lock lock lock_guard mutex once_flag recursive_mutex scoped_lock timed_mutex "
        "try_lock try_to_lock unique_lock"
    ),
    "new": "bad_alloc bad_array_new_length launder new_handler nothrow nothrow_t set_new_handler",
    "numeric": (
        "accumulate adjacent_difference exclusive_scan gcd inclusive_scan inner_product iota lcm partial_sum reduce "
        "transform_reduce"
    ),
    "optional": "bad_optional_access make_optional nullopt nullopt_t optional",
    "ostream": "basic_ostream ends ostream",
    "queue": "priority_queue queue",
    "random": (
        "bernoulli_distribution binomial_distribution cauchy_distribution default_random_engine "
        "discrete_distribution exponential_distribution gamma_distribution generate_canonical "
        "geometric_distribution lognormal_distribution minstd_rand mt19937 mt19937_64 normal_distribution "
        "poisson_distribution random_device seed_seq uniform_int_distribution uniform_real_distribution"
    ),
    "ratio": "giga kilo mega micro milli nano ratio",
    "regex": (
        "cmatch match_results regex regex_error regex_match regex_replace regex_search smatch sregex_iterator "
        "ssub_match"
    ),
    "set": "multiset set",
    "shared_mutex": "shared_lock shared_mutex shared_timed_mutex",
    "sstream": "basic_ostringstream basic_stringstream istringstream ostringstream stringbuf stringstream",
    "stack": "stack",
    "stdexcept": (
        "domain_error invalid_argument length_error logic_error out_of_range overflow_error range_error "
        "runtime_error underflow_error"
    ),
    "streambuf": "basic_streambuf streambuf",
    "string": (
        "basic_string char_traits getline stod stof stoi stol stold stoll stoul stoull string to_string to_wstring "
        "u16string u32string wstring"
    ),
    "string_view": "basic_string_view string_view",
    "system_error": (
        "errc error_category error_code error_condition generic_category make_error_code system_category system_error"
    ),
    "thread": "this_thread thread",
    "tuple": (
        "apply forward_as_tuple get ignore make_tuple tie tuple tuple_cat tuple_element tuple_element_t tuple_size "
        "tuple_size_v"
    ),
    "type_traits": (
        "add_const add_const_t add_lvalue_reference add_lvalue_reference_t add_pointer add_pointer_t "
        "add_rvalue_reference aligned_storage aligned_storage_t alignment_of alignment_of_v bool_constant "
        "common_type common_type_t conditional conditional_t conjunction conjunction_v decay decay_t disjunction "
        "disjunction_v enable_if enable_if_t extent false_type integral_constant invoke_result invoke_result_t "
        "is_abstract is_aggregate is_arithmetic is_arithmetic_v is_array is_array_v is_assignable is_assignable_v "
        "is_base_of is_base_of_v is_class is_class_v is_const is_const_v is_constructible is_constructible_v "
        "is_convertible is_convertible_v is_copy_assignable is_copy_constructible is_default_constructible "
        "is_default_constructible_v is_destructible is_empty is_empty_v is_enum is_enum_v is_floating_point "
        "is_floating_point_v is_function is_function_v is_fundamental is_integral is_integral_v is_invocable "
        "is_invocable_r is_invocable_r_v is_invocable_v is_lvalue_reference is_lvalue_reference_v is_member_pointer "
        "is_move_assignable is_move_constructible is_nothrow_constructible is_nothrow_copy_constructible "
        "is_nothrow_move_assignable is_nothrow_move_constructible is_null_pointer is_object is_pod is_pointer "
        "is_pointer_v is_polymorphic is_reference is_reference_v is_rvalue_reference is_same is_same_v is_scalar "
        "is_scalar_v is_signed is_signed_v is_standard_layout is_standard_layout_v is_trivial "
        "is_trivially_copy_constructible is_trivially_copyable is_trivially_copyable_v is_trivially_destructible "
        "is_union is_unsigned is_unsigned_v is_void is_void_v is_volatile make_signed make_signed_t make_unsigned "
        "make_unsigned_t negation negation_v rank remove_all_extents remove_const remove_const_t remove_cv "
        "remove_cv_t remove_extent remove_extent_t remove_pointer remove_pointer_t remove_reference "
        "remove_reference_t remove_volatile result_of true_type underlying_type underlying_type_t void_t"
    ),
    "typeindex": "type_index",
    "typeinfo": "bad_cast bad_typeid type_info",
    "unordered_map": "unordered_map unordered_multimap",
    "unordered_set": "unordered_multiset unordered_set",
    "utility": (
        "as_const declval exchange forward in_place in_place_index in_place_t in_place_type index_sequence "
        "index_sequence_for integer_sequence make_index_sequence make_integer_sequence make_pair move "
        "move_if_noexcept pair piecewise_construct swap"
    ),
    "valarray": "valarray",
    "vector": "vector",
}
#: Global names that sources use without an include, because nvcc includes their header or one that does.
GLOBAL_NAMES: Final = {name: header for header, names in _GLOBAL.items() for name in names.split()}
#: Those of them that are functions: a project may declare them itself.
FUNCTION_NAMES: Final = frozenset({"__assert_fail", *_GLOBAL["hatch_cuda_kernels/long_double.h"].split()})
#: The same for members of ``std``.
STD_NAMES: Final = {name: header for header, names in _STD.items() for name in names.split()}
#: Templates whose names hardly stand for anything else.
STD_TEMPLATES: Final = frozenset(
    {"unique_ptr", "shared_ptr", "weak_ptr", "unordered_map", "unordered_set", "numeric_limits", "initializer_list"}
    | {"enable_if", "is_same", "integral_constant"}
    | {name for name in _STD["type_traits"].split() if name.endswith(("_t", "_v"))}
)
