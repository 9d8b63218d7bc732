// What a library says of itself in macros, as libstdc++ 12 does: sources choose by them, so nvcc's choice is NVRTC's. Each
// section is for the headers that have its macros, and <version> has all. What is not here is what no header here has.

// Those that nvcc has before any include.
#define __cpp_lib_exchange_function 201304L
#define __cpp_lib_integer_sequence 201304L
#define __cpp_lib_integral_constant_callable 201304L
#define __cpp_lib_is_final 201402L
#define __cpp_lib_is_null_pointer 201309L
#define __cpp_lib_result_of_sfinae 201210L
#define __cpp_lib_transformation_trait_aliases 201304L
#define __cpp_lib_tuple_element_t 201402L
#define __cpp_lib_tuples_by_type 201304L
#if __cplusplus >= 201703L
#define __cpp_lib_addressof_constexpr 201603L
#define __cpp_lib_as_const 201510L
#define __cpp_lib_bool_constant 201505L
#define __cpp_lib_hardware_interference_size 201703L
#define __cpp_lib_has_unique_object_representations 201606L
#define __cpp_lib_hypot 201603L
#define __cpp_lib_is_aggregate 201703L
#define __cpp_lib_is_invocable 201703L
#define __cpp_lib_is_swappable 201603L
#define __cpp_lib_launder 201606L
#define __cpp_lib_logical_traits 201510L
#define __cpp_lib_make_reverse_iterator 201402L
#define __cpp_lib_math_special_functions 201603L
#define __cpp_lib_robust_nonmodifying_seq_ops 201304L
#define __cpp_lib_type_trait_variable_templates 201510L
#define __cpp_lib_void_t 201411L
#endif
#if __cplusplus >= 201703L && __cplusplus < 202002L
#define __cpp_lib_array_constexpr 201803L
#endif
#if __cplusplus >= 202002L
#define __cpp_lib_array_constexpr 201811L
#define __cpp_lib_bounded_array_traits 201902L
#define __cpp_lib_concepts 202002L
#define __cpp_lib_constexpr_iterator 201811L
#define __cpp_lib_constexpr_utility 201811L
#define __cpp_lib_integer_comparison_functions 202002L
#define __cpp_lib_interpolate 201902L
#define __cpp_lib_is_constant_evaluated 201811L
#define __cpp_lib_is_nothrow_convertible 201806L
#define __cpp_lib_remove_cvref 201711L
#define __cpp_lib_three_way_comparison 201907L
#define __cpp_lib_to_address 201711L
#define __cpp_lib_type_identity 201806L
#define __cpp_lib_unwrap_ref 201811L
#endif
#if defined _HATCH_ALGORITHM || defined _HATCH_VERSION
#define __cpp_lib_robust_nonmodifying_seq_ops 201304L
#if __cplusplus >= 201703L
#define __cpp_lib_clamp 201603L
#define __cpp_lib_sample 201603L
#endif
#if __cplusplus >= 202002L
#define __cpp_lib_constexpr_algorithms 201806L
#endif
#endif
#if defined _HATCH_ALGORITHM || defined _HATCH_NUMERIC || defined _HATCH_VERSION
#if __cplusplus >= 201703L
#define __cpp_lib_parallel_algorithm 201603L
#endif
#endif
#if defined _HATCH_ANY || defined _HATCH_VERSION
#if __cplusplus >= 201703L
#define __cpp_lib_any 201606L
#endif
#endif
#if defined _HATCH_ARRAY || defined _HATCH_DEQUE || defined _HATCH_FORWARD_LIST || defined _HATCH_ITERATOR || \
    defined _HATCH_LIST || defined _HATCH_MAP || defined _HATCH_SET || defined _HATCH_STRING || \
    defined _HATCH_UNORDERED_MAP || defined _HATCH_UNORDERED_SET || defined _HATCH_VECTOR || defined _HATCH_VERSION
