"""``port``: guards that NVRTC and nvcc both take, what is never guarded, and the drafted manifest."""

from __future__ import annotations

import json
import re
import shutil
import subprocess

import pytest

from hatch_cuda_kernels.arch import SmArch
from hatch_cuda_kernels.build import build_store
from hatch_cuda_kernels.cli import main
from hatch_cuda_kernels.compiler.nvrtc import run_job
from hatch_cuda_kernels.compiler.recipe_reader import read_recipe
from hatch_cuda_kernels.manifest import load_manifest, parse_manifest
from hatch_cuda_kernels.options import NvrtcOptions
from hatch_cuda_kernels.plan import make_plan
from hatch_cuda_kernels.port import port

ARCH = SmArch.parse("sm_80")

MIXED = """\
#include <torch/extension.h>
#include "shapes.h"
namespace ops {
// A box.
struct Box {
    float w;
    Box(float a) : w(a) { count++; }
    static int count;
    DEV float twice() const { return 2 * w; }
};
int Box::count = 0;
constexpr int four() { return 4; }
template <typename scalar_t, int BLOCK> __global__ void scale(scalar_t* p, Box b) { *p *= b.twice() * four(); }
template <typename T> __global__ void fill(T* p, T v) { *p = v; }
__global__ void line(int* p) { *p = 1; }
template <typename T> void run_fill(T* p, T v) { fill<T><<<1, 1>>>(p, v); }
}  // namespace ops

at::Tensor run(at::Tensor x) {
    AT_DISPATCH_FLOATING_TYPES_AND_HALF(x.scalar_type(), "scale", ([&] {
        ops::scale<scalar_t, 256><<<(x.numel() + 255) / 256, 256, 0, stream()>>>(x.data_ptr<scalar_t>(), ops::Box(1));
    }));
    ops::line<<<dim3(1, 2), 1>>>(nullptr);
    return x;
}
"""
HEADER = "#pragma once\n#define DEV __device__\nvoid helper(int a); int twice(int a);  // for the host\n"
HOST_HEADER = "#pragma once\nnamespace at { struct Tensor; }\n"


@pytest.fixture
def project(tmp_path, monkeypatch):
    """Make a folder with a mixed source the current one."""
    (tmp_path / "mixed.cu").write_text(MIXED)
    (tmp_path / "shapes.h").write_text(HEADER)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def as_nvcc_reads(text):
    """Return a ported text as it is where __CUDACC_RTC__ is not defined."""
    text = re.sub(r"^#ifdef __CUDACC_RTC__\n.*?^#else\n(.*?)^#endif\n", r"\1", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"^#ifdef __CUDACC_RTC__\n.*?^#endif\n", "", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"^#if defined\(__CUDACC_RTC__\).*?^#endif\n", "", text, flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"^#ifndef __CUDACC_RTC__\n(.*?)^#endif\n", r"\1", text, flags=re.DOTALL | re.MULTILINE)


@pytest.mark.slow
def test_a_mixed_source_compiles_and_means_the_same_to_nvcc(project):
    """NVRTC takes what was refused; without its macro, only line breaks are new."""
    ported = port(project, ["mixed.cu"], arch=ARCH)
    assert ported.remaining == ()
    assert set(ported.after) == {"mixed.cu"}  # what the header declares has neither a body nor a value
    for path, text in ported.after.items():
        assert as_nvcc_reads(text).split() == ported.before[path].split()
    assert (
        "#ifdef __CUDACC_RTC__\n    Box(float a);\n#else\n    Box(float a) : w(a) { count++; }\n#endif\n"
        in ported.after["mixed.cu"]
    )
    assert port(project, ["mixed.cu"]).after == ported.after  # without NVRTC, too


