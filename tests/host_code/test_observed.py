"""Host functions without a call: what device code tells of them is what it is to nvcc, and no call goes elsewhere."""

from __future__ import annotations

import re

import pytest
from raw_nvrtc import compile_raw

from hatch_cuda_kernels import CompileError, compile_to_cubin
from hatch_cuda_kernels.host_code.closures import without_host_code
from hatch_cuda_kernels.includes import read_closure
from hatch_cuda_kernels.options import NvrtcOptions

DETECTED = """
template <class T> T&& made();
template <class T, class = void> struct Has { static constexpr int value = 7; };
template <class T> struct Has<T, decltype((void)EXPRESSION)> { static constexpr int value = 8; };
"""
STORED = "__global__ void k(int* p) { *p = VALUE; }"

#: A source, the expression that its kernel stores, and the constant that nvcc makes of it.
OBSERVED = {
    "a member": (
        f"struct S {{ int n; int size() const {{ return n; }} }};{DETECTED}", "made<T>().size()", "Has<S>::value", 8
    ),
    "a member by its address": (
        f"struct S {{ int n; int rows() const {{ return n; }} }};{DETECTED}", "&T::rows", "Has<S>::value", 8
    ),
    "a function": (
        f"struct S {{ int n; }}; int area(S s) {{ return s.n; }}{DETECTED}", "area(made<T>())", "Has<S>::value", 8
    ),
    "an operator": (
        f"struct S {{ bool operator==(const S& o) const {{ return &o == this; }} }};{DETECTED}",
        "(made<T>() == made<T>())", "Has<S>::value", 8,
    ),
    "a conversion": (
        "struct S { operator int() const { return 1; } }; S made(); __device__ char is(int); __device__ int is(...);",
        "", "sizeof(is(made()))", 1,
    ),
    "an overload": (
        "struct Two { char c[2]; }; Two test(int) { return {}; } __device__ char test(double) { return 0; }",
        "", "sizeof(test(1))", 2,
    ),
    "a type behind the name": (
        f"struct S {{ auto rows() const -> int {{ return 1; }} }};{DETECTED}", "made<T>().rows()", "Has<S>::value", 8
    ),
    "a type that the body tells": (
        f"struct S {{ auto rows() const {{ return 1; }} }};{DETECTED}", "made<T>().rows()", "Has<S>::value", 8
    ),
    "a template for some types": (
        "template <bool B> struct If {}; template <> struct If<true> { typedef int type; }; struct S { int n; };"
        "template <class T, class = typename If<(sizeof(T) > 2)>::type> int rank(const T&) { return 1; }"
        + DETECTED, "rank(made<T>())", "Has<S>::value + 10 * Has<char>::value", 78
    ),
    "by a macro": (
        "struct S { typedef int N; using M = N; M rows(M a) { return a; } };"
        "#define TYPE(x) decltype((void)x)\n#define ASK(x) TYPE(made<T>().x)\n"
        + DETECTED.replace("decltype((void)EXPRESSION)", "ASK(rows(1))"),
        "", "Has<S>::value", 8,
    ),
    "a type of the host's": (
        f"struct S {{ int n; Tensor size() const {{ return n; }} }};{DETECTED}", "made<T>().size()", "Has<S>::value", 7
    ),
}  # fmt: skip


def kept(tmp_path, text):
    """Return what is left of a text, with the headers of its closure."""
    (tmp_path / "k.cu").write_text(text)
    return without_host_code(read_closure(tmp_path, "k.cu"))


@pytest.mark.parametrize("case", OBSERVED)
def test_what_is_asked_of_host_functions_is_answered_as_by_nvcc(tmp_path, case):
    """Their bodies go, and their heads tell; a head with types that NVRTC does not know cannot stay."""
    text, expression, value, wanted = OBSERVED[case]
    text = text.replace("EXPRESSION", expression).replace("#define", "\n#define")
    closure = kept(tmp_path, f"{text}\n{STORED.replace('VALUE', value)}\nvoid run(int* p) {{ k<<<1, 1>>>(p); }}\n")
    made = compile_raw(closure.source, headers=closure.headers)
    assert made.ok, made.log
    assert re.findall(r"mov\.u32 \s*%r1, (\d+);", made.ptx) == [str(wanted)]


CONCEPT = """
struct S { int n; int rows() const { return n; } };
template <class T> concept Sized = requires(T t) { t.rows(); };
__global__ void k(int* p) { if constexpr (Sized<S>) *p = 8; else *p = 7; }
"""


def test_a_function_whose_type_only_the_hosts_code_tells_is_refused(tmp_path):
    """Left out, or declared without its body, it would be detected as missing, without a word."""
    text = f"int host_rows(); struct S {{ int n; auto data() {{ return host_rows(); }} }};{DETECTED}"
    text = text.replace("EXPRESSION", "made<T>().data()") + STORED.replace("VALUE", "Has<S>::value")
    (tmp_path / "k.cu").write_text(text)
    closure = without_host_code(read_closure(tmp_path, "k.cu"))
    made = compile_raw(closure.source, "--std=c++17", headers=closure.headers)
    assert 'identifier "host_rows" is undefined' in made.log


def test_a_concept_is_what_it_is_to_nvcc(tmp_path):
    """Its requirements count as what is asked."""
    made = compile_raw(kept(tmp_path, CONCEPT).source, "--std=c++20")
    assert made.ok, made.log
    assert "mov.u32 \t%r1, 8;" in made.ptx


ELSEWHERE = {
    "a member's overload": (
        "struct S { int f(float x) { return 1; } __device__ int f(double x) { return 2; } };", "S().f(1.0f)"
    ),
    "a base's member": (
        "struct B { __device__ int f() { return 1; } }; struct D : B { int f() { return 2; } };", "D().f()"
    ),
    "a default argument": (
        "int f(float x, int n = 0) { return 1; } __device__ int f(double x) { return 2; }", "f(1.0f)"
    ),
    "an outer namespace": (
        "__device__ int f(int) { return 1; } namespace a { int f(long) {} __device__ int g() { return f(0); }}",
        "a::g()",
    ),
    "the toolkit's": (
        "namespace a { float max(float a, float b) { return 1; } __device__ float g() { return max(1.0f, 2.0f); } }",
        "a::g()"
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", ELSEWHERE)
def test_no_call_goes_to_another_function(case):
    """As with nvcc, it is refused; the message has the place of what lacks a mark."""
    functions, value = ELSEWHERE[case]
    text = f"{functions}\n{STORED.replace('VALUE', value)}\nvoid run(int* p) {{ k<<<1, 1>>>(p); }}\n"
    with pytest.raises(CompileError, match=r"\(source.cu:1\) was left out as host code.*mark it __device__"):
        compile_to_cubin(text, arch="sm_80", use_cache=False, options=NvrtcOptions())
