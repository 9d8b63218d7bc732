"""What device code uses of Torch, where includes of Torch's headers are cut."""

from __future__ import annotations

import json
import re

import pytest

from hatch_cuda_kernels.build import build_store
from hatch_cuda_kernels.compiler.recipe_reader import read_recipe
from hatch_cuda_kernels.errors import BuildError
from hatch_cuda_kernels.manifest import parse_manifest

TORCH = "#include <torch/extension.h>\nvoid host() { at::Tensor t; }\n"
OURS = "hatch_cuda_kernels/"


def build(tmp_path, text, instances=(), **options):
    """Build a module with that text; return the names of the headers that it is given, and its PTX."""
    (tmp_path / "k.cu").write_text(text)
    module = {"source": "k.cu", "options": options} | ({"instances": [*instances]} if instances else {})
    manifest = parse_manifest(
        json.dumps({"schema": 1, "arches": ["sm_80", "compute_80"], "modules": {"k": module}}), root=tmp_path
    )
    found = read_recipe(manifest.modules[0].recipe, tmp_path).units[0].pre_include
    build_store(manifest, tmp_path / "store")
    ptx = "".join(path.read_text() for path in (tmp_path / "store").rglob("*.ptx"))  # none where images are packed
    return {name.removeprefix(OURS) for name in found if name.startswith(OURS)}, ptx


@pytest.mark.slow
def test_accessors_lie_in_memory_as_torchs_do(tmp_path):
    """A pointer, the sizes, the strides; rows of a tensor that is const are const, too."""
    text = """
static_assert(sizeof(at::PackedTensorAccessor32<float, 2>) == 24, "");
static_assert(sizeof(torch::PackedTensorAccessor64<float, 3, at::RestrictPtrTraits>) == 56, "");
template <typename T> __global__ void k(at::PackedTensorAccessor32<T, 2, at::RestrictPtrTraits> a,
                                        const torch::PackedTensorAccessor64<T, 1> b) {
    static_assert(std::is_same<decltype(b[0]), const T&>::value && std::is_same<decltype(a[0][0]), T&>::value, "");
    at::TensorAccessor<T, 1, at::RestrictPtrTraits, int> row = a[blockIdx.x];
    row[threadIdx.x] += b[a.size(1)] + a.stride(0) + *a.data();
}
"""
    headers, _ = build(tmp_path, TORCH + text, ["k<float>"])
    assert headers == {"torch_accessors.h"}


def test_numbers_have_torchs_arithmetic(tmp_path):
    """In float, each result rounded; __half's own would be added as halves."""
    text = """
static_assert(sizeof(c10::Half) == 2 && std::numeric_limits<at::BFloat16>::digits == 8, "");
static_assert(std::is_same<at::acc_type<at::Half, true>, float>::value, "");
static_assert(std::is_same<at::opmath_type<double>, double>::value, "");
__global__ void k(c10::Half* a, at::BFloat16* b) { a[0] = a[1] + a[2]; b[0] = b[1] < b[2] ? b[1] : b[2] * 2; }
"""
    headers, ptx = build(tmp_path, TORCH + text)
    assert headers == {"torch_numbers.h"}
    assert "add.f32" in ptx
    assert not re.search(r"add\S*\.f16", ptx)


@pytest.mark.parametrize("options", [{}, {"define": {"__CUDA_NO_HALF_OPERATORS__": True}}], ids=["", "torchs define"])
def test_halves_compare_with_other_numbers(tmp_path, options):
    """As floats, with or without the operators of CUDA's halves."""
    text = "__global__ void k(c10::Half* h, bool* r) { *r = h[0] > -1 && 2.5 >= h[1] && h[2] != h[3] && h[4] < 1.f; }\n"
    _, ptx = build(tmp_path, TORCH + text, **options)
    assert len(re.findall(r"\bset\w*\.\w+(?:\.and)?\.f32", ptx)) >= 3
    assert not re.search(r"set\S*\.f16", ptx)


@pytest.mark.slow
def test_numbers_of_8_bits_are_refused_where_code_computes_with_them(tmp_path):
    """A kernel may take a pointer to them."""
    text = TORCH + "__global__ void k(at::Float8_e4m3fn* a, unsigned char* b) { *b = a->x; %s }\n"
    build(tmp_path, text % "")
    with pytest.raises(BuildError, match="Float8_e4m3fn"):
        build(tmp_path, text % "*b = float(*a);")