def test_each_guard_has_its_reason(project):
    """File, line and name as they are in the source, and why."""
    guards = [str(guard) for guard in port(project, ["mixed.cu"]).guards]
    assert guards == [
        "mixed.cu:1: include torch/extension.h: a header of the host's",
        "mixed.cu:7: body Box: the body has no device mark; what it declares stays",
        "mixed.cu:11: definition Box::count: it has no device mark; its declaration stays",
        "mixed.cu:16: body run_fill: the body has no device mark; what it declares stays",
        "mixed.cu:19: body run: the body has no device mark; what it declares stays",
    ]


def test_the_manifest_is_drafted_from_launches(project):
    """Instances and types from the launches; what they do not tell is said in a comment. The draft is valid."""
    ported = port(project, ["mixed.cu"])
    (module,) = parse_manifest(ported.manifest, root=project).modules
    assert [name.text for name in module.instances] == [
        "ops::scale<float, 256>", "ops::scale<double, 256>", "ops::scale<c10::Half, 256>",
    ]  # fmt: skip
    assert module.options.pre_include == ("hatch_cuda_kernels/torch_numbers.h",)
    assert "# ops::fill<T>: launched at mixed.cu:16 as fill<T>(p, v); list its instances" in ported.manifest
    assert [(one.name, one.parameters) for one in ported.templates] == [
        ("ops::scale", ("scalar_t", "BLOCK")), ("ops::fill", ("T",)),
    ]  # fmt: skip
    scale = ported.launches[1]
    assert (scale.kernel, scale.line, scale.template) == ("ops::scale", 21, ("scalar_t", "256"))
    assert scale.configuration == ("(x.numel() + 255) / 256", "256", "0", "stream()")
    assert scale.arguments == ("x.data_ptr<scalar_t>()", "ops::Box(1)")
    assert ported.launches[2].configuration == ("dim3(1, 2)", "1")


STUBBORN = """\
#include <no_such/host.hpp>
using namespace nowhere;
typedef nowhere::Map Map;
struct Cache { Map map; int n; };
UNKNOWN_API int launch(Map m) { return 1; }
struct Used { nowhere::Thing thing; int a; };
union Bits { float f; unsigned u; nowhere::Half h; };
static_assert(sizeof(Bits) == 4, "as large as a float");
template <class T> struct Traits { static constexpr int n = 1; };
template <> struct Traits<nowhere::Half> { static constexpr int n = 2; };
__device__ int size() { return sizeof(Used) + sizeof(Bits) + Traits<int>::n; }
__global__ void k(int* p) { *p = size(); }
"""


def test_what_nvrtc_cannot_take_goes_unless_something_else_has_its_name(tmp_path):
    """The reason is what NVRTC says; a specialisation of what stays is left to the user, and so is its use."""
    (tmp_path / "k.cu").write_text(STUBBORN)
    ported = port(tmp_path, ["k.cu"], arch=ARCH)
    reasons = {guard.name: guard.reason for guard in ported.guards}
    assert reasons.keys() == {"no_such/host.hpp", "nowhere", "launch", "Cache", "Map", "Used", "Bits", ""}
    assert reasons["Map"] == 'NVRTC: name followed by "::" must be a class or namespace name'
    assert reasons["Cache"].startswith("NVRTC: ")
    assert [line.split(": ")[0] for line in ported.remaining] == ["k.cu:10", "k.cu:11", "k.cu:11"]
    assert as_nvcc_reads(ported.after["k.cu"]).split() == STUBBORN.split()


HOSTED = """\
#include <host/map.hpp>
template <class T, int S> class Vector;
template <class T> class Vector<T, 0> { host::Map map; public: __device__ T* raw() { return p; } T* p; };
template <> class Vector<int, 1> : public host::Map { __host__ __device__ Vector(); };
enum Kind { PLAIN = host::plain };
class Solver { Vector<int, 1> v; Kind kind; __device__ int get(); };
#define REGISTER(T) static T T##_registered
REGISTER(Solver);
constexpr int solvers(const Solver* s) { return 1; }
template <class T> using Solves = Vector<T, 2>;
__device__ int Solver::get() { return PLAIN; }
#define VECTOR Vector<int, 1>
#ifdef VECTOR
__global__ void k(int* p) { *p = 1; }
#endif
"""


