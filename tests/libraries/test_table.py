"""The tables of libraries: each header that they name is there, and what they say of names agrees."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from hatch_cuda_kernels import compile_to_ptx, libraries
from hatch_cuda_kernels.compiler.toolchain.toolchain import load_toolchain
from hatch_cuda_kernels.cpp.lexer import SourceFile
from hatch_cuda_kernels.cpp.reading import read_alone
from hatch_cuda_kernels.includes import packaged_standard_headers
from hatch_cuda_kernels.libraries.table import table


def test_every_header_is_there():
    """In this package, or in the toolkit; of what is left out, in this package."""
    named = {
        *libraries.headers_in("standard", "std").values(),
        *libraries.headers_in("standard", "global").values(),
        *libraries.headers_in("cuda", "implicit").values(),
        *libraries.headers_in("cuda", "device").values(),
        *libraries.headers_in("cuda", "versions").values(),
        *libraries.headers_in("cuda", "driver").values(),
        *(f"cuda/std/{name}" for name in libraries.words_in("standard", "sets", "libcudacxx")),
    }
    folders = [Path(folder) for folder in load_toolchain().include_dirs]
    ours = packaged_standard_headers()
    lacking = {name for name in named if name not in ours and not any((one / name).exists() for one in folders)}
    assert lacking <= {"curand_kernel.h"}  # a package of its own
    known = table("torch")["torch"]
    brought = {*known["names"], *known["namespaces"], *known["inner_namespaces"], *known["complex_math"]}
    brought |= {one.header for one in libraries.stand_in_headers()} | {*table("torch")["boost"]["header"]}
    assert brought <= ours.names


@pytest.mark.parametrize("one", libraries.stand_in_headers(), ids=lambda one: one.header)
def test_the_names_are_those_that_a_header_declares(one):
    """Each is declared or defined in this package's header, and of libraries' types none is missing."""
    file = SourceFile(one.header, packaged_standard_headers().text(one.header).text)
    defined = {found.tokens()[0].text for found in file.directives if found.word == "define"}
    found = {name for name in defined if not name.startswith("_HATCH_")}
    for declared in read_alone(file):
        names = {declared.name, *(each.name for each in declared.declarators), *declared.enumerators} - {""}
        if not declared.is_member and declared.kind not in {"assertion", "using", "forward"}:
            found |= names
    assert one.names <= found
    assert one.by or one.names == found  # those of Torch's have helpers


def test_names_of_two_headers_are_none():
    """A name has one header; what a library's left-out header brings is no name of the toolkit's own headers."""
    tables = [
        libraries.headers_in("standard", "global"),
        libraries.headers_in("cuda", "implicit"),
        libraries.headers_in("cuda", "device"),
        *(dict.fromkeys(one.names, one.header) for one in libraries.stand_in_headers()),
    ]
    names = [name for one in tables for name in one]
    assert len(names) == len({*names})


@pytest.mark.skipif(shutil.which("g++") is None, reason="it needs a host compiler")
def test_nvccs_host_has_these_headers():
    """They are glibc's and the compiler's own, but for one that newer releases of glibc leave to another package."""
    names = [name for name in table("host")["system"]["headers"] if "*" not in name and name != "crypt.h"]
    text = "".join(f"#if !__has_include(<{name}>)\nlacking {name}\n#endif\n" for name in names)
    found = subprocess.run(
        ["g++", "-x", "c++", "-E", "-P", "-"], input=text, capture_output=True, text=True, check=True
    )
    assert found.stdout.split() == []


@pytest.mark.parametrize(
    ("name", "is_hosts"),
    [
        ("opencv2/core.hpp", True),
        ("thrust/sort.h", True),
        ("thrust/complex.h", False),
        ("thrust/detail/raw_pointer_cast.h", False),
        ("thrust/system/cuda/detail/execution_policy.h", False),
        ("thrust/system/cuda/execution_policy.h", True),
        ("cublas_v2.h", True),
        ("a/cublas_v2.h", False),
        ("linux/version.h", False),
        ("messages.pb.h", True),
        ("cub/block/block_scan.cuh", False),
        ("cub/device/device_scan.cuh", True),
        ("vector", False),
    ],
)
def test_headers_of_the_host(name, is_hosts):
    """A library's header is the host's wherever it is; exceptions are those that device code has a use for."""
    assert libraries.is_host_header(name, is_system=False) is is_hosts


def test_a_system_header_is_spelled_so():
    """Many a project has its own of that name."""
    assert libraries.is_host_header("wait.h", is_system=True)
    assert not libraries.is_host_header("wait.h", is_system=False)


MACROS = [
    "#define HAS(x) (__has_builtin(x))",
    "#define EDG __EDG__",
    "#define MEMCPY __builtin_memcpy",
    "#define CAT(a, b) a##b",
    "#define SELF (SELF + __GNUC__)",
]


def conditions_hold(conditions, std, before=""):
    """Compile a source that has an error where one of these conditions does not hold, as nvcc does."""
    lines = [f"#if !({condition})\n#error {condition}\n#endif" for condition in conditions]
    source = "\n".join([before, *MACROS, *lines, "__global__ void k() {}\n"])
    return compile_to_ptx(source, arch="compute_90", options={"std": std}, use_cache=False)


@pytest.mark.parametrize(
    ("std", "conditions"),
    [
        ("c++14", ("__cpp_static_assert == 200410", "!defined(_PSTL_VERSION)", "defined __cpp_hex_float")),
        ("c++17", ("__cpp_unicode_characters == 201411", "defined _PSTL_VERSION", "!defined __CHAR8_TYPE__")),
        ("c++17", ("!defined __EDG__", "!defined __has_feature", "!defined(__RTTI)", "defined __has_c_attribute")),
        ("c++17", ("__has_builtin(__builtin_memcpy)", "!__has_builtin(__builtin_assume)", "!__has_builtin(f)")),
        ("c++14", ("__has_cpp_attribute(nodiscard) == 201907", "__has_cpp_attribute(gnu::__packed__)")),
        (
            "c++17",
            ("__has_attribute(__aligned__)", "!__has_attribute(device)", "!__has_cpp_attribute(clang::noinline)"),
        ),
        ("c++17", ("__has_include(<immintrin.h>)", "!__has_include(<mdspan>)", "__has_include(<optional>)")),
        ("c++17", ("__CUDA_ARCH__ < 900 || !__has_builtin(__builtin_assume) && __has_include(<stdatomic.h>)",)),
        ("c++17", ("__CUDA_ARCH__ >= 900 && HAS(__builtin_memcpy)", "__CUDA_ARCH__ < 900 || !HAS(__builtin_assume)")),
        ("c++17", ("__CUDA_ARCH__ >= 900 && !defined __EDG__", "__CUDA_ARCH__ < 900 || !__EDG__")),
        ("c++17", ("__has_builtin(MEMCPY)", "__CUDA_ARCH__ >= 900 && __has_builtin(MEMCPY)")),
        ("c++17", ("__CUDA_ARCH__ < 900 || !EDG", "CAT(__GNU, C__) == 12 || __CUDA_ARCH__")),
        ("c++17", ("__CUDA_ARCH__ >= 900 && SELF == 12",)),
        ("c++20", ("__cpp_constexpr == 202002", "defined(__CHAR8_TYPE__)", "__cpp_lib_ranges == 202110")),
    ],
)
def test_conditions_have_nvccs_answer(std, conditions):
    """Under nvcc, gcc reads directives: its macros, by version of C++, its builtins, attributes and headers count."""
    conditions_hold(conditions, std)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("nvcc") is None, reason="there is no nvcc to compare with")
@pytest.mark.parametrize("std", ["c++14", "c++17", "c++20"])
def test_each_macro_that_nvcc_defines_is_known(std):
    """Whether it is there, and its value where that is an integer."""
    found = defined_by_nvcc("/dev/null", std)
    integers = {name: value for name, call, value in found if not call and re.fullmatch(r"\d\w*", value)}
    integers = {name: value for name, value in integers.items() if not re.search(r"[fFdD](16|32|64|128)?x?$", value)}
    conditions_hold([*(f"defined {name}" for name, _, _ in found)], std)
    conditions_hold([*(f"{name} == {value}" for name, value in integers.items() if value.isalnum())], std)


def defined_by_nvcc(path, std):
    """Return the macros that nvcc has behind a source: name, parameters and text."""
    command = ["nvcc", "-E", "-Xcompiler", "-dM", f"-std={std}", "-arch=compute_90", "-x", "cu", str(path)]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return re.findall(r"^#define (\w+)(\([^)]*\))?(?: (.*))?$", printed, re.MULTILINE)


@pytest.mark.parametrize(
    ("std", "header", "conditions"),
    [
        (
            "c++17",
            "iostream",
            ("EINVAL == 22", "defined _GLIBCXX_OSTREAM", "!defined _GLIBCXX_VECTOR", "!defined SIGUSR1"),
        ),
        (
            "c++17",
            "vector",
            ("defined _GLIBCXX_VECTOR", "!defined EINVAL", "!defined FLT_MAX", "!defined(_GLIBCXX_LIST)"),
        ),
        ("c++17", "csignal", ("SIGUSR1 == 10", "defined SIG_BLOCK", "!defined(EINVAL)", "!defined va_copy")),
        (
            "c++20",
            "iostream",
            ("EINVAL == 22", "defined(_GLIBCXX_VECTOR) == 0", "defined _GLIBCXX_SEMAPHORE_BASE_H == 0"),
        ),
        ("c++17", "limits", ("!defined FLT_MAX", "!defined(DBL_EPSILON)", "!defined CCCL_VERSION")),
        ("c++17", "array", ("!defined CCCL_VERSION", "defined _GLIBCXX_ARRAY")),
        ("c++17", "cstdarg", ("defined va_copy", "defined(va_arg)")),
    ],
)
def test_conditions_behind_headers_have_nvccs_answer(std, header, conditions):
    """Macros of libstdc++ and glibc are known behind the headers that bring them, and are not there behind others."""
    conditions_hold([f"!defined({name})" for name in ("EINVAL", "SIGUSR1", "_GLIBCXX_VECTOR")], std)
    conditions_hold(conditions, std, f"#include <{header}>")


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("nvcc") is None, reason="there is no nvcc to compare with")
@pytest.mark.parametrize("std", ["c++14", "c++17", "c++20"])
def test_each_macro_of_some_headers_is_known(tmp_path, std):
    """Those that nvcc has behind a header, of each kind of header one; what another has besides is not there."""
    before = {name for name, _, _ in defined_by_nvcc("/dev/null", std)}
    others = {"EINVAL", "SIGUSR1", "PTHREAD_CANCELED", "_GLIBCXX_VECTOR", "_GLIBCXX_STRING", "FLT_MAX", "INT64_MAX"}
    for header in ("iostream", "functional", "csignal", "cinttypes", "pthread.h", "sys/stat.h"):
        (tmp_path / "k.cu").write_text(f"#include <{header}>\n")
        found = {name for name, _, _ in defined_by_nvcc(tmp_path / "k.cu", std)} - before
        conditions = [*(f"defined {name}" for name in found), *(f"!defined {name}" for name in others - found)]
        conditions_hold(conditions, std, f"#include <{header}>")


def test_a_project_that_makes_up_for_clangs_probes_has_its_own(tmp_path):
    """NVRTC has ``__has_feature``, and gcc has not."""
    source = """
