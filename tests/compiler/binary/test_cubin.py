"""The CUBIN reader, checked against ptxas's own report of the same compile."""

from __future__ import annotations

import random
import struct

import pytest
from ptxas_report import reported
from raw_nvrtc import RawResult, compile_raw
from slow_parameters import slow_but

from hatch_cuda_kernels.compiler.binary.cubin import Cubin, KernelSection, read_cubin
from hatch_cuda_kernels.compiler.binary.ptx import read_ptx

SOURCE = """
struct alignas(8) Pair { int a; double b; };
struct Large { char bytes[5000]; };
__constant__ float filter[16];
__device__ int counter = 3;
namespace ns { __device__ double table[4]; }
__noinline__ __device__ float chosen(float x) {
    float all[32];
    for (int i = 0; i < 32; ++i) all[i] = x * i;
    return all[static_cast<int>(x) & 31];
}
template <class T> __global__ void sum(T* out, T value, Pair pair) {
    __shared__ T part[64];
    part[threadIdx.x] = value;
    __syncthreads();
    *out = part[3] + pair.a + filter[counter];
}
extern "C" __global__ void calls(float* p, signed char c, short h, bool b) { *p = chosen(*p) + c + h + b; }
extern "C" __global__ void large(Large in, int* out) { *out = in.bytes[*out] + ns::table[1]; }
extern "C" __global__ void __launch_bounds__(96, 2) empty() {}
"""
#: Kernels that spill: 4, 8 and 16 bytes at a time, by themselves and in a function that they call.
SPILLS = """
__device__ __noinline__ float mix(float x, float* y, int n) {
    float a[64];
#pragma unroll
    for (int i = 0; i < 64; ++i) a[i] = y[i * n + threadIdx.x];
    for (int k = 0; k < n; ++k) {
#pragma unroll
        for (int i = 0; i < 64; ++i) a[i] = a[i] * a[(i + 7) % 64] + a[(i * 5 + 3) % 64];
    }
#pragma unroll
    for (int i = 0; i < 64; ++i) y[i * n + threadIdx.x] = a[i] * x;
    return a[3];
}
extern "C" __global__ void caller(float* y, int n) { y[0] = mix(y[1], y, n); }
extern "C" __global__ void spills(const float4* in, float4* out) {
    float4 v[24];
#pragma unroll
    for (int i = 0; i < 24; ++i) v[i] = in[i * 256 + threadIdx.x];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 24; ++i) {
        float a = 0;
#pragma unroll
        for (int j = 0; j < 24; ++j) a += v[j].x * v[(i * j + 7) % 24].w;
        out[i * 256 + threadIdx.x] = make_float4(a, v[i].y, v[(i * 5) % 24].z, 0);
    }
}
extern "C" __global__ void indexed(float* y, int n) {
    float all[64];
    for (int i = 0; i < n; ++i) all[i] = y[i];
    y[0] = all[n / 2];
}
"""
ARCHS = ["sm_75", "sm_80", "sm_86", "sm_90", "sm_90a", "sm_100", "sm_100f", "sm_120", "sm_120a", "sm_121"]
SUM = "_Z3sumIfEvPT_S0_4Pair"


def compiled(arch: str) -> RawResult:
    """Compile the sample with ptxas's report in the log."""
    result = compile_raw(SOURCE, "--ptxas-options=-v", arch=arch, expressions=("sum<float>",))
    assert result.ok, result.log
    return result


@pytest.fixture(scope="module", params=ARCHS)
def sample(request) -> tuple[str, RawResult, Cubin]:
    """Return an architecture, its compile and what the reader makes of it."""
    result = compiled(request.param)
    return request.param, result, read_cubin(result.cubin)


@pytest.fixture(scope="module")
def image() -> bytes:
    """Return one CUBIN to damage."""
    return compiled("sm_90").cubin


def test_the_architecture_is_read_with_its_suffix(sample):
    """The SM number comes from the ELF flags, the suffix (which the flags lack) from the assembler's note."""
    arch, _, cubin = sample
    assert cubin.arch == arch
    assert cubin.sm == int(arch.strip("sm_af"))


def test_resources_agree_with_ptxas(sample):
    """Registers, static shared memory and stack are what ptxas printed, on every architecture."""
    _, result, cubin = sample
    assert cubin.resources == reported(result.log)
    assert cubin.kernels[SUM].shared == 256
    assert cubin.kernels["calls"].stack >= 128


@pytest.mark.slow
@pytest.mark.parametrize("flags", [(), ("--device-debug",), ("--generate-line-info",), ("--ptxas-options=-O1",)])
@pytest.mark.parametrize("arch", slow_but(["sm_80"], ["sm_75", "sm_80", "sm_90", "sm_100", "sm_120"]))
def test_spills_agree_with_ptxas(arch, flags):
    """The image itself tells how many bytes a kernel spills, functions it calls included; local arrays are none."""
    result = compile_raw(SPILLS, "--maxrregcount=32", "--ptxas-options=-v", *flags, arch=arch)
    cubin = read_cubin(result.cubin)
    assert cubin.resources == reported(result.log)
    assert (cubin.kernels["indexed"].spill_stores, cubin.kernels["indexed"].spill_loads) == (0, 0)
    assert cubin.kernels["indexed"].stack >= 256
    if "--device-debug" not in flags:
        assert cubin.kernels["caller"].spill_stores > 500
        assert cubin.kernels["spills"].spill_loads > 100