def test_classes_with_members_of_device_code_stay(tmp_path):
    """NVRTC refuses them, until the user says by name that they are the host's; what has a mark outside stays."""
    (tmp_path / "k.cu").write_text(HOSTED)
    ported = port(tmp_path, ["k.cu"], arch=ARCH)
    assert {"k.cu:3", "k.cu:4"} <= {line.partition(": ")[0] for line in ported.remaining}
    assert as_nvcc_reads(ported.after["k.cu"]).split() == HOSTED.split()
    named = NvrtcOptions(host_only=("Vector", "Kind", "Solver", "Solves"))
    ported = port(tmp_path, ["k.cu"], named, arch=ARCH)
    assert {line.partition(": ")[0] for line in ported.remaining} == {"k.cu:11"}
    assert {1, 2, 3, 4, 5, 6, 10} <= {guard.line for guard in ported.guards}
    assert as_nvcc_reads(ported.after["k.cu"]).split() == HOSTED.split()


@pytest.mark.slow
def test_without_a_patch_the_draft_names_headers_that_are_not_there(tmp_path):
    """What else is the host's, each compile cuts by itself; the manifest compiles as it stands."""
    text = "#include <host/map.hpp>\nstruct Kind { host::Plain held; };\nKind kind() { return {}; }\n"
    (tmp_path / "k.cu").write_text(f"{text}__global__ void k(int* p) {{ *p = 1; }}\n")
    ported = port(tmp_path, ["k.cu"], arch=ARCH, patch=False)
    assert (ported.after, ported.remaining) == ({}, ())
    assert {guard.line for guard in ported.guards} == {1, 2, 3}
    manifest = parse_manifest(f"arches: [{ARCH}]\n{ported.manifest}", root=tmp_path)
    assert manifest.modules[0].recipe.options.host_only == ("<host/map.hpp>",)
    build_store(manifest, tmp_path / "out")
    assert "k" in (tmp_path / "out" / "kernels.tsv").read_text()


def test_kernels_in_namespaces_that_macros_open(tmp_path):
    """Instances are named with these, as those of a launch in them are."""
    text = """#define BEGIN namespace lib { namespace v1 {
#define END }}
BEGIN
template <class T> __global__ void scale(T* p) { *p *= 2; }
template <class T> void run(T* p) { scale<<<1, 32>>>(p); }
#define REGISTER(T) template void run<T>(T*)
REGISTER(float);
END
template <class T> __global__ void outer(T* p) { *p = 1; }
void run_outer(int* p) { outer<int><<<1, 1>>>(p); }
"""
    (tmp_path / "k.cu").write_text(text)
    ported = port(tmp_path, ["k.cu"], arch=ARCH)
    assert ported.remaining == ()
    assert 'instances: ["lib::v1::scale<float>", "outer<int>"]' in ported.manifest


@pytest.mark.slow
def test_several_sources_may_share_the_headers_of_one(tmp_path):
    """The draft states them for all modules."""
    (tmp_path / "k.cu").write_text("#include <host/map.hpp>\n__global__ void k(int* p) { *p = 1; }\n")
    (tmp_path / "other.cu").write_text("__global__ void other() {}\n")
    ported = port(tmp_path, ["k.cu", "other.cu"], arch=ARCH, patch=False)
    assert ported.remaining == ()
    assert len(make_plan(parse_manifest(f"arches: [{ARCH}]\n{ported.manifest}", root=tmp_path))) == 2


def test_files_that_need_no_guard_beyond_the_rule_need_no_names(tmp_path):
    """The draft needs no option."""
    (tmp_path / "k.cu").write_text("int host() { return 1; }\n__global__ void k() {}\n")
    ported = port(tmp_path, ["k.cu"], arch=ARCH, patch=False)
    assert (ported.after, ported.remaining) == ({}, ())
    assert "options" not in ported.manifest


