"""A compile gives what it would give in a new process, whatever NVRTC was asked for before it."""

from __future__ import annotations

import subprocess
import sys

import pytest
from small_jobs import job_of

from hatch_cuda_kernels.child_process import call_in_child
from hatch_cuda_kernels.compiler import nvrtc, nvrtc_calls
from hatch_cuda_kernels.compiler.nvrtc import run_job
from hatch_cuda_kernels.errors import CompileError
from hatch_cuda_kernels.options import NvrtcOptions

ALIAS = 'extern "C" __global__ void k(float* y, const float* x) { y[0] = x[0]; y[1] = x[0]; }'
#: Sources that show what a compiler was told about: aliases, calls, arithmetic, conversions, warnings, host functions.
SOURCES = {
    "alias": ALIAS,
    "calls": """
        #include <cassert>
        extern "C" __global__ void k(int* y) { assert(y[0] > 3); printf("%d\\n", y[0]); }
    """,
    "arithmetic": """
        extern "C" __global__ void k(float* y, const float* x, double* z) {
            y[0] = y[0] / x[0] + sqrtf(x[1]) * sinf(x[2]) + y[3] * 1e-40f;
            z[0] /= z[1];
        }
    """,
    "local memory": """
        extern "C" __global__ void k(int* y, int n) { int a[40]; for (int i = 0; i < n; ++i) a[y[i]] = i; y[0] = a[n]; }
    """,
    "warning": 'extern "C" __global__ void k(float* y) { int unused; return; y[0] = 1.0; }',
    "pragma": '#pragma nv_diag_suppress 177\n#pragma nv_diag_error 20\nextern "C" __global__ void k() { int unused; }',
    "dialect": 'extern "C" __global__ void k(int* y) { y[0] = __cplusplus; }',
    "host function": 'int f(int a) { return a + 1; }\nextern "C" __global__ void k(int* y) { y[0] = f(y[0]); }',
    "broken": 'extern "C" { namespace a { template <class T> struct Q {',
}
#: Every option of a manifest that NVRTC is given as a flag.
OPTIONS = (
    *({"use_fast_math": True}, {"ftz": True}, {"prec_div": False}, {"prec_sqrt": False}, {"fma": False}),
    *({"maxrregcount": 20}, {"lineinfo": True}, {"debug": True}, {"lto": True}, {"default_device": True}),
    *({"std": "c++14"}, {"std": "c++20"}, {"define": (("k", "kernel"),)}),
)
#: Compiles as other libraries do, and then as this package does.
AFTER_OTHERS = """
from cuda.bindings import nvrtc

source = b"__global__ void other(float* y, const float* x) { *y = *x; }"
_, program = nvrtc.nvrtcCreateProgram(source, b"other.cu", 0, [], [])
nvrtc.nvrtcCompileProgram(program, 2, [b"-arch=compute_80", b"--restrict"])

from hatch_cuda_kernels import compile_to_ptx

for name in ("first", "second"):
    made = compile_to_ptx(SOURCE.replace("k(", f"{name}("), arch="compute_80")
    print(b"ld.global.nc" in made.image)
"""

#: Every variable that NVRTC and nvJitLink were seen to ask for, by a getenv that writes down what is asked.
VARIABLES = {
    "NVRTC_APPEND_FLAGS": "-use_fast_math",
    "NVRTCWIZ": "1",
    "NVVM_IR_VER_CHK": "0",
    "LIBNVVM_NVVM_VERSION": "1.0",
    "LLVM_OVERRIDE_PRODUCER": "another",
    "CAN_FINALIZE_DEBUG": "1",
    **dict.fromkeys(("EDG_BASE", "EDG_MODULES_PATH", "PWD"), "/nowhere"),
}


@pytest.fixture
def make_job(write, tmp_path):
    """Return a function that writes a source and makes the job of its CUBIN."""

    def make(source, **options):
        write("p/k.cu", source)
        return job_of(tmp_path / "p", arch="sm_90", kinds=("cubin",), options=NvrtcOptions(**options))

    return make


def outcome_of(job):
    """Return the image and the log of a job, or the log of a compile that fails."""
    try:
        compiled = run_job(job)
    except CompileError as error:
        return error.log
    return compiled.images, compiled.log


