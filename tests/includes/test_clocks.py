"""Macros of the time are found wherever NVRTC sees them, and nowhere else; NVRTC itself says where it does."""

from __future__ import annotations

import pytest
from cuda.bindings import nvrtc

from hatch_cuda_kernels.cpp import SourceFile
from hatch_cuda_kernels.includes import Origin, find_clocks

USE = 'extern "C" __device__ const char* day() { return "day " __DATE__; }'
OTHER = "__device__ int other;"
GUARD, END = "#ifndef __CUDACC_RTC__", "#endif"


def clocks(**texts):
    """Return the uses in ``k_cu`` and what it includes; a name's underscore stands for its point."""
    files = {name.replace("_", "."): SourceFile(name.replace("_", "."), text) for name, text in texts.items()}
    return find_clocks(Origin(files, {}, {}), ["k.cu"])


def in_ptx(source):
    """Return whether the day is in what NVRTC makes of a source."""
    _, program = nvrtc.nvrtcCreateProgram(source.encode(), b"k.cu", 0, [], [])
    (status,) = nvrtc.nvrtcCompileProgram(program, 2, [b"--std=c++17", b"-rdc=true"])
    assert status == nvrtc.nvrtcResult.NVRTC_SUCCESS
    _, size = nvrtc.nvrtcGetPTXSize(program)
    ptx = b" " * size
    nvrtc.nvrtcGetPTX(program, ptx)
    return b"100, 97, 121, 32" in ptx  # "day "


CASES = {
    "in joined lines": ['extern "C" __device__ const char* day() { return "day " __DA\\', "TE__; }"],
    "in the lines of a macro": ["#define NOW __DA\\", "TE__", USE.replace("__DATE__", "NOW")],
    "after a raw literal": ['#define LATER R"(a"b)" ""', f'__device__ int n = sizeof(R"(a"b)"); {USE} // "'],
    "put together": ["#define OF(x) __##x##__", USE.replace("__DATE__", "OF(DATE)")],
    "put together in parts": ["#define OF(a, b) a##b", USE.replace("__DATE__", "OF(__DA, TE__)")],
    "put together to something else": ["#define OF(x) __##x##__", f"OF(device) {OTHER.partition(' ')[2]}"],
    "between numbers": [f"__device__ int a = 1'000; {USE} __device__ int b = 1'000;"],
    "in the open": [USE],
    "behind a guard": [GUARD, USE, END],
    "behind a guard with a comment": ["#  ifndef /* a */ __CUDACC_RTC__ // b", USE, END],
    "behind defined": ["#if !defined(__CUDACC_RTC__)", USE, END],
    "in another branch": ["#ifdef __CUDACC_RTC__", OTHER, "#else", USE, END],
    "in this branch": ["#ifdef __CUDACC_RTC__", USE, "#else", OTHER, END],
    "in a branch after a guard": [GUARD, OTHER, "#elif 1", USE, END],
    "behind nothing": ["#if 0", USE, END],
    "in conditions within a guard": [GUARD, "#if 1", USE, "#else", OTHER, END, END],
    "after a guard": [GUARD, OTHER, END, USE],
    "in a macro's lines": ["#define A \\", GUARD, USE, "#define B \\", END],
    "in a comment's lines": ["/*", GUARD, "*/", USE, "/*", END, "*/"],
    "in a literal's lines": [
        '__device__ const char* a = R"(',
        GUARD,
        ')";',
        USE,
        '__device__ const char* b = R"(',
        END,
        ')";',
    ],
    "where the guard is undefined": ["#undef __CUDACC_RTC__", GUARD, USE, END],
    "where it is undefined in two lines": ["#un\\", "def /* a */ __CUDACC_RTC__", GUARD, USE, END],
    "behind a branch that older C++ does not know": ["#if A", "#elifdef __CUDACC_RTC__", OTHER, "#else", USE, END],
    "in a branch after a condition that is not known": ["#if !A", USE, "#else", OTHER, END],
    "behind a quote that no one reads": [GUARD, "don't", END, USE],
    "behind a directive in two lines": ["#if 0", "#\\", "endif", USE, "#if 1", END],
    "where a guard ends by a digraph": [GUARD, OTHER, "%:endif", USE, "%:ifdef A", END],
}


@pytest.mark.parametrize("lines", CASES.values(), ids=CASES)
def test_they_are_found_where_nvrtc_sees_them(lines):
    """An image with the day in it is another one tomorrow."""
    source = "\n".join([*lines, ""])
    assert bool(clocks(k_cu=source)) == in_ptx(source)


def test_a_file_may_undefine_what_another_one_tests():
    """Files that are compiled together have one set of macros."""
    header = "#undef __CUDACC_RTC__\n"
    assert clocks(a_h=header, k_cu=f'#include "a.h"\n{GUARD}\n{USE}\n{END}\n')
    assert not clocks(a_h=header, k_cu=f'{GUARD}\n{USE}\n{END}\n#include "a.h"\n')


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("\nint x; const char* s = __DATE__;", ["k.cu:2: __DATE__ differs"]),
        ("#define NOW __TIME__ \\\n __TIMESTAMP__\nNOW", ["k.cu:1: __TIME__ differs", "k.cu:2: __TIMESTAMP__ differs"]),
        ("const char* s = __TI\\\nME__;", ["k.cu:1: __TIME__ differs"]),
        ('// __DATE__\nconst char* s = "__TIME__", *t = R"(__TIMESTAMP__)";', []),
        ("int __DATE__s, my__TIME__, __TIMESTAMP;", []),
        ("#define NOW __TIME__\n", []),
        ("#define NOW __TIME__\n#undef NOW\nint NOW;", []),
    ],
)
def test_each_place_is_named(text, places):
    """Comments, literals, other words and macros that nobody uses are no uses."""
    assert [one[: len(place)] for one, place in zip(clocks(k_cu=text), places, strict=True)] == places