def test_what_cannot_be_read_is_not_guarded(tmp_path):
    """Nobody knows what it does: the note has the place."""
    (tmp_path / "h.h").write_text("#if __CUDA_ARCH__ > 1\n{ {\n#endif\n__device__ int f() { return 1; }\n")
    (tmp_path / "k.cu").write_text('#include "h.h"\nint g() { return 1; }\n__global__ void k() {}\n')
    ported = port(tmp_path, ["k.cu"], arch=ARCH)
    assert ported.guards == ()
    assert ported.notes[0].startswith("h.h:2: ")


def test_kernels_that_another_macro_lets_in(tmp_path):
    """The draft names the macro, and does not ask for instances of kernels that no compile sees."""
    (tmp_path / "k.cu").write_text(
        "#ifndef CPU_ONLY\n#if defined(HAVE_CUDA) && VERSION >= 2\n#ifdef NEVER\n#endif\n"
        "template <class T> __global__ void scale(T* p) { *p = 1; }\n#endif\n#endif\n"
        "#ifdef _MSC_VER\n__global__ void other() {}\n#endif\n"
    )
    text = port(tmp_path, ["k.cu"], NvrtcOptions(define=(("VERSION", "3"),)), arch=ARCH).manifest
    assert "# k.cu:5: a kernel is compiled only with HAVE_CUDA: state it under define" in text
    assert "list its instances" not in text
    assert "k.cu:9" not in text
    assert "scale" in port(tmp_path, ["k.cu"], NvrtcOptions(define=(("VERSION", "3"), ("HAVE_CUDA", None)))).manifest


TORCH = """\
#include <ATen/ATen.h>
__global__ void k(at::PackedTensorAccessor32<float, 2, at::RestrictPtrTraits> a, c10::Half* h, at::BFloat16 b) {
    a[0][threadIdx.x] = __half2float(h[0]) + float(b) + a.size(1);
}
"""


@pytest.mark.slow
def test_torch_types_are_there(tmp_path):
    """For NVRTC only; the accessor lies in memory as Torch's does: a pointer, two sizes, two strides."""
    (tmp_path / "k.cu").write_text(TORCH)
    ported = port(tmp_path, ["k.cu"], arch=ARCH)
    assert ported.remaining == ()
    assert "#include <hatch_cuda_kernels/torch_accessors.h>" in ported.after["k.cu"]
    assert "BFloat16, Half, PackedTensorAccessor32, RestrictPtrTraits" in ported.notes[0]
    assert as_nvcc_reads(ported.after["k.cu"]) == TORCH
    (tmp_path / "k.cu").write_text(
        ported.after["k.cu"] + "static_assert(sizeof(at::PackedTensorAccessor32<float, 2>) == 24);\n"
    )
    assert port(tmp_path, ["k.cu"], arch=ARCH).remaining == ()


def test_torch_types_of_the_host_are_there(tmp_path):
    """A class has constants that device code uses, beside tensors of the host's."""
    text = (
        "#include <torch/torch.h>\nnamespace at { class Tensor; }\nusing torch::Tensor;\n"
        "struct P : public torch::CustomClassHolder {\n"
        "  static constexpr int N = 3; at::Tensor a; Tensor b = torch::Tensor(); c10::intrusive_ptr<P> next;\n"
        "  at::optional<Tensor> c;\n"
        "  P(at::Tensor x) : a(x) {}\n};\n"
        "struct D { float x[P::N]; D(const P& p); };\n__global__ void k(D d, float* p) { *p = d.x[0]; }\n"
    )
    (tmp_path / "k.cu").write_text(text)
    ported = port(tmp_path, ["k.cu"], arch=ARCH)
    assert ported.remaining == ()
    assert as_nvcc_reads(ported.after["k.cu"]).split() == text.split()
    assert ported.notes == ()


@pytest.mark.parametrize("header", ["cstdint", "curand_kernel.h", "cuda_fp16.h", "lib/device.cuh"])
def test_headers_that_device_code_may_need_are_not_guarded(tmp_path, header):
    """Not even where they are missing: that is for the user to install, or to name a folder for."""
    text = f"#include <{header}>\n#include <other/host.hpp>\n__global__ void k() {{}}\n"
    (tmp_path / "k.cu").write_text(text)
    ported = port(tmp_path, ["k.cu"], arch=ARCH)
    assert header not in {guard.name for guard in ported.guards}


