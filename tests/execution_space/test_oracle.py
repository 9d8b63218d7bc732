"""What NVRTC refuses of the host's goes as a whole, and no other thing of its name is taken in its stead."""

from __future__ import annotations

import pytest

from hatch_cuda_kernels import compile_to_ptx, open_store
from hatch_cuda_kernels.build import build_store
from hatch_cuda_kernels.cli import main
from hatch_cuda_kernels.errors import BuildError, CompileError
from hatch_cuda_kernels.manifest import load_manifest
from hatch_cuda_kernels.store import StoreReader

KERNEL = 'extern "C" __global__ void k(int* y) { *y = n::g(); }\n'
USED = {
    "a function, not CUDA's": (
        "unknown::T max(int a, unknown::T b) { return {}; } __device__ int g() { return max(1, 2); }",
        r'"n::max\(\.\.\.\)".* cannot be referenced',
    ),
    "a member, not the base's": (
        (
            "struct B { __device__ int f(int) { return 1; } }; struct D : B { int f(unknown::T) { return 2; } };"
            "__device__ int g() { D d; return d.f(1); }"
        ),
        r'"n::D::f\(\.\.\.\)".* cannot be referenced',
    ),
    "a using declaration": (
        "using unknown::max; __device__ int g() { return max(1, 2); }",
        "call of an object of a class type",
    ),
    "a class": ("class A { unknown::T t; }; __device__ int g() { return sizeof(A); }", 'incomplete type "n::A"'),
    "a class template": (
        "template <class T> struct P { unknown::T t; T x; }; __device__ int g() { return sizeof(P<int>); }",
        'incomplete type "n::P<int>"',
    ),
    "a variable": ("unknown::T v; __device__ int g() { return sizeof(v); }", "incomplete type"),
    "an alias": ("using A = unknown::T; __device__ int g() { return sizeof(A); }", 'incomplete type "n::A"'),
    "an enumerator": ("enum E { one = unknown::one }; __device__ int g() { return one; }", 'name followed by "::"'),
}
UNUSED = {
    "beside a marked overload": "unknown::T f(unknown::T b) { return {}; } __device__ int f(int x) { return x; } "
    "__device__ int g() { return f(3); }",
    "by its other name": "class A { unknown::T t; }; __device__ int g() { return sizeof(::A); }",
    "by pointer": "using A = unknown::T; __device__ int f(A* p) { return p == nullptr; } "
    "__device__ int g() { return f(nullptr); }",
    "often": "unknown::T f(int); unknown::T f(float); template <class T> unknown::V<T> f(T); unknown::T a, b; "
    "const unknown::T c = unknown::h(); "
    "__device__ int g() { return 3; }",
}
OUTER = "struct A { int x; }; struct P; int v = 3; constexpr int one = 1;\n"


@pytest.mark.parametrize("case", USED)
def test_what_device_code_uses_is_an_error(case):
    """Another thing of the name, of the toolkit's, a base or an outer scope, is never found in its stead."""
    text, message = USED[case]
    with pytest.raises(CompileError, match=message):
        compile_to_ptx(f"{OUTER}namespace n {{ {text} }}\n{KERNEL}", arch="sm_90", use_cache=False)


@pytest.mark.parametrize("case", UNUSED)
def test_what_device_code_does_not_use_goes(case):
    """The compile is tried again without it."""
    text = f"{OUTER}namespace n {{ {UNUSED[case]} }}\n{KERNEL}"
    assert compile_to_ptx(text, arch="sm_90", use_cache=False).kernels


@pytest.mark.slow
def test_the_outcome_is_recorded(fresh_cache):
    """The second compile of the same text finds it."""
    text = f"namespace n {{ {UNUSED['often']} }}\n{KERNEL}"
    assert [compile_to_ptx(text, arch="sm_90").cached for _ in range(2)] == [False, True]


MANIFEST = """
    schema: 1
    arches: [sm_80]
    modules: {toy: {source: toy.cu, instances: ["fill<float>"]}}
"""
TOY = "template <class T> __global__ void fill(T* x) { *x = 1; }\n"


def origins(store):
    """Return where two processes would have a kernel from that is not prebuilt."""
    return [open_store(store).find_image("fill<int>", arch="sm_90").origin for _ in range(2)]


@pytest.mark.slow
def test_a_store_compiles_what_its_build_has_cut(make_project, fresh_cache):
    """At run time nothing is asked again."""
    root = make_project(MANIFEST, **{"toy.cu": f"namespace n {{ {UNUSED['often']} }}\n{TOY}"})
    build_store(load_manifest(root / "kernels.yaml"), root / "out")
    (root / "toy.cu").unlink()
    assert origins(root / "out") == ["jitted", "cached"]


@pytest.mark.slow
def test_an_editable_store_of_what_was_cut_is_not_out_of_date(make_project, fresh_cache):
    """Its sources are read with what its build learned of them."""
    root = make_project(MANIFEST, **{"toy.cu": f"namespace n {{ {UNUSED['often']} }}\n{TOY}"})
    build_store(load_manifest(root / "kernels.yaml"), root / "out", editable=True)
    assert open_store(root / "out").find_image("fill<float>", arch="sm_80").origin == "prebuilt"
    assert origins(root / "out") == ["jitted", "cached"]


@pytest.mark.slow
def test_an_edited_source_is_tried_again(make_project, fresh_cache):
    """What NVRTC refuses of a project that is installed editable goes at run time, too."""
    root = make_project(MANIFEST, **{"toy.cu": TOY})
    build_store(load_manifest(root / "kernels.yaml"), root / "out", editable=True)
    (root / "toy.cu").write_text(f"namespace n {{ {UNUSED['often']} }}\n{TOY}")
    assert origins(root / "out") == ["jitted", "cached"]


@pytest.mark.slow
def test_what_a_compile_for_another_architecture_refused_does_not_count(make_project, fresh_cache):
    """A build after it cuts what it would cut alone."""
    text = f"#if __CUDA_ARCH__ == 800\nnamespace n {{ {UNUSED['often']} }}\n#endif\n{TOY}"
    for arch, refused in (("sm_80", True), ("sm_90", False), ("sm_90", False), ("sm_80", True)):
        root = make_project(MANIFEST.replace("sm_80", arch), **{"toy.cu": text})
        build_store(load_manifest(root / "kernels.yaml"), root / "out")
        assert bool(StoreReader(root / "out").details("toy").levels) == refused
    assert main(["verify", str(root / "out"), "--rebuild"]) == 0


@pytest.mark.slow
def test_a_build_shows_the_line_as_it_is_written(make_project, fresh_cache):
    """Not as it was when NVRTC refused it: with the place in the file, whatever was cut before it."""
    text = "namespace n { unknown::T f(int b) { return {}; } __device__ int g() { return f(1); } }\n"
    root = make_project(MANIFEST, **{"toy.cu": text + TOY})
    with pytest.raises(BuildError) as caught:
        build_store(load_manifest(root / "kernels.yaml"), root / "out")
    assert f"toy.cu:1:{text.index('f(1)') + 1}: error: " in str(caught.value)
    assert f"  | {text}" in str(caught.value)
