"""Reading NVRTC's log: ptxas's statistics, diagnostics, rejected name expressions."""

from __future__ import annotations

import pytest
from raw_nvrtc import RawResult, compile_raw

from hatch_cuda_kernels.compiler.output.cubin import read_cubin
from hatch_cuda_kernels.compiler.output.log import (
    Diagnostic,
    Resources,
    bad_name_expressions,
    name_errors,
    parse_log,
    split_log,
)

SOURCE = """
extern "C" __global__ void spills(const float* in, float* out) {
    float v[64];
#pragma unroll
    for (int i = 0; i < 64; ++i) v[i] = in[i * 256 + threadIdx.x];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 64; ++i) {
        float a = 0;
#pragma unroll
        for (int j = 0; j < 64; ++j) a += v[j] * v[(i * j + 7) & 63];
        out[i * 256 + threadIdx.x] = a;
    }
}
__noinline__ __device__ float chosen(float x) {
    float all[32];
    for (int i = 0; i < 32; ++i) all[i] = x * i;
    return all[static_cast<int>(x) & 31];
}
extern "C" __global__ void calls(float* p) { *p = chosen(*p); }
extern "C" __global__ void shares(float* p) {
    __shared__ float part[96];
    part[threadIdx.x] = *p;
    __syncthreads();
    *p = part[3];
    int unused;
}
"""

NAMES_SOURCE = """
template <class T, int N> __global__ void k(T* p) { *p = N; }
namespace ns { template <class T> __global__ void q(T* p) { *p = 1; } __device__ int v; }
struct A {};
__global__ void g(int*) {}
__global__ void g(float*) {}
"""


@pytest.fixture(scope="module", params=["sm_80", "sm_90a", "sm_120"])
def result(request) -> RawResult:
    """Return a compile whose log holds a warning and ptxas's report of three kernels, one of which spills."""
    return compile_raw(SOURCE, "--maxrregcount=32", "--ptxas-options=-v", arch=request.param)


def test_resources_of_each_kernel(result):
    """Registers, shared memory, stack and spills are taken from the log, for kernels only."""
    resources, _ = split_log(result.log)
    assert sorted(resources) == ["calls", "shares", "spills"]
    assert resources["spills"].registers == 32
    assert resources["spills"].spill_stores > 1000
    assert resources["spills"].spill_loads > resources["spills"].spill_stores
    assert resources["shares"].shared == 96 * 4
    assert resources["calls"].stack >= 128
    assert (resources["calls"].spill_stores, resources["calls"].shared) == (0, 0)
    frames = {name: kernel.frame for name, kernel in read_cubin(result.cubin).kernels.items()}
    assert frames == {name: found.stack for name, found in resources.items()}


def test_warnings_stay(result):
    """What is left of the log is the compiler's own, without a line of ptxas's statistics."""
    _, rest = split_log(result.log)
    assert rest.startswith('/hatch-cuda-kernels/k.cu(26): warning #177-D: variable "unused"')
    assert "ptxas" not in rest
    assert parse_log(rest) == [Diagnostic("k.cu", 26, "warning", 'variable "unused" was declared but never referenced')]


def test_the_report_changes_no_code(result):
    """Asking for the report leaves PTX and kernels alone; only the note of the assembler's options differs."""
    arch = read_cubin(result.cubin).arch
    silent = compile_raw(SOURCE, "--maxrregcount=32", arch=arch)
    assert silent.ptx == result.ptx
    assert read_cubin(silent.cubin) == read_cubin(result.cubin)
    assert silent.log == split_log(result.log)[1] + "\n\n"
    assert b"-v " in result.cubin
    assert b"-v " not in silent.cubin


def test_advice_and_warnings_of_ptxas_stay():
    """Only statistics go: a warning, an error, or advice with a number is for the user to read."""
    advice = "ptxas info    : (C7511) Potential Performance Loss: wgmma.mma_async instructions are serialized"
    warning = "ptxas warning : Stack size for entry function 'k' cannot be statically determined"
    log = f"{advice}\n{warning}\nptxas info    : 0 bytes gmem\nptxas info    : Compile time = 0.256 ms\n"
    assert split_log(log) == ({}, f"{advice}\n{warning}")
    assert parse_log(log)[0].severity == "warning"