def test_the_state_of_the_generator(tmp_path):
    """It is read as Torch reads it: where a graph was captured, from memory."""
    text = """
static_assert(sizeof(at::PhiloxCudaState) == 32, "");
__global__ void k(at::PhiloxCudaState state, uint64_t* out) {
    auto seeds = at::cuda::philox::unpack(state);
    out[0] = std::get<0>(seeds);
    out[1] = std::get<1>(seeds);
}
"""
    headers, ptx = build(tmp_path, TORCH + text)
    assert headers == {"torch_philox.h"}
    assert len(re.findall(r"\bld\.global\.", ptx)) == 2


def test_functions_with_c10s_marks_are_device_code(tmp_path):
    """Constructors and operators, too, which have no type that tells the mark from one."""
    text = """
struct P { float x; C10_HOST_DEVICE P(float a) : x(a) {} C10_DEVICE float operator()(float b) const { return x + b; } };
C10_HOST_DEVICE C10_ALWAYS_INLINE float twice(float a) { return 2 * a; }
C10_HOST void only() {}
C10_LAUNCH_BOUNDS_1(256) __global__ void k(float* p, int n) {
    CUDA_KERNEL_LOOP(i, n) { CUDA_KERNEL_ASSERT(n > i && "in range"); p[i] = P(twice(p[i]))(1); }
}
"""
    headers, ptx = build(tmp_path, TORCH + text, define={"NDEBUG": True})
    assert headers == {"c10_macros.h", "torch_loops.h"}
    assert "__assertfail" in ptx
    assert ".maxntid 256" in ptx


@pytest.mark.parametrize(
    ("header", "answer"),
    [("torch/extension.h", 2), ("ATen/cuda/CUDAContext.h", 2), ("c10/util/Half.h", 1), ("mpi.h", 1)],
)
def test_the_drivers_version_is_there_where_a_header_of_torchs_brings_it(tmp_path, header, answer):
    """As with nvcc, sources choose atomics by it: 0 would stand for releases before CUDA 8."""
    text = f"""
#include <{header}>
#if defined(__CUDA_ARCH__) && CUDA_VERSION < 8000
__device__ void store(int* a) {{ *a = 1; }}
#else
__device__ void store(int* a) {{ *a = 2; }}
#endif
__global__ void k(int* a) {{ store(a); }}
"""
    _, ptx = build(tmp_path, text)
    assert f"mov.u32 \t%r1, {answer};" in ptx


def test_macros_of_the_project_are_its_own(tmp_path):
    """Also where they would hold only without Torch's."""
    loop = "#ifndef CUDA_KERNEL_LOOP\n#define CUDA_KERNEL_LOOP(i, n) for (int i = 0; i < 77; ++i)\n#endif\n"
    headers, ptx = build(
        tmp_path, TORCH + loop + "__global__ void k(int* p) { CUDA_KERNEL_LOOP(i, 5) p[i * 9] = 0; }\n"
    )
    assert headers == set()
    assert "+2736]" in ptx


@pytest.mark.slow
def test_classes_may_have_objects_of_the_hosts(tmp_path):
    """As members and bases, by an alias or a using; a kernel that makes one is refused."""
    text = """
using at::Tensor;
struct Spec { Tensor a; torch::Tensor b = Tensor(); c10::intrusive_ptr<Spec> next; at::cuda::CUDAStream stream; };
class Op : public torch::autograd::Function<Op> { static Tensor forward(Tensor a) { return a.clone(); } };
struct Plain { float* a; Plain(Spec& s) : a(s.a.data_ptr<float>()) {} };
static_assert(sizeof(Spec) == 40 && !std::is_trivially_copyable<Tensor>::value, "");
__global__ void k(Plain p) { p.a[0] = 1; %s }
"""
    headers, _ = build(tmp_path, TORCH + text % "")
    assert headers == {"torch_objects.h"}
    with pytest.raises(BuildError, match="Tensor"):
        build(tmp_path, TORCH + text % "Tensor t;")


def test_another_name_for_a_namespace(tmp_path):
    """A project names Torch's accessors by way of an alias, which may mean its own."""
    text = """
#ifdef CHECKED
namespace pta = mine;
#else
namespace pta = at;
#endif
__global__ void k(pta::PackedTensorAccessor32<float, 1, at::RestrictPtrTraits> a) { a[0] = 1; }
"""
    headers, _ = build(tmp_path, TORCH + text)
    assert headers == {"torch_accessors.h", "torch_namespaces.h"}


