"""Reading logs: diagnostics of every tool, and the name expressions that were refused."""

from __future__ import annotations

import pytest
from raw_nvrtc import compile_raw

from hatch_cuda_kernels.compiler.binary.log import Diagnostic, bad_names, parse_log

NAMES_SOURCE = """
template <class T, int N> __global__ void k(T* p) { *p = N; }
namespace ns { template <class T> __global__ void q(T* p) { *p = 1; } __device__ int v; }
struct A {};
__global__ void g(int*) {}
__global__ void g(float*) {}
"""


def test_a_warning_has_its_place():
    """The front end's warning is found with its line."""
    log = compile_raw('extern "C" __global__ void k(float* p) {\n int unused;\n *p = 1; }').log
    message = 'variable "unused" was declared but never referenced'
    [found] = parse_log(log)
    assert found == Diagnostic("k.cu", 2, "warning", message, (" int unused;", "     ^"))
    assert found.column == 6


def test_the_assembler_warns_without_a_place():
    """A warning of ptxas is one too."""
    [found] = parse_log("ptxas warning : Stack size for entry function 'k' cannot be statically determined\n")
    assert (found.file, found.severity) == ("", "warning")


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
    """Each bad expression is named as it was given, with the first thing that NVRTC says against it."""
    good = ["k<float, 4>", "ns::q<int>", "&ns::v", "k<float,'a'>", "k<float , 3 - 1>"]
    bad = ["zz", "k<2>", "k< float , 2 + >", "&ns::w", "nope::x", "g", "k<float", "k<float,4>)", "A() + 1", "int"]
    names = [name for pair in zip(bad[:5], good, strict=True) for name in pair] + bad[5:]
    failed = compile_raw(NAMES_SOURCE, expressions=tuple(names))
    assert not failed.ok
    found = bad_names(parse_log(failed.log), names)
    assert list(found) == [name for name in names if name in bad]
    assert found["zz"] == 'identifier "zz" is undefined'
    assert found["k<2>"] == 'cannot determine which instance of function template "k" is intended'


def test_an_error_in_the_source_rejects_no_name():
    """An instance that fails inside the kernel's body is the source's error, not the name's."""
    failed = compile_raw(NAMES_SOURCE, expressions=("ns::q<A>", "k<float, 4>"))
    assert not failed.ok
    assert bad_names(parse_log(failed.log), ["ns::q<A>", "k<float, 4>"]) == {}
    assert parse_log(failed.log)[0].line == 3
