"""What NVRTC ignores and nvcc does not is an error, whichever way it is compiled and however it is hidden."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest
from raw_nvrtc import compile_raw

from hatch_cuda_kernels import NvrtcOptions, build_kernels, compile_to_cubin, compile_to_ptx
from hatch_cuda_kernels.compiler.attributes import judged_log
from hatch_cuda_kernels.compiler.job import Program
from hatch_cuda_kernels.errors import BuildError, CompileError

KERNEL = 'extern "C" __global__ void k(int* y) { *y = 1; }\n'
BEHIND = "write it behind the word struct, class, union or enum"
PACKED = "struct S { char c; int i; } __attribute__((packed));"


def compiled(source, **options):
    """Return what a source with a kernel compiles to, with nothing cut or moved."""
    options = {"host_code": "keep", **options}
    return compile_to_ptx(source + KERNEL, arch="sm_90", options=NvrtcOptions(**options), use_cache=False)


@pytest.mark.parametrize(
    ("source", "place", "name", "fix"),
    [
        (PACKED, "1:44", "packed", BEHIND),
        ("struct S { char c; int i; }\n  __attribute__((__packed__, used))\n;", "2:30", "__packed__", BEHIND),
        ("struct S { int i; } /* of 16 */ __attribute__((aligned(16)));", "1:48", "aligned", BEHIND),
        ("struct S { int i; } __align__(16);", "1:21", "__align__", BEHIND),
        ("typedef struct { char c; int i; } __attribute__((packed)) S;", "1:50", "packed", BEHIND),
        ("union U { char c; int i; } __attribute__((packed));", "1:43", "packed", BEHIND),
        ("enum E { e } __attribute__((packed));", "1:29", "packed", BEHIND),
        ("#define PACKED __attribute__((packed))\nstruct S { char c; int i; } PACKED;", "2:29", "packed", BEHIND),
        ("#define END(x) } __attribute__((packed))\nstruct S { char c; int i; END();", "2:27", "packed", BEHIND),
        ("struct [[gnu::packed]] S { char c; int i; };", "1:10", "gnu::packed", "write __attribute__((packed)) in its"),
        ("struct S { char c; [[gnu::aligned(16)]] int i; };", "1:22", "gnu::aligned", "write alignas(N)"),
        ("struct E {}; struct S { [[no_unique_address]] E e; int i; };", "1:27", "no_unique_address", "'std: c++20'"),
        ("typedef float V __attribute__((vector_size(16)));", "1:32", "vector_size", "no vectors of GNU C"),
        ('#line 7 "made.cu"\n' + PACKED, "7:44", "packed", BEHIND),
    ],
)
def test_what_decides_a_layout_and_is_ignored_is_an_error(source, place, name, fix):
    """The error has the place, the attribute, and where to write it."""
    with pytest.raises(CompileError) as caught:
        compiled(f"{source}\n")
    file = "made.cu" if "made" in source else "source.cu"
    (fault,) = caught.value.faults
    assert fault.startswith(f"{file}:{place}: error: NVRTC ignores attribute {name} here, and nvcc does not")
    assert fix in fault.partition("to fix: ")[2]


@pytest.mark.parametrize(
    ("source", "options"),
    [
        ("struct __attribute__((packed)) S { char c; int i; }; static_assert(sizeof(S) == 5);", {}),
        ("struct S { char c; int i __attribute__((packed)); }; static_assert(sizeof(S) == 5);", {}),
        ("struct S { int i; } __attribute__((used));", {}),
        ("__device__ void f(); __attribute__((packed)) struct S { int i; };", {}),
        ("namespace n {} __attribute__((packed)) struct S { int i; };", {}),
        ("[[gnu::noinline]] __device__ int f() { return 1; }", {}),
        (
            "struct E {}; struct S { [[no_unique_address]] E e; int i; }; static_assert(sizeof(S) == 4);",
            {"std": "c++20"},
        ),
        ('#pragma push_macro("min")\n#undef min\n#pragma pop_macro("min")', {}),
        ("#pragma omp parallel for", {}),
    ],
)
def test_what_changes_nothing_is_none(source, options):
    """Attributes that NVRTC heeds, that decide no layout, or that no compiler heeds there, compile as before."""
    compiled(f"{source}\n", **options)


def test_what_stands_behind_a_class_is_moved_to_where_it_is_heeded():
    """By default, the layout is nvcc's."""
    compiled(f"{PACKED}\nstatic_assert(sizeof(S) == 5);\n", host_code="auto")