@pytest.mark.slow
def test_a_relocatable_image_says_so(image):
    """An image that still has to be linked is no image for a driver."""
    assert not read_cubin(image).relocatable
    apart = compile_raw(SOURCE, "--relocatable-device-code=true", expressions=("sum<float>",))
    assert read_cubin(apart.cubin).relocatable


def test_code_is_counted(sample):
    """A kernel that does more has more instructions, of 16 bytes each; no kernel has none."""
    _, _, cubin = sample
    code = {name: kernel.code for name, kernel in cubin.kernels.items()}
    assert code["calls"] > code["empty"] > 0
    assert all(size % 16 == 0 for size in code.values())


def test_parameters_have_offsets_and_sizes(sample):
    """Each parameter stands where the host must put it, also in a kernel with more than 4 KiB of them."""
    _, _, cubin = sample
    assert list(cubin.kernels) == [SUM, "calls", "empty", "large"]
    assert cubin.kernels[SUM].params == ((0, 8), (8, 4), (16, 16))
    assert cubin.kernels["calls"].params == ((0, 8), (8, 1), (10, 2), (12, 1))
    assert cubin.kernels["large"].params == ((0, 5000), (5000, 8))
    assert cubin.kernels["empty"].params == ()


def test_what_the_source_states_of_launches(sample):
    """Launch bounds are in the image, and nothing is where the source states nothing."""
    _, _, cubin = sample
    assert cubin.kernels["empty"].stated == (("max_threads", (96, 1, 1)),)
    assert cubin.kernels["calls"].stated == ()


def test_sizes_that_a_launch_must_have():
    """Sizes of blocks and clusters that the source states are there by their names."""
    source = """
    extern "C" __global__ void __block_size__((64, 2, 1)) blocks() {}
    extern "C" __global__ void __cluster_dims__(2, 1, 1) clusters() {}
    """
    compiled = compile_raw(source, arch="sm_90")
    stated = read_cubin(compiled.cubin).stated
    assert dict(stated["blocks"])["block_size"] == (64, 2, 1)
    assert stated["clusters"] == (("cluster_size", (2, 1, 1)),)
    assert read_ptx(compiled.ptx).stated == stated


def test_ptx_says_the_same_of_launches(sample):
    """So a kernel that has PTX for one architecture and a CUBIN for another is not restricted by the one alone."""
    _, result, cubin = sample
    assert read_ptx(result.ptx).stated == cubin.stated


def test_device_variables_have_sizes(sample):
    """Constants and globals are listed with their bytes; functions they call and reserved symbols are not."""
    _, _, cubin = sample
    assert cubin.variables == {"_ZN2ns5tableE": 32, "counter": 4, "filter": 64}


def test_the_layout_of_cuda_12_is_read(image):
    """ABI 7 (NVRTC 12, up to sm_90) has the SM number in the low byte of the flags, and a bit for the ``a`` suffix."""
    for flags, arch in ((0x5A055A, "sm_90"), (0x5A0D5A, "sm_90a"), (0x4B054B, "sm_75")):
        old = bytearray(image)
        old[8] = 7
        struct.pack_into("<I", old, 48, flags)
        assert read_cubin(bytes(old)).arch == arch


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "no ELF header"),
        (b".version 9.0\n.target sm_90\n", "no ELF header"),
        (b"\x7fELF", "damaged CUBIN"),
        (b"\x7fELF" + b"\0" * 60, "another machine"),
    ],
)
def test_other_files_are_refused(data, reason):
    """Something that is no CUBIN is named as such."""
    with pytest.raises(ValueError, match=reason):
        read_cubin(data)


def test_a_cut_image_is_refused(image):
    """An image cut anywhere raises ValueError, never another error, and never reads as a whole one."""
    for size in (*range(0, 4096, 7), *range(4096, len(image), 97), len(image) - 1):
        with pytest.raises(ValueError, match="CUBIN"):
            read_cubin(image[:size])


@pytest.mark.slow
def test_a_scribbled_image_gives_a_result_or_a_reason(image):
    """Random bytes anywhere lead to ValueError or to some result of the right type."""
    chance = random.Random(1)
    for _ in range(1500):
        damaged = bytearray(image)
        for _ in range(chance.randrange(1, 4)):
            at = chance.randrange(len(damaged))
            damaged[at : at + 8] = chance.choice([b"\xff" * 8, bytes(8), chance.randbytes(8)])
        try:
            found = read_cubin(bytes(damaged))
        except ValueError as error:
            assert str(error)  # noqa: PT017 - either outcome is right
        else:
            assert all(isinstance(kernel, KernelSection) for kernel in found.kernels.values())