@pytest.mark.slow
def test_atomic_functions_are_there_for_torchs_numbers(tmp_path):
    """Short numbers within their word, halves by the device's own instruction, and what CUDA's atomicAdd has not."""
    text = """
#include <ATen/cuda/Atomic.cuh>
template <typename T> __global__ void k(T* p, const T* q) { gpuAtomicAdd(p, *q); gpuAtomicMax(p + 1, *q); }
__global__ void other(at::Half* h, int64_t* n, at::BFloat16* b) {
    h[1] = atomicAdd(h, h[2]); atomicAdd(n, n[1]); gpuAtomicAddNoReturn(b, b[1]); gpuAtomicMul(b + 1, b[2]);
}
"""
    headers, ptx = build(tmp_path, TORCH + text, ["k<uint8_t>", "k<double>"])
    assert {"torch_atomics.h"} <= headers
    assert "atom.global.cas.b32" in ptx
    assert re.search(r"atom\S*\.add\.noftz\.f16", ptx)


@pytest.mark.slow
def test_fast_additions_go_by_way_of_pairs(tmp_path):
    """Of numbers of 16 bits; others are added as they are."""
    text = """
template <typename T> __global__ void k(T* p, int n) { at::native::fastAtomicAdd(p, 3, n, p[0], true); }
"""
    headers, ptx = build(tmp_path, TORCH + text, ["k<c10::Half>", "k<float>"])
    assert headers == {"torch_fast_atomics.h"}
    assert "f16x2" in ptx
    assert re.search(r"(red|atom)\S*\.add\.f32", ptx)


@pytest.mark.slow
def test_layouts_of_tensors_of_any_rank(tmp_path):
    """A pointer, 25 sizes and strides, the rank; what host code makes of it is cut."""
    text = """
#include <ATen/cuda/detail/IndexUtils.cuh>
using at::cuda::detail::TensorInfo;
using at::cuda::detail::getTensorInfo;
static_assert(sizeof(TensorInfo<float, int>) == 8 + 2 * 25 * 4 + 8 && MAX_TENSORINFO_DIMS == 25, "");
__global__ void k(at::cuda::detail::TensorInfo<float, int64_t> a, int i) {
    a.data[at::cuda::detail::IndexToOffset<float, int64_t, -1>::get(i, a)] = a.isContiguous();
}
void call(at::Tensor t) {
    if (at::cuda::detail::canUse32BitIndexMath(t)) k<<<1, 1>>>(getTensorInfo<float, int64_t>(t), 1);
}
"""
    headers, ptx = build(tmp_path, TORCH + text)
    assert headers == {"torch_objects.h", "torch_tensor_info.h"}  # the function of the host's stays declared
    assert re.search(r"(div|rem)\.s64", ptx)


@pytest.mark.slow
def test_complex_numbers(tmp_path):
    """Their arithmetic needs no header of Thrust's, which their functions are."""
    text = """
static_assert(sizeof(c10::complex<double>) == 16 && c10::is_complex<c10::complex<float>>::value, "");
static_assert(std::is_same<at::scalar_value_type<c10::complex<float>>::type, float>::value, "");
static_assert(std::is_same<at::acc_type<c10::complex<float>, true>, c10::complex<float>>::value, "");
__global__ void k(c10::complex<float>* p, c10::complex<double> q) {
    p[0] = 2 * p[1] / std::conj(p[2]) - 1.f; p[3] = c10::complex<float>(q); q = p[4]; p[5] *= std::norm(p[6]); %s
}
"""
    assert build(tmp_path, TORCH + text % "")[0] == {"torch_complex.h", "torch_numbers.h"}
    headers, _ = build(tmp_path, TORCH + text % "p[0].real_ = std::abs(p[1]); p[2] = exp(p[3]);")
    assert "torch_complex_math.h" in headers


@pytest.mark.parametrize(
    ("include", "code", "header", "found"),
    [
        ("ATen/cuda/DeviceUtils.cuh", "p[0] = WARP_SHFL_DOWN(doLdg(p + 1), 1)", "torch_shuffles.h", "shfl.sync.down"),
        ("ATen/native/cuda/block_reduce.cuh", "p[0] = WARP_SHFL(p[1], 1)", "torch_shuffles.h", "shfl.sync.idx"),
        ("c10/cuda/CUDAMathCompat.h", "p[0] = c10::cuda::compat::rsqrt(p[1])", "torch_math.h", "rsqrt.approx"),
        (
            "ATen/cuda/NumericLimits.cuh",
            "p[0] = at::numeric_limits<float>::lower_bound()",
            "torch_limits.h",
            "-8388608",
        ),
        ("ATen/NumericUtils.h", "p[0] = at::_isnan(p[1]) || at::_isnan(1)", "torch_numerics.h", "7F800000"),
        (
            "ATen/native/cuda/block_reduce.cuh",
            "__shared__ float s[32]; p[0] = at::native::cuda_utils::BlockReduceSum(p[1], s)",
            "torch_reductions.h",
            "bar.sync",
        ),
        (
            "ATen/native/cuda/MemoryAccess.cuh",
            "using V = at::native::memory::aligned_vector<float, 4>; ((V*)p)[0] = ((V*)p)[1]",
            "torch_vectors.h",
            ".v4.",
        ),
    ],
)
def test_what_more_kernels_use(tmp_path, include, code, header, found):
    """Each name brings its header, and does what Torch's does."""
    text = f"#include <{include}>\n__global__ void k(float* p) {{ {code}; }}\n"
    headers, ptx = build(tmp_path, TORCH + text)
    assert header in headers
    assert found in ptx