#if __cplusplus >= 201703L
#define __cpp_lib_nonmember_container_access 201411L
#endif
#endif
#if defined _HATCH_ARRAY || defined _HATCH_VERSION
#if __cplusplus >= 202002L
#define __cpp_lib_to_array 201907L
#endif
#endif
#if defined _HATCH_ATOMIC || defined _HATCH_VERSION
#if __cplusplus >= 201703L
#define __cpp_lib_atomic_is_always_lock_free 201603L
#endif
#endif
#if defined _HATCH_BIT || defined _HATCH_VERSION
#if __cplusplus >= 202002L
#define __cpp_lib_bit_cast 201806L
#define __cpp_lib_bitops 201907L
#define __cpp_lib_endian 201907L
#define __cpp_lib_int_pow2 202002L
#endif
#endif
#if defined _HATCH_CHARCONV || defined _HATCH_VERSION
#define __cpp_lib_to_chars 201611L
#endif
#if defined _HATCH_CHRONO || defined _HATCH_VERSION
#define __cpp_lib_chrono_udls 201304L
#if __cplusplus >= 201703L
#define __cpp_lib_chrono 201611L
#endif
#endif
#if defined _HATCH_COMPLEX || defined _HATCH_VERSION
#define __cpp_lib_complex_udls 201309L
#if __cplusplus >= 202002L
#define __cpp_lib_constexpr_complex 201711L
#endif
#endif
#if defined _HATCH_CSTDDEF || defined _HATCH_VERSION
#if __cplusplus >= 201703L
#define __cpp_lib_byte 201603L
#endif
#endif
#if defined _HATCH_DEQUE || defined _HATCH_FORWARD_LIST || defined _HATCH_LIST || defined _HATCH_MAP || \
    defined _HATCH_MEMORY || defined _HATCH_SET || defined _HATCH_STRING || defined _HATCH_UNORDERED_MAP || \
    defined _HATCH_UNORDERED_SET || defined _HATCH_VECTOR || defined _HATCH_VERSION
#define __cpp_lib_allocator_traits_is_always_equal 201411L
#endif
#if defined _HATCH_DEQUE || defined _HATCH_FORWARD_LIST || defined _HATCH_LIST || defined _HATCH_MAP || \
    defined _HATCH_SET || defined _HATCH_STRING || defined _HATCH_UNORDERED_MAP || defined _HATCH_UNORDERED_SET || \
    defined _HATCH_VECTOR || defined _HATCH_VERSION
#if __cplusplus >= 202002L
#define __cpp_lib_erase_if 202002L
#endif
#endif
#if defined _HATCH_EXCEPTION || defined _HATCH_VERSION
#define __cpp_lib_uncaught_exceptions 201411L
#endif
#if defined _HATCH_FILESYSTEM || defined _HATCH_VERSION
#if __cplusplus >= 201703L
#define __cpp_lib_filesystem 201703L
#endif
#endif
#if defined _HATCH_FORWARD_LIST || defined _HATCH_LIST || defined _HATCH_VECTOR || defined _HATCH_VERSION
#define __cpp_lib_incomplete_container_elements 201505L
#endif
#if defined _HATCH_FUNCTIONAL || defined _HATCH_MEMORY || defined _HATCH_VERSION
#define __cpp_lib_transparent_operators 201510L
#endif
#if defined _HATCH_FUNCTIONAL || defined _HATCH_VERSION
#if __cplusplus >= 201703L
#define __cpp_lib_boyer_moore_searcher 201603L
#define __cpp_lib_invoke 201411L
#define __cpp_lib_not_fn 201603L
#endif
#endif
#if defined _HATCH_IOMANIP || defined _HATCH_VERSION
#define __cpp_lib_quoted_string_io 201304L
#endif
#if defined _HATCH_ITERATOR || defined _HATCH_VERSION
#define __cpp_lib_make_reverse_iterator 201402L
#define __cpp_lib_null_iterators 201304L
#if __cplusplus >= 202002L
#define __cpp_lib_ssize 201902L
#endif
#endif
#if defined _HATCH_MAP || defined _HATCH_SET || defined _HATCH_VERSION
#define __cpp_lib_generic_associative_lookup 201304L
#endif
#if defined _HATCH_MAP || defined _HATCH_VERSION
#if __cplusplus >= 201703L
#define __cpp_lib_map_try_emplace 201411L
#endif
#endif
#if defined _HATCH_MAP || defined _HATCH_SET || defined _HATCH_UNORDERED_MAP || defined _HATCH_UNORDERED_SET || \
    defined _HATCH_VERSION
