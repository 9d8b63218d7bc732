"""The instances that ``port`` drafts: from launches, and from the uses of the templates that launches stand in."""

from __future__ import annotations

import pytest

from hatch_cuda_kernels.arch import SmArch
from hatch_cuda_kernels.manifest import parse_manifest
from hatch_cuda_kernels.port import port

ARCH = SmArch.parse("sm_80")
KERNEL = "template <typename T, int N = 1> __global__ void k(T* p, const T v) { p[N] = v; }\n"
LAUNCHER = "template <typename T> void run(T* p, int n) { k<T><<<n, 1>>>(p, T(1)); }\n"

CALLED = (
    "template <class T> struct W { T* p; }; template <class T> W<T> make(int n) { return {}; }\n"
    "void f() { auto w = make<int>(1); k<<<1, 1>>>(w, 1); }"
)
RECURSION = "template <class T> void f(T* p) { f<T>(p); k<T><<<1, 1>>>(p, 1); }"
NOTHING = "void f(P p) { k<<<1, 1>>>(p, 1.0); }"
DEPENDENT = "template <class M> void f(M* m) { k<typename M::type><<<1, 1>>>(m->p, 1); }"
GUESSED = (RECURSION, NOTHING, DEPENDENT, CALLED)

CASES = {
    "a launch": ("void f(float* p) { k<float, 2><<<1, 1>>>(p, 1); }", ["k<float, 2>"]),
    "a launch with blanks": ("void f(float* p) { k << <1, (2 >> 1) >> > (p, 1); }", ["k<float>"]),
    "a call of what launches": (
        LAUNCHER + "void f(float* p, double* q) { run<float>(p, 1); run<double>(q, 1); }",
        ["k<float>", "k<double>"],
    ),
    "an explicit instance": (LAUNCHER + "template void run<unsigned char>(unsigned char*, int);", ["k<unsigned char>"]),
    "an instance whose arguments are deduced": (LAUNCHER + "template void run(short* p, int n);", ["k<short>"]),
    "a call of what calls": (
        LAUNCHER + "template <class U> void outer(U* u) { run<U>(u, 2); }\nvoid f(int* p) { outer<int>(p); }",
        ["k<int>"],
    ),
    "a class": (
        (
            "template <class T> struct S { void go(T* p) { k<T><<<1, 1>>>(p, 0); } void out(T* p); };\n"
            "template <class TF> void S<TF>::out(TF* p) { k<TF, 3><<<1, 1>>>(p, 0); }\n"
            "template struct S<float>;"
        ),
        ["k<float>", "k<float, 3>"],
    ),
    "a function's own constants": (
        "void f(float* p) { constexpr int m = 4; const int n = m * 2; using F = float; k<F, n><<<1, 1>>>(p, 1); }",
        ["k<float, 4 * 2>"],
    ),
    "an object whose functions are constants": (
        (
            "template <int A> struct P { __host__ __device__ constexpr int n() const { return A * 2; } };\n"
            "template <int A> void run(float* p) { constexpr P<A> props; k<float, props.n() / 2><<<1, 1>>>(p, 1); }\n"
            "void f(float* p) { run<3>(p); }"
        ),
        ["k<float, P<3>{}.n() / 2>"],
    ),
    "arguments that say it": ("void f(const int n, float* p) { double* d = g(); k<<<n, 1>>>(d, 1.0); }", ["k<double>"]),
    "a cast": ("void f(void* p) { k<<<1, 1>>>(static_cast<float*>(p), 1.0f); }", ["k<float>"]),
    "types of arguments that are templates": (
        (
            "namespace a { template <class T, int N> struct Wrap { T* p; };\n"
            "template <class W, class T, int N> __global__ void own(W w, Wrap<T, N> v) { v.p[0] = w.p[0]; } }\n"
            "void g(int w) {}\nvoid f(Data in) { a::Wrap<const float, 2> w(in); auto v = a::Wrap<int, 1>{in};\n"
            "  a::own<<<1, 1>>>(w, v); }\n"
            "void h(short* p) { auto q = p; k<<<1, 1>>>(q, 1); }"
        ),
        ["k<short>", "a::own<a::Wrap<const float, 2>, int, 1>"],
    ),
    "arguments that say what is not spelled": (
        (
            "enum class Mode { UP, DOWN };\n"
            "template <class F, Mode M, class T> __global__ void own(T* p, const F* f) { *p = *f; }\n"
            "template <class T> void run(void* p) { T q[4]; const T* r; own<T, Mode::UP><<<1, 1>>>(q, r);\n"
            "  own<float, Mode::DOWN><<<1, 1>>>((T*)p, (float*)p); k<float><<<1, 1>>>(p, 1); }\n"
            "void f() { run<int>(nullptr); }"
        ),
        ["k<float>", "own<int, Mode::UP, int>", "own<float, Mode::DOWN, int>"],
    ),
    "a name that another function declares": (
        "void g(double* p);\nfloat* p;\nvoid h() { int* p; }\nvoid f() { k<<<1, 1>>>(p, 1); }",
        ["k<float>"],
    ),
    "a pointer to what is constant": (
        (
            "template <class T> __global__ void read(T* p, int* q) { *q = p[0]; }\n"
            "void f(const float* p, float const* q, float* const r, int* s) {\n"
            "  read<<<1, 1>>>(p, s); read<<<1, 1>>>(q, s); read<<<1, 1>>>(r, s); k<int><<<1, 1>>>(s, 1); }"
        ),
        ["k<int>", "read<const float>", "read<float>"],
    ),
    "dispatched types": (
        (
            "template <class T> void run(T* p) { k<T><<<1, 1>>>(p, 1); }\nvoid f(Tensor x) {\n"
            '  AT_DISPATCH_FLOATING_TYPES(x.type(), "f", [&] { run<scalar_t>(x.data_ptr<scalar_t>()); });\n}'
        ),
        ["k<float>", "k<double>"],
    ),
    "a call whose arguments say it": (
        LAUNCHER + "void f(void* p) { run((float*)p, 1); double* q = nullptr; run(q, 2); }",
        ["k<float>", "k<double>"],
    ),
    "a call through another function": (
        (
            "template <class F, class... A> void start(F f, A... a);\n"
            "template <class T> void run(T* p) { start(k<T, 2>, p, T(1)); }\nvoid f(int* p) { run(p); }"
        ),
        ["k<int, 2>"],
    ),
    "recursion": (RECURSION, ["k<float>"]),
    "what a function returns": (CALLED, ["k<float>"]),
    "what nothing says": (NOTHING, ["k<float>"]),
    "what depends on a class": (DEPENDENT, ["k<float>"]),
    "comments among the arguments": (
        (
            "#define LAUNCH(T, N) k<T, N><<<1, 1>>>(p, 1) // , N\n"
            "void f(P p) { k</*a, b*/ float, 2><<<1, 1>>>(p, 1); LAUNCH(/*type, a*/ int, 3 /* , */); }"
        ),
        ["k<float, 2>", "k<int, 3>"],
    ),
    "a macro that launches": (
        (
            "#define LAUNCH(N) case N: k<T, N><<<1, 1>>>(p, v); break\n"
            "template <class T> void run(T* p, T v, int n) { switch (n) { LAUNCH(4); LAUNCH(8); } }\n"
            "#define MAKE(TYPE) template void run<TYPE>(TYPE*, TYPE, int)\nMAKE(int); MAKE(double);"
        ),
        ["k<int, 4>", "k<double, 4>", "k<int, 8>", "k<double, 8>"],
    ),
    "a project's own dispatch": (
        (
            "#define CASE(WHICH, TYPE, ...) case WHICH: { using scalar = TYPE; __VA_ARGS__(); break; }\n"
            "#define DISPATCH_ALL(x, ...) switch (x) { CASE(0, float, __VA_ARGS__) CASE(1, short, __VA_ARGS__) }\n"
            "void f(Tensor x) { DISPATCH_ALL(x.type(), [&] { const int n = 3; k<scalar, n><<<1, 1>>>(x.p, 1); }); }"
        ),
        ["k<float, 3>", "k<short, 3>"],
    ),
    "a macro without parameters behind constants": (
        (
            "#define GO auto run = k<float, WIDTH>; run<<<1, 1>>>(p, 1);\n"
            "void f(float* p, int n) { if (n) { constexpr int WIDTH = 2; GO } else { constexpr int WIDTH = 4; GO } }"
        ),
        ["k<float, 2>", "k<float, 4>"],
    ),
    "a type of the kernel's namespace": (
        (
            "namespace a { struct P { int x; }; namespace b {\n"
            "template <class T> __global__ void own(T* p) { p->x = 1; }\n"
            "void f(P* p) { own<P><<<1, 1>>>(p); } } }\nvoid g(int* p) { k<int><<<1, 1>>>(p, 1); }"
        ),
        ["k<int>", "a::b::own<a::P>"],
    ),
    "an enumerator of a namespace that others have part of": (
        (
            "namespace a { namespace cuda { enum class D { ONE }; }\n"
            "template <cuda::D d> __global__ void own(int* p) { *p = int(d); } }\nnamespace cuda {}\n"
            "using namespace a;\nnamespace a { void h(int* p) { own<cuda::D::ONE><<<1, 1>>>(p); } }\n"
            "void g(int* p) { k<int><<<1, 1>>>(p, 1); }"
        ),
        ["k<int>", "a::own<a::cuda::D::ONE>"],
    ),
    "enumerators of the kernel's namespace": (
        (
            "namespace a { enum E : int {\n FIRST, // 0\n SECOND,\n}; enum class C { FIRST, LAST };\n"
            "template <E e, C c> __global__ void own(int* p) { *p = int(e) + int(c); }\n"
            "template <E e> void run(int* p) { own<e, C::LAST><<<1, 1>>>(p); }\n"
            "void f(int* p) { run<SECOND>(p); } }\nvoid g(int* p) { k<int, a::FIRST><<<1, 1>>>(p, 1); }"
        ),
        ["k<int, a::FIRST>", "a::own<a::SECOND, a::C::LAST>"],
    ),
    "overloads": (
        (
            "namespace a { struct D {}; template <class T> struct Pair { T x, y; };\n"
            "template <class T> __global__ void own(D d, T* p, const T v);\n"
            "template <class T> __global__ void own(D d, Pair<T>* p, const Pair<T> v) { *p = v; }\n"
            "template <class U> __global__ void own(D d, U* q, const U w) { *q = w; }\n"
            "template <class T> void run(T* p) { own<<<1, 1>>>(D(), p, p[0]); }\n"
            "void f(int* p, Pair<float>* q, Pair<float> v) { run(p); own<float><<<1, 1>>>(D(), q, v); } }\n"
            "void g(int* p) { k<int><<<1, 1>>>(p, 1); }"
        ),
        [
            "k<int>",
            "(void (*)(a::D, int*, const int)) a::own<int>",
            "(void (*)(a::D, a::Pair<float>*, const a::Pair<float>)) a::own<float>",
        ],
    ),
    "overloads that no argument tells apart": (
        (
            "template <class T, int N> __global__ void own(T* p) { p[N] = 0; }\n"
            "template <class T> __global__ void own(T* p, int n) { p[n] = 0; }\n"
            "void f(P p) { own<int, 2><<<1, 1>>>(p.x); k<int><<<1, 1>>>(p.x, 1); }"
        ),
        ["k<int>", "own<int, 2>"],
    ),
    "a comma in a comment among a template's parameters": (
        (
            "template <class T /* of p, not of v */, int N // one, or two\n> __global__ void own(T* p) { *p = N; }\n"
            "void f(int* p) { own<int, 2><<<1, 1>>>(p); k<int><<<1, 1>>>(p, 1); }"
        ),
        ["k<int>", "own<int, 2>"],
    ),
    "a project's own cases of Torch's dispatch": (
        (
            "#define CASES(...) AT_DISPATCH_CASE(at::ScalarType::Float, __VA_ARGS__) "
            "AT_DISPATCH_CASE(at::ScalarType::BFloat16, __VA_ARGS__)\n"
            "#define OWN_TYPES(TYPE, NAME, ...) AT_DISPATCH_SWITCH(TYPE, NAME, CASES(__VA_ARGS__))\n"
            "template <class T> void run(Tensor x) { k<T, 3><<<1, 1>>>(x.data_ptr<T>(), T(1)); }\n"
            'void f(Tensor x) { OWN_TYPES(x.type(), "f", [&] { run<scalar_t>(x); k<scalar_t><<<1, 1>>>(0, 1); });\n'
            '  AT_DISPATCH_SWITCH(x.type(), "g", AT_DISPATCH_CASE_FLOATING_TYPES([&] { run<scalar_t>(x); })); }'
        ),
        ["k<float, 3>", "k<c10::BFloat16, 3>", "k<double, 3>", "k<float>", "k<c10::BFloat16>"],
    ),
    "a launch by a call": (
        (
            "void f(float* p) { void* args[] = {&p}; cudaLaunchKernel((const void*)k<float, 2>, 1, 1, args, 0, 0);\n"
            "  auto kernel = &k<double>; kernel<<<1, 1>>>(nullptr, 1); }"
        ),
        ["k<float, 2>", "k<double>"],
    ),
    "a function's own enumeration": (
        "void f(float* p) { enum { WIDE = 4 }; (k<float, WIDE>)<<<1, 1>>>(p, 1); }",
        ["k<float, 4>"],
    ),
    "generic lambdas": (
        (
            "template <int N> struct Num { static constexpr int value = N; };\n"
            "#define ONE(f, T) f(T{}); break;\n"
            "#define TWO(f, T, U) case 0: ONE(f, T) case 1: ONE(f, U)\n#define PASTE(a, b) a##b\n"
            "#define EACH(x, f) switch (x) { PASTE(TW, O)(f, float, short) }\n"
            "void f(void* p, int x) { auto go = [&](auto t) { using T = decltype(t); k<T><<<1, 1>>>((T*)p, 1); };\n"
            "  EACH(x, go)\n  auto more = [&](auto t, int, const auto& n) {\n"
            "    if (x) { k<decltype(t), n.value><<<1, 1>>>(nullptr, 1); } };\n"
            "  more(double{}, 1, Num<2>{}); more(int(), 1, Num<4>()); auto other = [](auto t) {}; other(char{}); }"
        ),
        ["k<float>", "k<short>", "k<double, Num<2>{}.value>", "k<int, Num<4>{}.value>"],
    ),
    "generic lambdas that take a type by its whole name": (
        (
            "namespace a { struct Half { short bits; Half(int n); }; }\n"
            "template <class T> __global__ void own(T* p) {}\n"
            "void f() { auto go = [](auto t) { own<decltype(t)><<<1, 1>>>(nullptr); }; go(::a::Half{}); }\n"
            "void g(int* p) { k<int><<<1, 1>>>(p, 1); }"
        ),
        ["k<int>", "own<::a::Half>"],
    ),
    "Torch's sums": (
        (
            'void f(Tensor x) { AT_DISPATCH_FLOATING_TYPES(x.type(), "f", [&] {\n'
            "  using sum_t = at::acc_type<scalar_t, true>; k<sum_t, sizeof(scalar_t)><<<1, 1>>>(x.p, 1);\n"
            "  using more_t = typename at::opmath_type<scalar_t>; k<more_t, 1><<<1, 1>>>(x.p, 1); }); }"
        ),
        ["k<float, sizeof(float)>", "k<double, sizeof(double)>", "k<float, 1>", "k<double, 1>"],
    ),
}