def test_limits_of_numbers_of_8_bits(tmp_path):
    """Their bits are Torch's, not those of zero."""
    text = "__global__ void k(at::Float8_e4m3fn* a) { *a = std::numeric_limits<at::Float8_e4m3fn>::max(); }\n"
    assert re.search(r"mov\.u16\s+%rs\d+, 126;", build(tmp_path, TORCH + text)[1])


GRID = """
#include <ATen/native/cuda/GridSampler.cuh>
#include <ATen/cuda/detail/TensorInfo.cuh>
using namespace at::native;
using namespace at::cuda::detail;
using at::native::detail::GridSamplerPadding;
template <typename T> __global__ void k(TensorInfo<T, int> a, const T* x, GridSamplerPadding padding) {
    T at = grid_sampler_compute_source_index(x[0], a.sizes[0], padding, true);
    if (within_bounds_2d(at, 0, 1, 2)) safe_add_2d(a.data, at, 0, 1, 2, 3, 4, x[1], 0, 24);
}
"""


@pytest.mark.slow
def test_names_of_a_namespace_that_is_opened(tmp_path):
    """The directive stays, with what device code has of the namespace."""
    headers, ptx = build(tmp_path, TORCH + GRID, ["k<float>"])
    assert headers == {"torch_grid_sampler.h", "torch_inner_namespaces.h", "torch_tensor_info.h"}
    assert re.search(r"(red|atom)\S*\.add\.f32", ptx)
    headers, _ = build(tmp_path, TORCH + "using namespace at::native;\n__global__ void k(float* p) {}\n")
    assert headers == {"torch_inner_namespaces.h"}


@pytest.mark.parametrize("include", ["", "#include <ATen/native/cuda/UpSample.cuh>\n"])
def test_min_in_torchs_namespace(tmp_path, include):
    """Torch's header for upsampling has one of its own, which is no fminf of CUDA's: of NaN, it takes the second."""
    text = "namespace at { namespace native {\n__global__ void k(float* p) { *p = 2 * min(p[1], p[2]); }\n}}\n"
    headers, ptx = build(tmp_path, TORCH + include + text)
    assert headers == ({"torch_upsample.h"} if include else set())
    assert ("min.f32" in ptx) is (not include)


OWN = {
    "a class": "namespace at { struct PhiloxCudaState { int n; }; }\n__global__ void k(at::PhiloxCudaState s) {}\n",
    "a template": (
        "namespace at { template <class T> __device__ T ceil_div(T a, T b) { return a; } }\n"
        "__global__ void k(int* p) { *p = at::ceil_div(1, 2); }\n"
    ),
    "a function": (
        "#if TORCH_VERSION_MAJOR > 1\n#include <ATen/cuda/Atomic.cuh>\n#else\n"
        "template <class T> __device__ void gpuAtomicAdd(T* a, T b) { *a += b; }\n#endif\n"
        "__global__ void k(float* p) { gpuAtomicAdd(p, 1.f); }\n"
    ),
    "a function, with no header of Torch's for it": (
        "__device__ void WARP_SYNC();\n__global__ void k(int* p) { atomicAdd(p, 1); WARP_SYNC(); }\n"
        "__device__ void WARP_SYNC() {}\n"
    ),
    "a comment": "__global__ void k(float* p) {} // takes an at::Tensor of c10::Half\n",
    "a guard": "#ifndef __CUDACC_RTC__\nvoid f(at::Tensor t);\n#endif\n__global__ void k(float* p) {}\n",
}


@pytest.mark.parametrize("text", OWN.values(), ids=OWN)
def test_names_that_need_no_header_bring_none(tmp_path, text):
    """The project's own, and those that NVRTC never sees."""
    headers, _ = build(tmp_path, TORCH + text)
    assert headers == set()