def test_a_header_of_the_projects_own_is_not_guarded(tmp_path):
    """Also where it is called as a host library's."""
    (tmp_path / "opencv2").mkdir()
    (tmp_path / "opencv2/types.hpp").write_text("struct Rows { int n; };\n")
    (tmp_path / "k.cu").write_text(
        "#include <opencv2/types.hpp>\n#include <opencv2/core.hpp>\n__global__ void k(Rows r) {}\n"
    )
    ported = port(tmp_path, ["k.cu"], NvrtcOptions(include=(".",)), arch=ARCH)
    assert [guard.name for guard in ported.guards] == ["opencv2/core.hpp"]
    assert ported.remaining == ()


def test_what_a_macro_makes_is_shown_in_its_place(tmp_path):
    """A class with functions of the host's that a macro stands for; nvcc goes on reading the macro."""
    macro = (
        "#define POINT(NAME, T) struct NAME { T x; void print() { puts(#NAME); } "
        "__device__ T twice() { return 2 * x; } }\n"
    )
    text = f"{macro}POINT(P, float);\n__global__ void k(P p) {{ p.twice(); }}\n"
    (tmp_path / "k.cu").write_text(text)
    ported = port(tmp_path, ["k.cu"], arch=ARCH)
    assert ported.remaining == ()
    assert [(guard.kind, guard.name) for guard in ported.guards] == [("body", "print")]
    assert "#else\nPOINT(P, float);\n#endif" in ported.after["k.cu"]
    assert as_nvcc_reads(ported.after["k.cu"]) == text


def test_names_that_a_guarded_header_brought_are_there(tmp_path):
    """Torch's headers include the standard's, which come by themselves, and the toolkit's, which the patch includes."""
    kernel = "__global__ void k(int64_t* p, half h, cublasHandle_t c) { *p = h; }\n"
    (tmp_path / "k.cu").write_text(f"#include <ATen/ATen.h>\n{kernel}")
    ported = port(tmp_path, ["k.cu"], arch=ARCH)
    assert ported.remaining == ()
    assert "#include <cuda_fp16.h>" in ported.after["k.cu"]
    assert as_nvcc_reads(ported.after["k.cu"]).split() == f"#include <ATen/ATen.h>\n{kernel}".split()


@pytest.mark.slow
def test_constants_of_a_guarded_library_are_there(tmp_path):
    """Its types and constants are included for NVRTC, unless a header for device code has them, too."""
    text = "#include <curand.h>\nstruct S { curandRngType_t type = CURAND_RNG_PSEUDO_MRG32K3A; };\n"
    kernel = "__global__ void k(S s, int* p) { *p = s.type; }\n"
    (tmp_path / "k.cu").write_text(text + kernel)
    ported = port(tmp_path, ["k.cu"], arch=ARCH)
    assert ported.remaining == ()
    assert "#include <hatch_cuda_kernels/curand_types.h>" in ported.after["k.cu"]
    (tmp_path / "k.cu").write_text(f"#include <curand_kernel.h>\n{text}{kernel}")
    assert "curand_types.h" not in port(tmp_path, ["k.cu"], arch=ARCH).after["k.cu"]


def test_names_that_a_guarded_header_brought_are_there_before_the_first_include(tmp_path):
    """A header of the project's that comes before the guarded one uses them, too."""
    (tmp_path / "h.h").write_text("struct H { half h; };\n")
    top = "// A kernel.\n#ifdef A\n#include <b.h>\n#endif\n"
    text = f'{top}int f();\n#include "h.h"\n#include <ATen/ATen.h>\n__global__ void k(H h) {{}}\n'
    (tmp_path / "k.cu").write_text(text)
    ported = port(tmp_path, ["k.cu"], arch=ARCH)
    assert ported.remaining == ()
    assert ported.after["k.cu"].startswith(f"{top}int f();\n#if")
    assert as_nvcc_reads(ported.after["k.cu"]).split() == text.split()