@pytest.mark.parametrize(("host", "instances"), CASES.values(), ids=CASES.keys())
def test_instances_follow_from_the_sources(tmp_path, host, instances):
    """What is drafted is listed, and compiles."""
    (tmp_path / "k.cu").write_text(f"{KERNEL}{host}\n")
    ported = port(tmp_path, ["k.cu"], arch=ARCH)
    (module,) = parse_manifest(ported.manifest, root=tmp_path).modules
    assert [name.text for name in module.instances] == instances
    assert ("list its instances" in ported.manifest) is (host in GUESSED)
    assert ("k<float> is a guess" in ported.manifest) is (host in GUESSED)


@pytest.mark.slow
def test_an_instance_that_nvrtc_refuses_is_left_out(tmp_path):
    """It is named with the reason; the others stay, of a pattern too."""
    checked = 'template <class T> __global__ void c(T* p) { static_assert(sizeof(T) > 4, "too small"); p[0] = 0; }\n'
    host = (
        'void f(Tensor x) { AT_DISPATCH_FLOATING_TYPES(x.type(), "f", [&] { c<scalar_t><<<1, 1>>>(nullptr); });\n'
        "  k<Unknown><<<1, 1>>>(nullptr, 1); k<int><<<1, 1>>>(nullptr, 1); }\n"
    )
    (tmp_path / "k.cu").write_text(KERNEL + checked + host)
    ported = port(tmp_path, ["k.cu"], arch=ARCH)
    (module,) = parse_manifest(ported.manifest, root=tmp_path).modules
    assert [name.text for name in module.instances] == ["k<int>", "c<double>"]
    assert "# c<float> is left out: " in ported.manifest
    assert "# k<Unknown> is left out: " in ported.manifest


@pytest.mark.slow
def test_what_is_left_out_is_told_of_its_own_module_and_once(tmp_path):
    """Of many instances that are refused for one reason, the first are named."""
    (tmp_path / "k.cu").write_text(KERNEL + "void f() { k<int><<<1, 1>>>(nullptr, 1); }\n")
    small = 'template <int N> __global__ void c(int* p) { static_assert(N > 9, "too small"); *p = N; }\n'
    launches = "".join(f"c<{number}><<<1, 1>>>(nullptr); " for number in range(3, 12))
    (tmp_path / "c.cu").write_text(f"{small}void f() {{ {launches}}}\n")
    first, second = port(tmp_path, ["k.cu", "c.cu"], arch=ARCH).modules
    assert first.open_ends == ()
    assert second.stated["instances"] == ["c<10>", "c<11>"]
    assert [end.partition(":")[0] for end in second.open_ends] == [
        *(f"c<{number}> is left out" for number in (3, 4, 5)),
        "and 4 more for the same reason",
    ]
