#include <stdalign.h>
#include <stdbool.h>
#include <stdnoreturn.h>
#include <type_traits>

#define CHECK(...) static_assert((__VA_ARGS__), "")
#define SAME(a, ...) static_assert(std::is_same<a, __VA_ARGS__>::value, #__VA_ARGS__)

struct Base {
    __device__ virtual ~Base();
    int member;
    __device__ int method(int) const;
};
struct Derived : Base {};
enum Plain { plain };
enum class Scoped : short { scoped };
union Either {
    int i;
    float f;
};
struct Last final {};
typedef int (Base::*Method)(int) const;

// C's words, as g++ has them: C++ has most of its own, and noreturn is none.
SAME(_Bool, bool);
CHECK(__bool_true_false_are_defined);
struct alignas(16) Aligned {};
CHECK(alignof(Aligned) == 16);
[[noreturn]] __device__ void noreturn();

CHECK(std::is_same<int, int>::value && !std::is_same<int, long>::value && std::is_void<const void>::value);
CHECK(std::is_integral<char>::value && std::is_integral<const bool>::value && !std::is_integral<float>::value);
CHECK(std::is_floating_point<const double>::value && std::is_arithmetic<long>::value && !std::is_arithmetic<Plain>::value);
CHECK(std::is_array<int[]>::value && std::is_pointer<int* const>::value && !std::is_pointer<int>::value);
CHECK(std::is_lvalue_reference<int&>::value && std::is_rvalue_reference<int&&>::value && !std::is_reference<int>::value);
CHECK(std::is_member_pointer<int Base::*>::value && std::is_member_function_pointer<Method>::value);
CHECK(std::is_member_object_pointer<int Base::*>::value && !std::is_member_object_pointer<Method>::value);
CHECK(std::is_enum<Plain>::value && std::is_union<Either>::value && std::is_class<Base>::value && !std::is_class<Either>::value);
CHECK(std::is_signed<int>::value && std::is_signed<float>::value && std::is_unsigned<unsigned>::value);
CHECK(!std::is_unsigned<float>::value && !std::is_signed<Base>::value && std::is_scalar<Plain>::value);
CHECK(std::is_const<const int>::value && std::is_volatile<volatile int>::value && std::is_function<void(int)>::value);
CHECK(std::is_null_pointer<decltype(nullptr)>::value && std::is_fundamental<void>::value && std::is_compound<int*>::value);
CHECK(std::is_trivially_copyable<Either>::value && std::is_standard_layout<Either>::value && std::is_empty<Last>::value);
CHECK(std::is_final<Last>::value && std::is_polymorphic<Base>::value && std::has_virtual_destructor<Base>::value);
CHECK(std::is_base_of<Base, Derived>::value && !std::is_base_of<Derived, Base>::value);
CHECK(std::is_convertible<Derived*, Base*>::value && !std::is_convertible<Base*, Derived*>::value);
CHECK(std::is_constructible<int, float>::value && std::is_default_constructible<int>::value);
CHECK(std::is_copy_constructible<Base>::value && std::is_nothrow_move_constructible<int>::value);
CHECK(std::is_assignable<int&, float>::value && !std::is_assignable<int, float>::value);
CHECK(std::is_trivially_destructible<int>::value && std::is_destructible<Base>::value);
CHECK(std::rank<int[2][3]>::value == 2 && std::extent<int[2][3], 1>::value == 3 && std::extent<int[2][3]>::value == 2);
CHECK(std::alignment_of<double>::value == 8 && sizeof(std::aligned_storage_t<24, 8>) == 24);
CHECK(std::integral_constant<int, 3>() == 3 && std::true_type::value && !std::false_type());

SAME(std::make_unsigned<int>::type, unsigned);
SAME(std::make_signed_t<unsigned long>, long);
SAME(std::make_unsigned_t<const char>, const unsigned char);
SAME(std::make_unsigned_t<Scoped>, unsigned short);
SAME(std::common_type<int, float, double>::type, double);
SAME(std::common_type_t<const int&>, int);
SAME(std::common_type_t<Base*, Derived*>, Base*);
SAME(std::decay_t<int (&)[3]>, int*);
SAME(std::decay_t<void()>, void (*)());
SAME(std::decay_t<const int&>, int);
SAME(std::underlying_type_t<Scoped>, short);
SAME(std::remove_cv_t<const volatile int>, int);
SAME(std::remove_reference_t<int&&>, int);
SAME(std::remove_pointer_t<int* const>, int);
SAME(std::remove_all_extents_t<int[2][3]>, int);
SAME(std::add_pointer_t<int&>, int*);
SAME(std::add_pointer_t<void>, void*);
SAME(std::add_lvalue_reference_t<void>, void);
SAME(std::conditional_t<true, int, float>, int);
SAME(std::result_of_t<int (*(float))(float)>, int);
SAME(decltype(std::declval<int&>()), int&);

#if __cplusplus >= 201703L
CHECK(std::is_same_v<int, int> && std::is_integral_v<int> && std::rank_v<int[1]> == 1 && std::extent_v<int[7]> == 7);
CHECK(std::is_invocable_v<int (*)(float), int> && !std::is_invocable_v<int, int>);
CHECK(std::is_invocable_v<int Base::*, Base> && std::is_invocable_v<int Base::*, Base*> && !std::is_invocable_v<int Base::*, int>);
CHECK(std::is_invocable_v<Method, Base*, int> && !std::is_invocable_v<Method, Base*, Base>);
CHECK(std::is_invocable_r_v<void, int (*)()> && !std::is_invocable_r_v<int*, int (*)()>);
CHECK(std::conjunction_v<std::is_same<int, int>, std::true_type> && !std::disjunction_v<> && std::negation_v<std::false_type>);
CHECK(std::bool_constant<true>::value && std::is_aggregate_v<Either>);
SAME(std::invoke_result_t<int Base::*, Base&>, int&);
SAME(std::void_t<int, float>, void);
#endif
#if __cplusplus >= 202002L
CHECK(std::is_bounded_array_v<int[3]> && std::is_unbounded_array_v<int[]>);
SAME(std::remove_cvref_t<const int&>, int);
SAME(std::type_identity_t<int>, int);
#endif

// People say of types of theirs what they are; the _v form and the other traits follow.
struct Number {};
template <>
struct std::is_floating_point<Number> : std::true_type {};
CHECK(std::is_arithmetic<Number>::value);
#if __cplusplus >= 201703L
CHECK(std::is_floating_point_v<Number> && std::is_arithmetic_v<Number>);
#endif

template <class T, std::enable_if_t<std::is_integral<T>::value, int> = 0>
__device__ T half(T x) {
    return x >> 1;
}
template <class T, std::enable_if_t<std::is_floating_point<T>::value, int> = 0>
__device__ T half(T x) {
    return x / 2;
}
extern "C" __global__ void kernel(float* x, int* i) {
    *x = half(*x);
    *i = half(*i);
}
