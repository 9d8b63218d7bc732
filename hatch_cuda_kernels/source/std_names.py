"""Names of the C++ standard library, and the header that brings each: all that a header of ours, or libcu++, has.

To make the list anew: ask a host compiler which names of its library ``using`` takes, and NVRTC which header has each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["STD_NAMES", "STD_NAMES_OF_CPP20"]

#: Each header's name is followed by a colon, and each name of C++20 by a plus.
_STD: Final = """
algorithm: adjacent_find all_of any_of binary_search clamp copy copy_backward copy_if copy_n count count_if equal
equal_range fill fill_n find find_end find_first_of find_if find_if_not for_each for_each_n generate generate_n includes
inplace_merge is_heap is_heap_until is_partitioned is_permutation is_sorted is_sorted_until iter_swap
lexicographical_compare lower_bound make_heap max max_element merge min min_element minmax minmax_element mismatch
move_backward next_permutation none_of nth_element partial_sort partial_sort_copy partition partition_copy
partition_point pop_heap prev_permutation push_heap random_shuffle remove remove_copy remove_copy_if remove_if replace
replace_copy replace_copy_if replace_if reverse reverse_copy rotate rotate_copy sample search search_n set_difference
set_intersection set_symmetric_difference set_union shuffle sort sort_heap stable_partition stable_sort swap_ranges
transform unique unique_copy upper_bound
any: any any_cast bad_any_cast make_any
array: array to_array+
atomic: atomic atomic_bool atomic_char atomic_char16_t atomic_char32_t atomic_compare_exchange_strong
atomic_compare_exchange_strong_explicit atomic_compare_exchange_weak atomic_compare_exchange_weak_explicit
atomic_exchange atomic_exchange_explicit atomic_fetch_add atomic_fetch_add_explicit atomic_fetch_and
atomic_fetch_and_explicit atomic_fetch_or atomic_fetch_or_explicit atomic_fetch_sub atomic_fetch_sub_explicit
atomic_fetch_xor atomic_fetch_xor_explicit atomic_flag atomic_flag_clear atomic_flag_clear_explicit
atomic_flag_test_and_set atomic_flag_test_and_set_explicit atomic_int atomic_int16_t atomic_int32_t atomic_int64_t
atomic_int8_t atomic_int_fast16_t atomic_int_fast32_t atomic_int_fast64_t atomic_int_fast8_t atomic_int_least16_t
atomic_int_least32_t atomic_int_least64_t atomic_int_least8_t atomic_intmax_t atomic_intptr_t atomic_is_lock_free
atomic_llong atomic_load atomic_load_explicit atomic_long atomic_ptrdiff_t atomic_ref atomic_schar atomic_short
atomic_signal_fence atomic_size_t atomic_store atomic_store_explicit atomic_thread_fence atomic_uchar atomic_uint
atomic_uint16_t atomic_uint32_t atomic_uint64_t atomic_uint8_t atomic_uint_fast16_t atomic_uint_fast32_t
atomic_uint_fast64_t atomic_uint_fast8_t atomic_uint_least16_t atomic_uint_least32_t atomic_uint_least64_t
atomic_uint_least8_t atomic_uintmax_t atomic_uintptr_t atomic_ullong atomic_ulong atomic_ushort atomic_wchar_t
kill_dependency memory_order memory_order_acq_rel memory_order_acquire memory_order_consume memory_order_relaxed
memory_order_release memory_order_seq_cst
barrier: barrier
bit: bit_cast+ bit_ceil+ bit_floor+ bit_width+ countl_one+ countl_zero+ countr_one+ countr_zero+ endian+ has_single_bit+
popcount+ rotl+ rotr+
bitset: bitset
cctype: isalnum isalpha isblank iscntrl isdigit isgraph islower isprint ispunct isspace isupper isxdigit tolower toupper
cfenv: feclearexcept fegetenv fegetexceptflag fegetround feholdexcept fenv_t feraiseexcept fesetenv fesetexceptflag
fesetround fetestexcept feupdateenv fexcept_t
charconv: chars_format from_chars from_chars_result to_chars to_chars_result
chrono: chrono
clocale: lconv localeconv setlocale
cmath: abs acos acosh acoshf asin asinh asinhf atan atan2 atanh atanhf cbrt cbrtf ceil copysign copysignf cos cosh
double_t erf erfc erfcf erff exp exp2 exp2f expm1 expm1f fabs fabsf fdim fdimf float_t floor fma fmaf fmax fmaxf fmin
fminf fmod fpclassify frexp hypot hypotf ilogb ilogbf isfinite isgreater isgreaterequal isinf isless islessequal
islessgreater isnan isnormal isunordered ldexp lerp+ lgamma lgammaf llrint llrintf llround llroundf log log10 log1p
log1pf log2 log2f logb logbf lrint lrintf lround lroundf modf nan nanf nearbyint nearbyintf nextafter nextafterf pow
remainder remainderf remquo remquof rint rintf round roundf scalbln scalblnf scalbn scalbnf signbit sin sinh sqrt sqrtf
tan tanh tgamma tgammaf trunc truncf
codecvt: codecvt_mode codecvt_utf16 codecvt_utf8 codecvt_utf8_utf16 consume_header generate_header little_endian
compare: common_comparison_category+ common_comparison_category_t+ compare_three_way+ compare_three_way_result+
compare_three_way_result_t+ is_eq+ is_gt+ is_gteq+ is_lt+ is_lteq+ is_neq+ partial_ordering+ strong_ordering+
three_way_comparable+ weak_ordering+
complex: arg complex conj imag norm polar proj real
concepts: assignable_from+ common_with+ constructible_from+ convertible_to+ copy_constructible+ copyable+
default_initializable+ derived_from+ destructible+ equality_comparable+ equality_comparable_with+ floating_point+
integral+ invocable+ movable+ move_constructible+ predicate+ regular+ regular_invocable+ relation+ same_as+ semiregular+
signed_integral+ strict_weak_order+ totally_ordered+ totally_ordered_with+ unsigned_integral+
condition_variable: condition_variable condition_variable_any cv_status notify_all_at_thread_exit
csetjmp: jmp_buf longjmp
csignal: raise sig_atomic_t signal
cstdarg: va_list
cstddef: byte max_align_t nullptr_t ptrdiff_t size_t to_integer
cstdint: int16_t int32_t int64_t int8_t int_fast16_t int_fast32_t int_fast64_t int_fast8_t int_least16_t int_least32_t
int_least64_t int_least8_t intmax_t intptr_t uint16_t uint32_t uint64_t uint8_t uint_fast16_t uint_fast32_t
uint_fast64_t uint_fast8_t uint_least16_t uint_least32_t uint_least64_t uint_least8_t uintmax_t uintptr_t
cstdio: FILE clearerr fclose feof ferror fflush fgetc fgetpos fgets fopen fpos_t fprintf fputc fputs fread freopen
fscanf fseek fsetpos ftell fwrite getc getchar perror printf putc putchar puts rename rewind scanf setbuf setvbuf
snprintf sprintf sscanf tmpfile tmpnam ungetc vfprintf vfscanf vprintf vscanf vsnprintf vsprintf vsscanf
cstdlib: abort aligned_alloc at_quick_exit atexit atof atoi atol atoll bsearch calloc div div_t exit free getenv labs
ldiv ldiv_t llabs lldiv lldiv_t malloc mblen mbstowcs mbtowc qsort quick_exit rand realloc srand strtod strtof strtol
strtold strtoll strtoul strtoull system wcstombs wctomb
cstring: memchr memcmp memcpy memmove memset strcat strchr strcmp strcoll strcpy strcspn strerror strlen strncat strncmp
strncpy strpbrk strrchr strspn strstr strtok strxfrm
ctime: asctime clock clock_t ctime difftime gmtime localtime mktime strftime time time_t timespec timespec_get tm
cwchar: btowc mbrtowc mbsrtowcs mbstate_t swprintf wcrtomb wcscat wcschr wcscmp wcscpy wcslen wcsncmp wcsncpy wcsrchr
wcsrtombs wcsstr wcstod wcstok wcstol wcstoul wctob wmemcmp wmemcpy wmemmove wmemset wprintf
cwctype: iswalnum iswalpha iswblank iswcntrl iswdigit iswgraph iswlower iswprint iswpunct iswspace iswupper iswxdigit
towlower towupper wctype_t wint_t
deque: deque
exception: bad_exception current_exception exception exception_ptr get_terminate make_exception_ptr nested_exception
rethrow_exception rethrow_if_nested set_terminate terminate terminate_handler throw_with_nested uncaught_exception
uncaught_exceptions
expected: unexpected
filesystem: filesystem
forward_list: forward_list
fstream: basic_filebuf basic_fstream basic_ifstream basic_ofstream filebuf fstream ifstream ofstream wfilebuf wfstream
wifstream wofstream
functional: bad_function_call binary_function binary_negate bind bind1st bind2nd binder1st binder2nd bit_and bit_not
bit_or bit_xor cref divides equal_to function greater greater_equal hash identity+ invoke is_bind_expression
is_bind_expression_v is_placeholder is_placeholder_v less less_equal logical_and logical_not logical_or mem_fn minus
modulus multiplies negate not1 not2 not_equal_to not_fn placeholders plus ref reference_wrapper unary_function
unary_negate unwrap_reference+ unwrap_reference_t+
future: async future future_category future_errc future_error future_status launch packaged_task promise shared_future
initializer_list: initializer_list
iomanip: get_money get_time put_money put_time quoted resetiosflags setbase setfill setiosflags setprecision setw
ios: basic_ios boolalpha dec defaultfloat fixed fpos hex hexfloat internal ios ios_base left noboolalpha noshowbase
noshowpoint noshowpos noskipws nounitbuf nouppercase oct right scientific showbase showpoint showpos skipws streamoff
streampos streamsize u16streampos u32streampos unitbuf uppercase wios wstreampos
iostream: cerr cin clog cout endl flush wcerr wcin wclog wcout
istream: basic_iostream basic_istream iostream istream wiostream wistream ws
iterator: advance back_insert_iterator back_inserter begin bidirectional_iterator_tag cbegin cend
contiguous_iterator_tag+ crbegin crend data distance empty end forward_iterator_tag front_insert_iterator front_inserter
input_iterator_tag insert_iterator inserter istream_iterator istreambuf_iterator iter_difference_t+ iter_reference_t+
iter_value_t+ iterator iterator_traits make_move_iterator make_reverse_iterator move_iterator next ostream_iterator
ostreambuf_iterator output_iterator_tag prev random_access_iterator_tag rbegin rend reverse_iterator size ssize+
latch: latch
limits: denorm_absent denorm_indeterminate denorm_present float_denorm_style float_round_style numeric_limits
round_indeterminate round_to_nearest round_toward_infinity round_toward_neg_infinity round_toward_zero
list: list
locale: codecvt codecvt_byname collate collate_byname ctype ctype_base ctype_byname has_facet locale messages
messages_byname money_get money_put moneypunct moneypunct_byname num_get num_put numpunct numpunct_byname time_get
time_get_byname time_put time_put_byname use_facet wstring_convert
map: map multimap
memory: addressof align allocate_shared allocator allocator_arg allocator_arg_t allocator_traits assume_aligned+
bad_weak_ptr const_pointer_cast construct_at+ default_delete destroy destroy_at destroy_n dynamic_pointer_cast
enable_shared_from_this get_deleter make_shared make_unique owner_less pointer_traits reinterpret_pointer_cast
shared_ptr static_pointer_cast to_address+ uninitialized_copy uninitialized_copy_n uninitialized_default_construct
uninitialized_default_construct_n uninitialized_fill uninitialized_fill_n uninitialized_move
uninitialized_value_construct uninitialized_value_construct_n unique_ptr uses_allocator uses_allocator_v weak_ptr
mutex: adopt_lock adopt_lock_t call_once defer_lock defer_lock_t lock lock_guard mutex once_flag recursive_mutex
recursive_timed_mutex scoped_lock timed_mutex try_lock try_to_lock try_to_lock_t unique_lock
new: bad_alloc bad_array_new_length get_new_handler launder new_handler nothrow nothrow_t set_new_handler
numbers: numbers
numeric: accumulate adjacent_difference exclusive_scan gcd inclusive_scan inner_product iota lcm midpoint+ partial_sum
reduce transform_reduce
optional: bad_optional_access make_optional nullopt nullopt_t optional
ostream: basic_ostream ends ostream wostream
queue: priority_queue queue
random: bernoulli_distribution binomial_distribution cauchy_distribution chi_squared_distribution default_random_engine
discard_block_engine discrete_distribution exponential_distribution extreme_value_distribution fisher_f_distribution
gamma_distribution generate_canonical geometric_distribution knuth_b linear_congruential_engine lognormal_distribution
mersenne_twister_engine minstd_rand minstd_rand0 mt19937 mt19937_64 negative_binomial_distribution normal_distribution
piecewise_constant_distribution piecewise_linear_distribution poisson_distribution random_device ranlux24 ranlux24_base
ranlux48 ranlux48_base seed_seq shuffle_order_engine student_t_distribution subtract_with_carry_engine
uniform_int_distribution uniform_real_distribution weibull_distribution
ratio: atto centi deca deci exa femto giga hecto kilo mega micro milli nano peta pico ratio ratio_add ratio_divide
ratio_equal ratio_greater ratio_greater_equal ratio_less ratio_less_equal ratio_multiply ratio_not_equal ratio_subtract
tera
regex: basic_regex cmatch cregex_iterator cregex_token_iterator csub_match match_results regex regex_error
regex_iterator regex_match regex_replace regex_search regex_token_iterator regex_traits smatch sregex_iterator
sregex_token_iterator ssub_match sub_match wcmatch wcregex_iterator wcregex_token_iterator wcsub_match wregex wsmatch
wsregex_iterator wsregex_token_iterator wssub_match
semaphore: binary_semaphore counting_semaphore
set: multiset set
shared_mutex: shared_lock shared_mutex shared_timed_mutex
source_location: source_location
span: as_bytes+ as_writable_bytes+ dynamic_extent+ span+
sstream: basic_istringstream basic_ostringstream basic_stringbuf basic_stringstream istringstream ostringstream
stringbuf stringstream wistringstream wostringstream wstringbuf wstringstream
stack: stack
stdexcept: domain_error invalid_argument length_error logic_error out_of_range overflow_error range_error runtime_error
underflow_error
streambuf: basic_streambuf streambuf wstreambuf
string: basic_string char_traits getline stod stof stoi stol stold stoll stoul stoull string to_string to_wstring
u16string u32string u8string+ wstring
string_view: basic_string_view string_view u16string_view u32string_view u8string_view+ wstring_view
system_error: errc error_category error_code error_condition generic_category is_error_code_enum is_error_code_enum_v
is_error_condition_enum is_error_condition_enum_v make_error_code make_error_condition system_category system_error
thread: this_thread thread
tuple: apply forward_as_tuple get ignore make_from_tuple make_tuple tie tuple tuple_cat tuple_element tuple_element_t
tuple_size tuple_size_v
type_traits: add_const add_const_t add_cv add_cv_t add_lvalue_reference add_lvalue_reference_t add_pointer add_pointer_t
add_rvalue_reference add_rvalue_reference_t add_volatile add_volatile_t aligned_storage aligned_storage_t alignment_of
alignment_of_v bool_constant common_type common_type_t conditional conditional_t conjunction conjunction_v decay decay_t
disjunction disjunction_v enable_if enable_if_t extent extent_v false_type has_unique_object_representations
has_unique_object_representations_v has_virtual_destructor has_virtual_destructor_v integral_constant invoke_result
invoke_result_t is_abstract is_abstract_v is_aggregate is_aggregate_v is_arithmetic is_arithmetic_v is_array is_array_v
is_assignable is_assignable_v is_base_of is_base_of_v is_bounded_array+ is_bounded_array_v+ is_class is_class_v
is_compound is_compound_v is_const is_const_v is_constant_evaluated+ is_constructible is_constructible_v is_convertible
is_convertible_v is_copy_assignable is_copy_assignable_v is_copy_constructible is_copy_constructible_v
is_default_constructible is_default_constructible_v is_destructible is_destructible_v is_empty is_empty_v is_enum
is_enum_v is_final is_final_v is_floating_point is_floating_point_v is_function is_function_v is_fundamental
is_fundamental_v is_integral is_integral_v is_invocable is_invocable_r is_invocable_r_v is_invocable_v is_literal_type
is_literal_type_v is_lvalue_reference is_lvalue_reference_v is_member_function_pointer is_member_function_pointer_v
is_member_object_pointer is_member_object_pointer_v is_member_pointer is_member_pointer_v is_move_assignable
is_move_assignable_v is_move_constructible is_move_constructible_v is_nothrow_assignable is_nothrow_assignable_v
is_nothrow_constructible is_nothrow_constructible_v is_nothrow_copy_assignable is_nothrow_copy_assignable_v
is_nothrow_copy_constructible is_nothrow_copy_constructible_v is_nothrow_default_constructible
is_nothrow_default_constructible_v is_nothrow_destructible is_nothrow_destructible_v is_nothrow_invocable
is_nothrow_invocable_r is_nothrow_invocable_r_v is_nothrow_invocable_v is_nothrow_move_assignable
is_nothrow_move_assignable_v is_nothrow_move_constructible is_nothrow_move_constructible_v is_null_pointer
is_null_pointer_v is_object is_object_v is_pod is_pod_v is_pointer is_pointer_v is_polymorphic is_polymorphic_v
is_reference is_reference_v is_rvalue_reference is_rvalue_reference_v is_same is_same_v is_scalar is_scalar_v is_signed
is_signed_v is_standard_layout is_standard_layout_v is_trivial is_trivial_v is_trivially_assignable
is_trivially_assignable_v is_trivially_constructible is_trivially_constructible_v is_trivially_copy_assignable
is_trivially_copy_assignable_v is_trivially_copy_constructible is_trivially_copy_constructible_v is_trivially_copyable
is_trivially_copyable_v is_trivially_default_constructible is_trivially_default_constructible_v
is_trivially_destructible is_trivially_destructible_v is_trivially_move_assignable is_trivially_move_assignable_v
is_trivially_move_constructible is_trivially_move_constructible_v is_unbounded_array+ is_unbounded_array_v+ is_union
is_union_v is_unsigned is_unsigned_v is_void is_void_v is_volatile is_volatile_v make_signed make_signed_t make_unsigned
make_unsigned_t negation negation_v rank rank_v remove_all_extents remove_all_extents_t remove_const remove_const_t
remove_cv remove_cv_t remove_cvref+ remove_cvref_t+ remove_extent remove_extent_t remove_pointer remove_pointer_t
remove_reference remove_reference_t remove_volatile remove_volatile_t result_of result_of_t true_type type_identity+
type_identity_t+ underlying_type underlying_type_t void_t
typeindex: type_index
typeinfo: bad_cast bad_typeid type_info
unordered_map: unordered_map unordered_multimap
unordered_set: unordered_multiset unordered_set
utility: as_const cmp_equal+ cmp_greater+ cmp_greater_equal+ cmp_less+ cmp_less_equal+ cmp_not_equal+ declval exchange
forward in_place in_place_index in_place_index_t in_place_t in_place_type in_place_type_t in_range+ index_sequence
index_sequence_for integer_sequence is_nothrow_swappable is_nothrow_swappable_v is_nothrow_swappable_with
is_nothrow_swappable_with_v is_swappable is_swappable_v is_swappable_with is_swappable_with_v make_index_sequence
make_integer_sequence make_pair move move_if_noexcept pair piecewise_construct piecewise_construct_t swap swappable+
valarray: gslice slice valarray
variant: get_if holds_alternative monostate variant variant_alternative variant_alternative_t variant_npos variant_size
variant_size_v visit
vector: erase+ erase_if+ vector
"""


def _by_name() -> Iterator[tuple[str, str]]:
    header = ""
    for word in _STD.split():
        if word.endswith(":"):
            header = word[:-1]
        else:
            yield word.removesuffix("+"), header


#: The header of each name.
STD_NAMES: Final = dict(_by_name())
#: Those that no older standard has.
STD_NAMES_OF_CPP20: Final = frozenset(word[:-1] for word in _STD.split() if word.endswith("+"))