#if __cplusplus >= 201703L
#define __cpp_lib_node_extract 201606L
#endif
#endif
#if defined _HATCH_MEMORY || defined _HATCH_VERSION
#define __cpp_lib_enable_shared_from_this 201603L
#define __cpp_lib_make_unique 201304L
#if __cplusplus < 202002L
#define __cpp_lib_shared_ptr_arrays 201611L
#endif
#if __cplusplus >= 201703L
#define __cpp_lib_raw_memory_algorithms 201606L
#define __cpp_lib_shared_ptr_weak_type 201606L
#endif
#if __cplusplus >= 202002L
#define __cpp_lib_shared_ptr_arrays 201707L
#endif
#endif
#if defined _HATCH_MUTEX || defined _HATCH_VERSION
#if __cplusplus >= 201703L
#define __cpp_lib_scoped_lock 201703L
#endif
#endif
#if defined _HATCH_NUMBERS || defined _HATCH_VERSION
#if __cplusplus >= 202002L
#define __cpp_lib_math_constants 201907L
#endif
#endif
#if defined _HATCH_NUMERIC || defined _HATCH_VERSION
#if __cplusplus >= 201703L
#define __cpp_lib_gcd 201606L
#define __cpp_lib_gcd_lcm 201606L
#define __cpp_lib_lcm 201606L
#endif
#if __cplusplus >= 202002L
#define __cpp_lib_constexpr_numeric 201911L
#endif
#endif
#if defined _HATCH_OPTIONAL || defined _HATCH_VERSION
#if __cplusplus >= 201703L && __cplusplus < 202002L
#define __cpp_lib_optional 201606L
#endif
#if __cplusplus >= 202002L
#define __cpp_lib_optional 202106L
#endif
#endif
#if defined _HATCH_SHARED_MUTEX || defined _HATCH_VERSION
#define __cpp_lib_shared_timed_mutex 201402L
#if __cplusplus >= 201703L
#define __cpp_lib_shared_mutex 201505L
#endif
#endif
#if defined _HATCH_SOURCE_LOCATION || defined _HATCH_VERSION
#if __cplusplus >= 202002L
#define __cpp_lib_source_location 201907L
#endif
#endif
#if defined _HATCH_SPAN || defined _HATCH_VERSION
#if __cplusplus >= 202002L
#define __cpp_lib_span 202002L
#endif
#endif
#if defined _HATCH_STRING || defined _HATCH_VERSION
#define __cpp_lib_string_udls 201304L
#if __cplusplus >= 201703L && __cplusplus < 202002L
#define __cpp_lib_constexpr_string 201611L
#endif
#if __cplusplus >= 202002L
#define __cpp_lib_constexpr_string 201907L
#endif
#endif
#if defined _HATCH_STRING || defined _HATCH_STRING_VIEW || defined _HATCH_VERSION
#include <hatch_cuda_kernels/cccl_version.h>
// Where libcu++ sees this macro, it has constructors for the host, which NVRTC refuses.
#if __cplusplus >= 201703L && !defined(_HATCH_CCCL_3_3)
#define __cpp_lib_string_view 201803L
#endif
#if __cplusplus >= 201703L && __cplusplus < 202002L
#define __cpp_lib_constexpr_char_traits 201611L
#endif
#if __cplusplus >= 202002L
#define __cpp_lib_constexpr_char_traits 201811L
#define __cpp_lib_starts_ends_with 201711L
#endif
#endif
#if defined _HATCH_STRING_VIEW || defined _HATCH_VERSION
#if __cplusplus >= 202002L
#define __cpp_lib_constexpr_string_view 201811L
#endif
#endif
#if defined _HATCH_TUPLE || defined _HATCH_VERSION
#if __cplusplus >= 201703L
#define __cpp_lib_apply 201603L
#define __cpp_lib_make_from_tuple 201606L
#endif
#if __cplusplus >= 202002L
#define __cpp_lib_constexpr_tuple 201811L
#endif
#endif
#if defined _HATCH_TYPE_TRAITS || defined _HATCH_VERSION
#define __cpp_lib_is_swappable 201603L
#define __cpp_lib_void_t 201411L
#endif
#if defined _HATCH_UNORDERED_MAP || defined _HATCH_VERSION
#if __cplusplus >= 201703L
#define __cpp_lib_unordered_map_try_emplace 201411L
#endif
#endif
#if defined _HATCH_VARIANT || defined _HATCH_VERSION
#if __cplusplus >= 201703L && __cplusplus < 202002L
#define __cpp_lib_variant 202102L
#endif
#if __cplusplus >= 202002L
#define __cpp_lib_variant 202106L
#endif
#endif
