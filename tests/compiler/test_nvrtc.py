"""Compiling with the real NVRTC: images, names, logs, determinism."""

from __future__ import annotations

import os
import pickle
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path

import pytest
from processes import linux
from small_jobs import job_of

from hatch_cuda_kernels.compiler import nvrtc
from hatch_cuda_kernels.compiler.binary.cubin import read_cubin
from hatch_cuda_kernels.compiler.nvrtc import run_job
from hatch_cuda_kernels.compiler.toolchain.toolchain import Toolchain, load_toolchain
from hatch_cuda_kernels.errors import CompileError
from hatch_cuda_kernels.options import NvrtcOptions

TEMPLATES = """
namespace ns { template <typename T, int N> __global__ void fill(T* y, T v) { if (threadIdx.x < N) y[threadIdx.x] = v; }
__constant__ float table[4]; }
extern "C" __global__ void plain(float* y) { y[0] = ns::table[0]; }
__global__ void cpp_linkage(int n) {}
__global__ void overloaded(int n) {}
__global__ void overloaded(float n) {}
"""


@pytest.fixture
def make_job(write, tmp_path):
    """Return a function that writes a source and makes a job of it."""

    def make(source, *, arch="sm_90", kinds=("cubin", "ptx"), names=(), variables=(), **options):
        write("p/k.cu", source)
        return job_of(
            tmp_path / "p", arch=arch, kinds=kinds, options=NvrtcOptions(**options), names=names, globals=variables
        )

    return make


def test_one_compile_gives_cubin_and_ptx(make_job):
    """A real architecture's compile also gives the PTX of its virtual form."""
    compiled = run_job(make_job('extern "C" __global__ void k(float* y, int n, double d) {}'))
    assert read_cubin(compiled.images["cubin"]).sm == 90
    assert b".target sm_90" in compiled.images["ptx"]
    major, minor = compiled.toolchain.release
    assert compiled.ptx_isa == (major - 4, minor)
    assert compiled.kernels[0].params == ("u64", "u32", "f64")
    assert compiled.resources["k"]["registers"] > 0


def test_names_are_really_lowered(make_job):
    """Instances, namespaces and variables get NVRTC's own mangled names; unlisted kernels are found."""
    compiled = run_job(make_job(TEMPLATES, names=("ns::fill<float, 2 + 2>",), variables=("ns::table",)))
    lowered = {symbol.name: symbol.lowered for symbol in (*compiled.kernels, *compiled.globals)}
    assert lowered == {
        "ns::fill<float, 2 + 2>": "_ZN2ns4fillIfLi4EEEvPT_S1_",
        "ns::table": "_ZN2ns5tableE",
        "plain": "plain",
        "cpp_linkage": "_Z11cpp_linkagei",
        "_Z10overloadedi": "_Z10overloadedi",
        "_Z10overloadedf": "_Z10overloadedf",
    }


def test_a_cast_names_an_overload(make_job):
    """Of templates and of others; it is found by its name, and its parameters have theirs."""
    more = "template <class T> __global__ void one(T* p) {}\ntemplate <class T> __global__ void one(T** p, int n) {}\n"
    names = ("(void (*)(float)) overloaded", "(void (*)(float**, int)) one<float>", "(void (*)(float*)) one<float>")
    found = {symbol.name: symbol for symbol in run_job(make_job(TEMPLATES + more, names=names)).kernels}
    assert [found[name].lowered for name in names] == ["_Z10overloadedf", "_Z3oneIfEvPPT_i", "_Z3oneIfEvPT_"]
    assert found[names[1]].names == ("p", "n")
    assert found["overloaded"].lowered == "_Z10overloadedi"


def test_lto_gives_ltoir_and_a_finished_cubin(make_job):
    """With lto, NVRTC's LTO-IR ships for virtual architectures and nvJitLink finishes the real one."""
    compiled = run_job(make_job(TEMPLATES, kinds=("cubin", "ltoir"), names=("ns::fill<int, 8>",), lto=True))
    assert set(compiled.images) == {"cubin", "ltoir"}
    assert read_cubin(compiled.images["cubin"]).sm == 90
    assert compiled.kernels[0].params == ("u64", "u32")


def test_unresolved_names_are_named(make_job):
    """An expression that does not resolve is told from those that do."""
    with pytest.raises(CompileError) as caught:
        run_job(make_job(TEMPLATES, names=("ns::fill<int, 8>", "ns::missing<int>")))
    assert caught.value.bad_names == ("ns::missing<int>",)
    assert "'ns::missing<int>': namespace \"ns\" has no member" in str(caught.value)