@pytest.mark.slow
@pytest.mark.parametrize(("flag", "source"), [("--restrict", "alias"), ("-Ofc=mid", "calls")])
def test_a_flag_of_one_module_has_no_effect_on_the_next(make_job, flag, source, monkeypatch):
    """Each of these flags changes the image it is given for, and no other; NVRTC by itself would remember it."""
    monkeypatch.setattr(nvrtc, "is_tainted", nvrtc_calls.is_tainted)  # after every compile, as outside the tests
    job, flagged = make_job(SOURCES[source]), make_job(SOURCES[source], extra=(flag,))
    before = run_job(job).images
    assert run_job(flagged).images != before
    assert run_job(job).images == before
    assert not nvrtc_calls.is_tainted()


@pytest.mark.slow
def test_flags_that_others_gave_nvrtc_have_no_effect():
    """Where another library of the process compiled with ``--restrict``, pointers may overlap all the same."""
    code = f"SOURCE = {ALIAS!r}\n{AFTER_OTHERS}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]


@pytest.mark.slow
def test_a_compile_in_a_process_of_its_own_says_what_is_wrong(make_job):
    """The error of the source comes through from there."""
    with pytest.raises(CompileError, match='identifier "nonsense" is undefined'):
        run_job(make_job('extern "C" __global__ void k() { nonsense; }', extra=("--restrict",)))


def test_no_option_leaves_a_trace(make_job, slow):
    """After every source was compiled with every option, each gives what it gave at first, its log included.

    What compilers keep, they keep for good: a sixth of the sources looks after each option, and all at the end.
    """
    plain = {(name, lto): make_job(text, lto=lto) for name, text in SOURCES.items() for lto in (False, True)}
    before = {which: outcome_of(job) for which, job in plain.items()}
    for at, options in enumerate(OPTIONS):
        for text in SOURCES.values():
            outcome_of(make_job(text, **options))
        looking = [*plain][at % 6 :: 6] if options is not OPTIONS[-1] else [*plain]
        assert [which for which in looking if outcome_of(plain[which]) != before[which]] == [], options


def test_no_variable_that_compilers_ask_for_shows_in_an_image(make_job, monkeypatch, slow):
    """In a process that has all of them, images and logs are the same."""
    jobs = [make_job(SOURCES["arithmetic"], **options) for options in ({}, {"lto": True}, {"debug": True})]
    here = [outcome_of(job) for job in jobs]
    for name, value in VARIABLES.items():
        monkeypatch.setenv(name, value)
    assert [call_in_child(outcome_of, job) for job in jobs] == here


MEANING = """static_assert(char(-1) < 0, "plain char is signed");
static_assert(sizeof(long) == 8 && sizeof(1l) == 8 && sizeof(size_t) == 8, "long has 64 bits");
struct Base { __device__ Base(); int n; char c; };
struct Derived : Base { char d; };
static_assert(sizeof(Derived) == 8, "members fill the padding of a base class");
#if defined(_WIN32) || defined(_WIN64) || !defined(__LP64__)
#error this source is read as for Windows
#endif
extern "C" __global__ void k(int* y, const char* x, long n) { y[0] = x[n] >> 1; y[1] = x[1] < 0; }
template <typename T> __global__ void of(T* y, size_t n) { y[n] = 0; }
template __global__ void of(unsigned long*, size_t);"""


@pytest.mark.parametrize("flags", [("-Xcudafe=--signed_chars",), nvrtc_calls.ON_WINDOWS], ids=["aarch64", "Windows"])
@pytest.mark.parametrize("options", [{}, {"lto": True}, {"debug": True}])
def test_a_source_means_the_same_on_every_host(tmp_path, monkeypatch, options, flags):
    """NVRTC elsewhere goes by that host's rules; what tells it not to changes nothing where they are these anyway."""
    (tmp_path / "k.cu").write_text(MEANING)
    job = job_of(tmp_path, options=NvrtcOptions(**options))
    here = run_job(job)
    monkeypatch.setattr(nvrtc_calls, "HOST_FLAGS", flags)
    assert run_job(job).images == here.images