@pytest.mark.parametrize(
    ("text", "guarded"),
    [
        ("#ifdef A\nlong\n#else\nint\n#endif\nf() { return 1; }\n", "f();\n#else\nf() { return 1; }\n"),
        (
            "int f()\n#ifdef A\n;\n#else\n{ return 1; }\n#endif\n",
            "#else\n#ifdef __CUDACC_RTC__\n;\n#else\n{ return 1; }\n#endif\n#endif\n",
        ),
        (
            "int f(int a) /* of\nall */ { return 1; } /* here\nends */\n",
            "int f(int a) /* of\nall */; /* here\nends */\n",
        ),
        ("#define N \\\n1\nint f() { \\\n return N; }\n", "int f();\n#else\nint f() { \\\n"),
        ('const char* t = R"(a\nb)"; int f() { return 1; }\n', "extern const char* t ; int f();\n#else\nconst"),
    ],
    ids=["begins in branches", "ends in branches", "comments", "joined lines", "raw strings"],
)
def test_a_guard_is_around_whole_lines(tmp_path, text, guarded):
    """With all of a comment, a literal and a conditional group that they are part of."""
    text += "__global__ void k() {}\n"
    (tmp_path / "k.cu").write_text(text)
    ported = port(tmp_path, ["k.cu"], arch=ARCH)
    assert ported.remaining == ()
    assert guarded in ported.after["k.cu"]
    assert as_nvcc_reads(ported.after["k.cu"]).split() == text.split()


def test_a_second_port_has_nothing_to_do(tmp_path):
    """Values, definitions, marks, conditions and pragmas, too, are as NVRTC is shown them."""
    text = (
        "#if defined(__GNUC__) && !defined(NO)\nint count = 3;\n#endif\nstatic float f(float x) { return x; }\n"
        "const float part = .5f;\n#define UNROLL #pragma unroll\n#include <mpi.h>\n"
        "struct S { static int n; virtual int g() { return 1; } int h() { throw n; } };\nint S::n = 2;\n"
        "__global__ void k(float* p) { *p = part; }\n"
    )
    (tmp_path / "k.cu").write_text(text)
    first = port(tmp_path, ["k.cu"], arch=ARCH)
    assert first.remaining == ()
    assert len({guard.kind for guard in first.guards}) >= 5
    (tmp_path / "k.cu").write_text(first.after["k.cu"])
    second = port(tmp_path, ["k.cu"], arch=ARCH)
    assert (second.after, second.guards) == ({}, ())


def test_a_condition_on_the_compiler_and_the_architecture_is_left_to_builds(tmp_path):
    """No directive says for NVRTC what it is for nvcc on each architecture; a build shows that."""
    text = "#if __CUDA_ARCH__ >= 700 && __GNUC__ > 5\n#define N 1\n#else\n#define N 2\n#endif\n"
    (tmp_path / "k.cu").write_text(f"{text}__global__ void k(int* p) {{ *p = N; }}\n")
    ported = port(tmp_path, ["k.cu"], arch=ARCH)
    assert (ported.after, ported.guards, ported.remaining) == ({}, (), ())
    assert [note[: len("k.cu:1: the condition __CUDA_ARCH__")] for note in ported.notes] == [
        "k.cu:1: the condition __CUDA_ARCH__"
    ]