def test_a_device_function_is_no_kernel(make_job):
    """A name of something else than an entry point fails and is named."""
    with pytest.raises(CompileError, match="'helper': "):
        run_job(make_job("__device__ __noinline__ int helper(int i) { return i; }", names=("helper",)))


def test_a_job_without_kinds_asks_only_whether_nvrtc_takes_the_source(make_job):
    """What is wrong in the source, an instance or a name is said as in a compile; later ones are as they were."""
    text = "template <class T> __global__ void k(T* p) { static_assert(sizeof(T) == 4); *p = 1; }\n"
    job = replace(make_job(text, names=("k<int>",)), assembled=False)
    before = run_job(replace(job, kinds=("ptx",)))
    found = run_job(replace(job, kinds=()))
    assert found.images == {}
    for names, message in ((("k<double>",), "static assertion failed"), (("j<int>",), "cannot resolve a name")):
        with pytest.raises(CompileError, match=message):
            run_job(replace(job, kinds=(), names=names))
    assert run_job(replace(job, kinds=("ptx",))).images == before.images


def test_compile_errors_show_the_users_path_and_the_options(make_job):
    """The log names the file as the project does; the error pickles, as it travels from workers."""
    with pytest.raises(CompileError) as caught:
        run_job(make_job("int main( {", maxrregcount=40))
    error = pickle.loads(pickle.dumps(caught.value))
    assert "k.cu(1): error" in error.log
    assert "hatch-cuda-kernels/" not in error.log
    assert "--maxrregcount=40" in str(error)


def test_warnings_are_kept(make_job):
    """NVRTC's warnings come back without ptxas's statistics."""
    compiled = run_job(make_job('extern "C" __global__ void k() { int unused = 1; }'))
    assert "k.cu(1): warning" in compiled.log
    assert "ptxas" not in compiled.log


def test_spills_are_recorded(make_job):
    """A kernel squeezed into few registers reports its spills."""
    body = " ".join(f"float v{i} = x[{i}] * {i + 1}.5f;" for i in range(60))
    total = " + ".join(f"v{i} * v{59 - i}" for i in range(60))
    source = f'extern "C" __global__ void k(volatile float* x) {{ {body} x[0] = {total}; }}'
    compiled = run_job(make_job(source, maxrregcount=24))
    assert compiled.resources["k"]["spill_stores"] > 0


CUB = """
#include <cub/block/block_reduce.cuh>
extern "C" __global__ void k(float* x) {
    using Reduce = cub::BlockReduce<float, 128>;
    __shared__ typename Reduce::TempStorage storage;
    float sum = Reduce(storage).Sum(x[threadIdx.x]);
    if (threadIdx.x == 0) x[0] = sum;
}
"""


TOTAL = """
#include <cub/warp/warp_reduce.cuh>
template <typename T> __global__ void total(T* x) {
    using Reduce = cub::WarpReduce<T>;
    __shared__ typename Reduce::TempStorage storage;
    *x = Reduce(storage).Sum(x[threadIdx.x]);
}
"""


def compile_unseeded(job):
    """Compile without a seed, as NVRTC does by itself."""
    flags = nvrtc.compile_flags

    def unseeded(job, toolchain):
        return tuple(flag for flag in flags(job, toolchain) if "seed" not in flag)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nvrtc, "compile_flags", unseeded)
        return run_job(job).images


def compile_seeded(job):
    """Compile as the package does."""
    return run_job(job).images


def test_cub_images_are_the_same_in_every_process(make_job, slow):
    """Symbols of CUB's internal objects hold the process id, unless there is a seed: then other processes agree."""
    job = make_job(TOTAL, names=("total<float>",))
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        assert pool.submit(compile_unseeded, job).result()["cubin"] != compile_unseeded(job)["cubin"]
        assert pool.submit(compile_seeded, job).result() == compile_seeded(job)


def test_flags_search_the_toolkit_only_where_it_may_be_needed(make_job):
    """Folders of headers are searched for a toolkit header, a computed include and a wrapped probe, and else not."""
    found = Toolchain("13.0.88", include_dirs=("/toolkit",))
    texts = ["#include <cuda_fp16.h>", "#define H X\n#include H", "#define HAS(x) __has_include(x)"]
    assert all("-I/toolkit" in nvrtc.compile_flags(make_job(text), found) for text in texts)
    assert "-I/toolkit" not in nvrtc.compile_flags(make_job(TEMPLATES), found)