def test_a_debug_build_is_read():
    """A debug compile reports callees between kernels; they are not taken for kernels."""
    resources, rest = split_log(compile_raw(SOURCE, "-G", "--ptxas-options=-v").log)
    assert sorted(resources) == ["calls", "shares", "spills"]
    assert resources["shares"].shared == 96 * 4
    assert "ptxas" not in rest


def test_resources_become_json():
    """The index stores resources under these names."""
    assert Resources(32, 0, 8, 4, 2).to_json() == {
        "registers": 32,
        "shared": 0,
        "stack": 8,
        "spill_stores": 4,
        "spill_loads": 2,
    }


@pytest.mark.parametrize(
    ("source", "flags", "expected"),
    [
        ("\n#include <nope.h>\n", (), Diagnostic("k.cu", 2, "catastrophic error", 'could not open source file "nope')),
        ("__device__ int x = y;", (), Diagnostic("k.cu", 1, "error", 'identifier "y" is undefined')),
        ("", ("--bogus",), Diagnostic("", 0, "error", "unrecognized option --bogus found")),
        ("", ("-arch=sm_75a",), Diagnostic("", 0, "error", "invalid or no value specified with --nv_arch flag")),
        (
            'extern "C" __global__ void k(int* p) { __shared__ int a[20000]; a[*p] = 1; __syncthreads(); *p = a[9]; }',
            (),
            Diagnostic("", 0, "error", "Entry function 'k' uses too much shared data"),
        ),
        (
            'extern "C" __device__ int f(); extern "C" __global__ void k(int* p) { *p = f(); }',
            (),
            Diagnostic("", 0, "catastrophic error", "Unresolved extern function 'f'"),
        ),
        (
            'extern "C" __global__ void k(int* p) { asm("bogus;"); }',
            (),
            Diagnostic("", 20, "error", "Not a name of any known instruction: 'bogus'"),
        ),
    ],
)
def test_each_tool_in_the_chain_is_understood(source, flags, expected):
    """A message is read with its place and severity, whether front end, ptxas, linker or option parser wrote it."""
    failed = compile_raw(source, *flags)
    assert not failed.ok
    first = next(found for found in parse_log(failed.log) if found.severity != "warning")
    assert (first.file, first.severity) == (expected.file, expected.severity)
    assert first.message.startswith(expected.message)
    assert (first.line > 0) == (expected.line > 0)


def test_rejected_name_expressions_are_found():
    """Each bad expression is named as it was given; NVRTC numbers them by sorted order, not by the order given."""
    good = ["k<float, 4>", "ns::q<int>", "&ns::v", "k<float,'a'>", "k<float , 3 - 1>"]
    bad = ["zz", "k<2>", "k< float , 2 + >", "&ns::w", "nope::x", "g", "k<float", "k<float,4>)", "A() + 1", "int"]
    names = [name for pair in zip(bad[:5], good, strict=True) for name in pair] + bad[5:]
    failed = compile_raw(NAMES_SOURCE, expressions=tuple(names))
    assert not failed.ok
    assert bad_name_expressions(failed.log, names) == tuple(name for name in names if name in bad)
    numbered = name_errors(failed.log)
    assert [sorted(names)[number - 2] for number in sorted(numbered)] == sorted(bad)
    assert numbered[sorted(names).index("zz") + 2][0] == 'identifier "zz" is undefined'


def test_an_error_in_the_source_rejects_no_name():
    """An instance that fails inside the kernel's body is the source's error, not the name's."""
    failed = compile_raw(NAMES_SOURCE, expressions=("ns::q<A>", "k<float, 4>"))
    assert not failed.ok
    assert bad_name_expressions(failed.log, ["ns::q<A>", "k<float, 4>"]) == ()
    assert parse_log(failed.log)[0].line == 3