HIDDEN = {
    "w": ("", ("-w",)),
    "suppressed": ("", ("--diag-suppress=177,1866,1835",)),
    "no numbers": ("", ("--no-display-error-number",)),
    "brief": ("", ("--brief-diagnostics=true",)),
    "pragma": ("#pragma nv_diag_suppress 177, 1866\n", ()),
    "pragma by name": ("#pragma nv_diag_remark unattached_attribute\n", ()),
    "in a macro": ('#define QUIET _Pragma("nv_diag_suppress 1866")\nQUIET\n', ()),
}


@pytest.mark.slow
@pytest.mark.parametrize(("before", "extra"), HIDDEN.values(), ids=HIDDEN)
def test_nothing_hides_it(before, extra):
    """Flags and pragmas that turn warnings off do not turn the error off."""
    with pytest.raises(CompileError, match=r"source\.cu:\d:44: error: NVRTC ignores attribute packed here"):
        compiled(f"{before}{PACKED}\n", extra=extra)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("extra", "log"),
    [
        (("-w",), ""),
        (("--diag-suppress=177,1866",), ""),
        (("--diag-suppress=1866",), r"\(3\): warning #177-D: variable"),
        (("--no-display-error-number", "--diag-suppress=1866"), r"\(3\): warning: variable"),
        (
            ("--brief-diagnostics=true",),
            r"\(1\): warning #1866-D: attribute does not apply to any entity\n(?!  )",
        ),
    ],
)
def test_the_log_is_as_flags_ask_for(extra, log):
    """Flags for warnings do to the log what they do to NVRTC's, where all of it is harmless."""
    source = "struct S { int i; } __attribute__((used));\n__global__ void f() {\n  int unused = 1;\n}\n"
    found = compiled(source, extra=extra).log
    assert re.search(log, found) if log else not found


def test_a_macro_that_would_come_back_is_an_error():
    """Where a macro has another value in between, NVRTC would go on with that."""
    source = '#define N 1\n#pragma push_macro("N")\n#undef N\n#define N 2\n#pragma pop_macro("N")\n'
    with pytest.raises(
        CompileError, match=r"source\.cu:5:9: error: NVRTC ignores #pragma pop_macro.*: N keeps"
    ) as caught:
        compiled(source)
    assert "to fix: write #undef and #define in its place" in str(caught.value)
    by_macro = source.replace("#pragma pop_macro", '#define POP _Pragma("pop_macro(\\"N\\")")\nPOP //')
    with pytest.raises(CompileError, match=r"source\.cu:6:1: error: NVRTC ignores #pragma pop_macro.*: N keeps"):
        compiled(by_macro)


@pytest.mark.slow
@pytest.mark.parametrize("front_end", ["per-arch", "lto", "ptx"])
def test_on_every_route_of_a_build(front_end, write, tmp_path, fresh_cache):
    """A build fails with the project's file and line, whatever makes its images; so does a header."""
    write("k.cu", f'#include "s.h"\n{KERNEL}')
    write("s.h", f"\n{PACKED}\n")
    manifest = write(
        "kernels.yaml",
        f"schema: 1\narches: [sm_80, sm_90]\noptions: {{host_code: keep}}\n"
        f"modules: {{k: {{source: k.cu, front_end: {front_end}}}}}\n",
    )
    with pytest.raises(BuildError, match=r"s\.h:2:44: error: NVRTC ignores attribute packed here"):
        build_kernels(manifest, tmp_path, jobs=1)