def test_a_wrapped_probe_sees_the_toolkit(make_job):
    """``HAS(<cuda_fp16.h>)`` is true where the header is installed, though nothing includes it in plain words."""
    source = (
        "#define HAS(x) __has_include(x)\n#if !HAS(<cuda_fp16.h>)\n#error not found\n#endif\n__global__ void k() {}\n"
    )
    assert run_job(make_job(source)).kernels


@pytest.mark.slow
def test_images_record_what_had_a_part_in_them(make_job):
    """The version of nvJitLink is recorded of what it finished, those of headers where some are included."""
    lto = run_job(make_job(TEMPLATES, kinds=("cubin",), lto=True)).toolchain.to_json()
    assert lto["nvjitlink"].startswith("13.")
    assert lto["headers"] == ""
    plain = run_job(make_job("#include <cuda_fp16.h>\n" + TEMPLATES)).toolchain.to_json()
    assert plain == {"nvrtc": lto["nvrtc"], "headers": load_toolchain().headers}


@pytest.mark.slow
def test_source_name_does_not_enter_the_image(make_job, write, tmp_path):
    """Two sources of equal text and different names share an image, unless they show their name."""
    first = make_job(CUB)
    write("p/other.cu", CUB)
    assert job_of(tmp_path / "p", "other.cu", module="other").program.sha256 == first.program.sha256
    shown = make_job("__global__ void k(const char** p) { *p = __FILE__; }")
    assert b"47, 104, 97, 116, 99, 104" in run_job(shown).images["ptx"]  # "/hatch": the virtual name
    assert shown.program.name.endswith("/k.cu")


SHOWS_DIRECTORY = {
    "LTO-IR": ({"lto": True}, "ltoir"),
    "debug information": ({"debug": True}, "cubin"),
    "line numbers": ({"lineinfo": True}, "cubin"),
}


@pytest.mark.slow
@pytest.mark.parametrize("apart", ["a thread of its own", "a process of its own", "after a compile that left a trace"])
@pytest.mark.parametrize(("options", "kind"), SHOWS_DIRECTORY.values(), ids=SHOWS_DIRECTORY.keys())
def test_the_working_directory_is_in_no_image(make_job, tmp_path, monkeypatch, apart, options, kind):
    """Two checkouts give one image under one key, and the caller stays in its own directory."""
    monkeypatch.setattr("hatch_cuda_kernels.compiler.nvrtc_calls._threads_can_move", lambda: "thread" in apart)
    monkeypatch.setattr(nvrtc, "is_tainted", lambda: "trace" in apart)
    made = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        source = '#line 1 "gen.cu"\nextern "C" __global__ void k(float* y) { *y = 1; }'
        job = make_job(source, kinds=(kind,), **options)
        made.append(run_job(job).images[kind])
        assert Path.cwd() == tmp_path / name
    assert made[0] == made[1]
    assert str(tmp_path).encode() not in made[0]


@pytest.mark.slow
@linux
@pytest.mark.parametrize("seen", [True, False], ids=["before", "meanwhile"])
def test_a_toolkit_folder_keeps_its_name_where_descriptors_are_taken(make_job, tmp_path, monkeypatch, seen):
    """Another process has them free, also if a thread takes one at the last moment; the caller's stay as they are."""
    if not seen:
        monkeypatch.setattr("hatch_cuda_kernels.compiler.nvrtc_calls._numbers_are_free", lambda _: True)
    text = "#include <cooperative_groups.h>\n__global__ void k(int* y) { *y = cooperative_groups::this_grid().size(); }"
    job = make_job(text, kinds=("ptx",), lineinfo=True)
    image = run_job(job).images
    assert b"/proc/self/fd/200/cooperative_groups.h" in image["ptx"]
    own = os.open(tmp_path, os.O_RDONLY)
    os.dup2(own, 200)
    try:
        assert run_job(job).images == image
        assert tmp_path.samefile("/proc/self/fd/200")
    finally:
        os.close(200)
        os.close(own)


def test_messages_name_toolkit_headers_as_they_are_installed(make_job):
    """What NVRTC says of them has their folder, whatever name it had there."""
    job = make_job("#include <crt/host_defines.h>\n__global__ void k() {}", lineinfo=True)
    log = run_job(job).log
    assert "must not be used directly" in log
    assert "/proc/self" not in log


def test_an_error_in_such_a_compile_is_the_users(make_job):
    """What NVRTC says of the source comes through from where the compile ran."""
    with pytest.raises(CompileError, match="NVRTC refused the source"):
        run_job(make_job("__global__ void k() { nonsense }", lto=True, kinds=("ltoir",)))