@pytest.mark.slow
def test_the_patch_applies(project, capsys):
    """On standard output alone, or in a file; the rest is on standard error, or in the JSON."""
    assert main(["port", "mixed.cu"]) == 0
    out, err = capsys.readouterr()
    assert "guarded: mixed.cu:19: body run: the body has no device mark; what it declares stays" in err
    assert main(["port", "mixed.cu", "--output", "a.patch", "--manifest", "kernels.yaml"]) == 0
    assert (project / "a.patch").read_text() == out
    assert "instances:" in (project / "kernels.yaml").read_text()
    capsys.readouterr()
    assert main(["port", "mixed.cu", "--json", "--apply"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["diff"] == out
    assert data["applied"] is True
    assert data["launches"][1]["axes"] == {"scalar_t": ["float", "double", "c10::Half"]}
    applied = (project / "mixed.cu").read_text()
    if shutil.which("patch"):
        (project / "mixed.cu").write_text(MIXED)
        subprocess.run(["patch", "-p1", "-s", "-i", "a.patch"], check=True, cwd=project)
        assert (project / "mixed.cu").read_text() == applied
    assert main(["port", "mixed.cu", "--no-compile"]) == 0
    assert capsys.readouterr().out == ""  # a second port has nothing to do


def test_bad_input_is_refused(project, capsys):
    """With status 2, before anything is written."""
    (project / "kernels.yaml").write_text("schema: 1\n")
    assert main(["port", "mixed.cu", "--manifest", "kernels.yaml"]) == 2
    assert "kernels.yaml exists already" in capsys.readouterr().err
    assert main(["port", "gone.cu"]) == 2
    assert "gone.cu" in capsys.readouterr().err
    assert main(["port", "../mixed.cu"]) == 2


@pytest.mark.slow
def test_headers_that_a_build_includes_before_a_source_are_stated(tmp_path, monkeypatch):
    """Beside those that the instances of a module need."""
    (tmp_path / "inc").mkdir()
    (tmp_path / "inc" / "forced.h").write_text(
        "#include <vector>\nstd::vector<int> host() { return {}; }\ntypedef float real;\n"
    )
    kernels = "template <class T> __global__ void k(T* x, real y) { *x = y; }\nvoid run(__half* x)"
    (tmp_path / "k.cu").write_text(f"#include <cuda_fp16.h>\n{kernels} {{ k<__half><<<1, 1>>>(x, 1); }}\n")
    monkeypatch.chdir(tmp_path)
    asked = ["port", "k.cu", "--include", "inc", "--pre-include", "forced.h", "--apply", "--manifest", "kernels.yaml"]
    assert main(asked) == 0
    assert "#else\nstd::vector<int> host() { return {}; }\n#endif" in (tmp_path / "inc" / "forced.h").read_text()
    module = load_manifest(tmp_path / "kernels.yaml").modules[0]
    assert module.recipe.options.pre_include == ("forced.h", "cuda_fp16.h")
    assert run_job(module.recipe.job(read_recipe(module.recipe, tmp_path), SmArch.parse("sm_90"), ("cubin",))).kernels


def test_headers_that_came_with_a_guarded_one_are_included(tmp_path):
    """A compile of the ported text would not know that they are there for nvcc: the driver's version, CUB."""
    text = "#include <ATen/Dispatch.h>\nvoid host() {}\n#if CUDA_VERSION < 8000\n#error of old\n#endif\n"
    text += "__global__ void k(cub::Sum* a) {}\n"
    (tmp_path / "k.cu").write_text(text)
    ported = port(tmp_path, ["k.cu"], arch=None).after["k.cu"]
    assert ported.startswith("#if defined(__CUDACC_RTC__)\n#include <cub/cub.cuh>\n#include <cuda.h>\n#endif\n")
    assert as_nvcc_reads(ported).split() == text.split()


def test_lines_end_as_they_did(tmp_path):
    """A file of Windows keeps its line ends, in guards too."""
    text = "#include <mpi.h>\r\nint f() {\r\n  return 1;\r\n}\r\n__global__ void k() {}\r\n"
    (tmp_path / "k.cu").write_bytes(text.encode())
    after = port(tmp_path, ["k.cu"], arch=ARCH).after["k.cu"]
    assert after.count("\n") == after.count("\r\n")
    assert "#ifdef __CUDACC_RTC__\r\nint f();\r\n#else\r\nint f() {\r\n" in after
    assert as_nvcc_reads(after.replace("\r\n", "\n")) == text.replace("\r\n", "\n")