@pytest.mark.slow
def test_where_a_cubin_is_made_of_text_at_run_time(fresh_cache):
    """A stand-alone compile, with the cache, raises it each time."""
    for _ in range(2):
        with pytest.raises(CompileError, match="NVRTC ignores attribute packed here"):
            compile_to_cubin(f"{PACKED}\n{KERNEL}", arch="sm_90", options=NvrtcOptions(host_code="keep"))


ATTRIBUTES = ["packed", "__packed__", "aligned(16)", "aligned", "packed, aligned(2)", "used", 'visibility("hidden")']
SPELLINGS = [lambda text: f"__attribute__(({text}))", lambda text: f"[[gnu::{text.replace(', ', ', gnu::')}]]"]
BODY = "{{ char c; int i; long b : 3; E e; }}"
DECLARATIONS = [
    f"struct {{A}} T {BODY};",
    f"struct T {BODY} {{A}};",
    f"{{A}} struct T {BODY};",
    f"typedef struct {{A}} {BODY} T;",
    f"typedef struct {BODY} {{A}} T;",
    f"typedef struct {BODY} T {{A}};",
    f"using T = struct {{A}} {BODY};",
    "typedef int T {A};",
    "struct T {{ char c; {A} int i; E e; }};",
    "struct T {{ char c; int i {A}; E e; }};",
    "struct T {{ {A} E e; int i; }};",
    "struct T {{ char c; struct {A} {{ char d; int j; }} i; }};",
    "struct T {{ char c; struct {{ char d; int j; }} {A}; }};",
    "enum {A} T {{ e }};",
    "enum T {{ e }} {A};",
    "typedef enum {{ e }} {A} T;",
    "union {A} T {{ char c; int i; }};",
    "union T {{ char c; int i; }} {A};",
    "struct B {{ char c; int i; }}; struct {A} T : B {{ char d; int j; }};",
    "template <class X> struct {A} V {{ char c; X i; }}; typedef V<int> T;",
    "struct T {{ struct N {{ char c; int i; }} {A}; char q; N n; }};",
]


def sizes(ptx):
    """Return the number that each kernel stores."""
    found = re.finditer(r"\.entry k(\d+)\(.*?mov\.\w+\s+%r\d+, (\d+);", ptx, re.DOTALL)
    return {int(kernel[1]): int(kernel[2]) for kernel in found}


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("nvcc") is None, reason="there is no nvcc to compare with")
def test_every_layout_that_differs_from_nvccs_is_an_error(tmp_path):
    """Of 294 declarations with attributes, each whose size or alignment is another with nvcc is an error here."""
    made = [
        declaration.format(A=spelled(attribute))
        for declaration in DECLARATIONS for spelled in SPELLINGS for attribute in ATTRIBUTES
    ]  # fmt: skip
    lines = ["struct E {};"]
    for number, declaration in enumerate(made):
        size = f"sizeof(n{number}::T) * 1000 + alignof(n{number}::T)"
        lines.append(f"namespace n{number} {{ {declaration} }}")
        lines.append(f'extern "C" __global__ void k{number}(int* y) {{ *y = {size}; }}')
    source = "\n".join(lines) + "\n"
    (tmp_path / "k.cu").write_text(source)
    command = ["nvcc", "-ptx", "-w", "-arch=sm_90", "-std=c++17", "k.cu"]
    subprocess.run(command, cwd=tmp_path, check=True)
    theirs, found = sizes((tmp_path / "k.ptx").read_text()), compile_raw(source, "--std=c++17", arch="compute_90")
    ours = sizes(found.ptx)
    program = Program(
        source=source, name="/dev/null/hatch-cuda-kernels/k.cu", headers=(), pre_include=(), outside=(), computed=()
    )
    told = {int(line) for line in re.findall(r"\((\d+)\): error: NVRTC ignores", judged_log(found.log, program, ()))}
    differ = {number for number in range(len(made)) if ours[number] != theirs[number]}
    assert len(ours) == len(theirs) == len(made) == 294
    assert len(differ) > 80
    assert [made[number] for number in sorted(differ) if 2 * number + 2 not in told] == []
    assert len(told) - len(differ) < 40  # that gcc and nvcc do not heed there either