#ifndef __has_feature
#define __has_feature(x) 0
#endif
#if __has_feature(cxx_rtti) || __has_feature(cxx_constexpr)
#error a feature
#endif
__global__ void k() {}
"""
    assert compile_to_ptx(source, arch="sm_90", use_cache=False).image


@pytest.mark.skipif(shutil.which("g++") is None, reason="it needs a host compiler")
def test_gcc_answers_as_the_table_says():
    """Each attribute, function and header of the table is there; others are not."""
    gcc = table("compilers")["gcc"]
    builtins = [*gcc["builtins"], *(f"__builtin_{name}" for name in gcc["prefixed_builtins"])]
    asked = [f"__has_builtin({name})" for name in builtins]
    asked += [f"__has_{kind}attribute({name})" for name in gcc["attributes"] for kind in ("", "cpp_")]
    asked += [f"__has_cpp_attribute(gnu::{name})" for name in gcc["attributes"]]
    asked += [f"__has_c_attribute(gnu::{name})" for name in gcc["attributes"]]
    asked += ["__has_cpp_attribute({}) == {}".format(*one.split("=")) for one in gcc["numbered_attributes"]]
    asked += [f"__has_include(<{name}>)" for name in gcc["headers"]]
    asked += [f"!__has_include(<{name}>)" for name in gcc["lacking_headers"]]
    text = "".join(f"#if !({one})\nwrong {one}\n#endif\n" for one in asked)
    command = ["g++", "-x", "c++", "-std=c++17", "-E", "-P", "-"]
    found = subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout
    assert found.strip() == ""
