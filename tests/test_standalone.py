"""Stand-alone compiles of source text."""

from __future__ import annotations

import contextlib
import logging
import os
import re
import shutil
import subprocess
import sys

import pytest

from hatch_cuda_kernels import NvrtcOptions, SmArch, compile_async, compile_to_cubin, compile_to_ptx
from hatch_cuda_kernels.compiler.binary.cubin import read_cubin
from hatch_cuda_kernels.errors import CompileError, InputError, KernelNotFoundError

TEMPLATE = "template <typename T> __global__ void twice(T* y) { y[threadIdx.x] *= 2; }"


@pytest.mark.slow
@pytest.mark.parametrize("arch", ["sm_90a", "compute_90a"])
def test_cubin_and_ptx(arch, fresh_cache):
    """Either spelling of the architecture gives either kind, with real lowered names."""
    cubin = compile_to_cubin(TEMPLATE, arch=arch, names=["twice<float>"])
    ptx = compile_to_ptx(TEMPLATE, arch=arch, names=["twice<float>"])
    assert (str(cubin.arch), str(ptx.arch)) == ("sm_90a", "compute_90a")
    assert read_cubin(cubin.image).arch == "sm_90a"
    assert b".target sm_90a" in ptx.image
    assert cubin.lowered_names == ptx.lowered_names == {"twice<float>": "_Z5twiceIfEvPT_"}


@pytest.mark.slow
def test_a_header_may_be_called_as_a_package_is(fresh_cache):
    """What is given counts, whatever is installed."""
    text = '#include "@pytest/given.h"\nextern "C" __global__ void k(int* x) { *x = GIVEN; }\n'
    found = compile_to_ptx(text, arch="sm_80", headers={"@pytest/given.h": "#define GIVEN 77\n"})
    assert b"77" in found.image


@pytest.mark.slow
def test_the_cache_is_used_and_can_be_left_out(fresh_cache):
    """A second compile of the same text is a hit; use_cache=False compiles again."""
    first = compile_to_cubin(TEMPLATE, arch="sm_80", names=["twice<int>"])
    again = compile_to_cubin(TEMPLATE, arch="sm_80", names=["twice<int>"])
    fresh = compile_to_cubin(TEMPLATE, arch="sm_80", names=["twice<int>"], use_cache=False)
    assert [first.cached, again.cached, fresh.cached] == [False, True, False]
    assert first.image == again.image == fresh.image


@pytest.mark.slow
def test_names_are_told_as_they_were_asked_for(fresh_cache):
    """An image that was recorded under one spelling of a name answers to each that is asked for, and to any other."""
    first = compile_to_cubin(TEMPLATE, arch="sm_80", names=["twice< int >"])
    again = compile_to_cubin(TEMPLATE, arch="sm_80", names=["twice<int>"])
    both = compile_to_cubin(TEMPLATE, arch="sm_80", names=["twice<int>", "twice <int>"])
    lowered = "_Z5twiceIiEvPT_"
    assert again.cached
    assert first.lowered_names == {"twice< int >": lowered}
    assert again.lowered_names == {"twice<int>": lowered}
    assert both.lowered_names == {"twice<int>": lowered, "twice <int>": lowered}
    assert again._symbol("twice < int >").lowered == lowered


@pytest.mark.slow
def test_what_a_cold_compile_refuses_a_warm_cache_refuses_too(fresh_cache):
    """Tokens that are not the same are not the same name, however alike they look."""
    source = "template <int N> __global__ void k(int* y) { *y = N; }"
    compile_to_cubin(source, arch="sm_80", names=["k<5 - -1>"])
    with pytest.raises(CompileError):
        compile_to_cubin(source, arch="sm_80", names=["k<5 --1>"])


@pytest.mark.slow
def test_headers_as_text_and_below_a_root(write, tmp_path, fresh_cache):
    """Headers come as text or from a project folder; an edit of either is another compile."""
    source = '#include "given.h"\n#include "found.h"\nextern "C" __global__ void k(int* y) { *y = GIVEN + FOUND; }'
    write("inc/found.h", "#define FOUND 2\n")
    settings = {"root": tmp_path, "options": NvrtcOptions(include=("inc",))}
    first = compile_to_ptx(source, arch="sm_80", headers={"given.h": "#define GIVEN 1\n"}, **settings)
    write("inc/found.h", "#define FOUND 3\n")
    second = compile_to_ptx(source, arch="sm_80", headers={"given.h": "#define GIVEN 1\n"}, **settings)
    third = compile_to_ptx(source, arch="sm_80", headers={"given.h": "#define GIVEN 5\n"}, **settings)
    assert len({first.image, second.image, third.image}) == 3
    assert not second.cached


@pytest.mark.slow
def test_headers_as_text_include_each_other(write, tmp_path, fresh_cache):
    """By either spelling, in folders, and files below the root, whose edit is another compile then, too."""
    headers = {
        "lib/a.h": '#include "b.h"\n#include <lib/deep/c.h>\n#include <found.h>\n#define A (B + C + FOUND)\n',
        "lib/b.h": "#define B 1\n",
        "lib/deep/c.h": '#include "../b.h"\n#define C B\n',
    }
    source = '#include <lib/a.h>\nextern "C" __global__ void k(int* y) { *y = A; }'
    settings = {"arch": "sm_80", "headers": headers, "root": tmp_path, "options": NvrtcOptions(include=("inc",))}
    write("inc/found.h", "#define FOUND 40\n")
    first = compile_to_ptx(source, **settings)
    assert re.search(rb"42;", first.image)
    write("inc/found.h", "#define FOUND 50\n")
    second = compile_to_ptx(source, **settings)
    assert not second.cached
    assert re.search(rb"52;", second.image)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"headers": {"../a.h": ""}}, r"'\.\./a\.h' must be a relative path without \.\."),
        ({"options": NvrtcOptions(extra=("-Iinc",))}, "-Iinc cannot be passed through"),
        ({"options": NvrtcOptions(include=("inc",))}, "pass root= with them"),
        ({"arch": "sm_9"}, "unknown architecture 'sm_9'"),
    ],
)
def test_what_the_key_cannot_cover_is_refused(settings, message):
    """Settings that would let unseen files into a compile are input errors."""
    with pytest.raises(InputError, match=message):
        compile_to_ptx("", **{"arch": "sm_80", **settings})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("plain", "other"),
    [
        ({"source": TEMPLATE}, {"source": TEMPLATE.encode()}),
        ({"arch": "sm_80"}, {"arch": (8, 0)}),
        ({"names": ["twice<int>"]}, {"names": "twice<int>"}),
        ({"headers": {"a.h": ""}}, {"headers": {"a.h": b""}}),
        (
            {"options": NvrtcOptions(std="c++20", use_fast_math=True, define=(("N", "4"), ("M", None)))},
            {"options": {"std": "c++20", "use_fast_math": True, "define": {"N": 4, "M": None}}},
        ),
    ],
)
def test_arguments_in_other_forms(plain, other, fresh_cache):
    """Bytes, a compute capability, a single name and a dict of options are taken for what they say."""
    settings = {"source": TEMPLATE, "arch": "sm_80", "names": ["twice<int>"]}
    first = compile_to_cubin(**{**settings, **plain})
    assert compile_to_cubin(**{**settings, **other}) == first._replace(cached=True)


NEITHER = r"'sm_90', a compute capability such as \(9, 0\), or an SmArch, not"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"source": None}, "source takes C\\+\\+ text, as str or bytes, not None"),
        ({"arch": 90}, rf"arch takes text such as {NEITHER} 90"),
        ({"arch": None}, rf"arch takes text such as {NEITHER} None"),
        ({"options": "-w"}, r"options takes an NvrtcOptions or a dict such as \{'use_fast_math': True\}, not '-w'"),
        ({"options": {"fast_math": True}}, "options: there is no option 'fast_math'; there are std, use_fast_math"),
        ({"options": {"std": "c++11"}}, r"options: std takes 'c\+\+14' or 'c\+\+17' or 'c\+\+20', not 'c\+\+11'"),
        ({"options": {"lineinfo": 1}}, "options: lineinfo takes True or False, not 1"),
        ({"options": {"maxrregcount": "32"}}, "options: maxrregcount takes an integer, not '32'"),
        ({"options": NvrtcOptions(include="inc")}, "options: include takes a tuple or list of str, not 'inc'"),
        (
            {"options": {"define": "N"}},
            "options: define takes a dict of macros and their texts, or pairs of these, not 'N'",
        ),
        ({"names": [b"k"]}, r"names takes name expressions such as \['twice<float>'\], not \[b'k'\]"),
        ({"headers": ["a.h"]}, "headers takes a dict from include name to text"),
        ({"headers": {"a.h": 1}}, r"headers\['a.h'\] takes C\+\+ text, as str or bytes, not 1"),
        ({"root": 1}, "root takes the path of a folder, not 1"),
    ],
)
def test_arguments_of_other_types_are_told_what_is_taken(settings, message):
    """The TypeError names the argument, what it takes and what it got; compile_async raises it at once."""
    for function in (compile_to_ptx, compile_async):
        with pytest.raises(TypeError, match=message):
            function(**{"source": TEMPLATE, "arch": "sm_80", **settings})


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"source": b"\xff"}, "source is not UTF-8"),
        ({"source": "\ud800"}, "source is not UTF-8"),
        ({"root": "/nowhere/at/all"}, "root: the folder /nowhere/at/all"),
        ({"kind": "fatbin"}, "kind is 'cubin' or 'ptx' without the option lto, not 'fatbin'"),
        ({"kind": "ltoir"}, "kind is 'cubin' or 'ptx' without the option lto, not 'ltoir'"),
        ({"arch": "sm90"}, r"unknown architecture 'sm90'; NVRTC \d+\.\d+\.\d+ knows sm_[57][05], .*sm_90, "),
        ({"arch": (9, -1)}, r"unknown architecture \(9, -1\); NVRTC .* knows "),  # has the number of sm_89
        ({"arch": SmArch(8, 10)}, r"unknown architecture SmArch\(major=8, minor=10, .*\); NVRTC .* knows "),
    ],
)
def test_values_that_cannot_be_used_are_input_errors(settings, message):
    """Each is named before anything is compiled."""
    with pytest.raises(InputError, match=message):
        compile_async(**{"source": TEMPLATE, "arch": "sm_80", **settings})


@pytest.mark.parametrize("arch", ["sm_99", "sm_75a", (1, 0)])
def test_an_architecture_that_nvrtc_does_not_know(arch):
    """The error lists those that it knows."""
    with pytest.raises(CompileError, match=r"to fix: NVRTC \d+\.\d+\.\d+ knows sm_[57][05], .*; from sm_90 on with a"):
        compile_to_ptx(TEMPLATE, arch=arch, use_cache=False)


def test_an_absolute_include_is_refused(write, tmp_path):
    """A file outside what is hashed cannot be included by its path."""
    outside = write("outside.h", "#define X 1\n")
    with pytest.raises(InputError):
        compile_to_ptx(f'#include "{outside}"\n', arch="sm_80")


@pytest.mark.slow
def test_async_compiles_leave_this_thread_free(fresh_cache):
    """A Future gives the result or raises the error, while this thread goes on."""
    good = compile_async(TEMPLATE, arch="sm_80", names=["twice<double>"])
    bad = compile_async("broken", arch="sm_80")
    with pytest.raises(CompileError, match=r"source.cu:1:1: error"):
        bad.result()
    assert good.result().lowered_names == {"twice<double>": "_Z5twiceIdEvPT_"}


@pytest.mark.slow
def test_an_unknown_kernel_suggests_the_others(fresh_cache):
    """Asking a compiled source for a kernel it lacks names those it has."""
    compiled = compile_to_cubin(TEMPLATE, arch="sm_80", names=["twice<int>"])
    with pytest.raises(KernelNotFoundError, match="did you mean 'twice<int>'"):
        compiled.get_kernel("twice<float>")


@pytest.mark.slow
def test_a_jit_is_told_on_the_logger(example_store, fresh_cache, caplog):
    """A run-time compile says what, why, how long, and how to avoid it."""
    from hatch_cuda_kernels import open_store

    with caplog.at_level(logging.INFO, logger="hatch_cuda_kernels"):
        open_store(example_store).find_image("saxpy", arch="sm_75")
    started, finished = (record.message for record in caplog.records)
    assert started.startswith("compiling saxpy (saxpy) for sm_75 with NVRTC 1")
    assert "not prebuilt: the package was built for sm_80, compute_80, sm_90, sm_120" in started
    assert "recorded for the next process" in finished
    assert "ship sm_75, or set HATCH_CUDA_KERNELS_JIT=0 to forbid it" in finished


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="a file in place of a folder fails differently")
def test_what_was_not_recorded_is_not_told_as_recorded(example_store, fresh_cache, caplog):
    """Where the cache cannot be written, the log says that each process compiles again."""
    from hatch_cuda_kernels import open_store

    fresh_cache.write_text("in the way")
    with (
        caplog.at_level(logging.INFO, logger="hatch_cuda_kernels"),
        pytest.warns(RuntimeWarning, match="is a file, not a folder"),
    ):
        open_store(example_store).find_image("saxpy", arch="sm_75")
    finished = caplog.records[-1].message
    assert "not recorded, so that each process compiles it again" in finished


#: A compile that takes half a second of the clock, and little of the processor.
PROGRESS = """
import sys, time
from pathlib import Path
from hatch_cuda_kernels import compiler, open_store
from hatch_cuda_kernels.runtime.ladder import compile_rungs

run_job = compiler.run_job
compiler.run_job = lambda job: time.sleep(0.5) or run_job(job)
compile_rungs._NOTICEABLE = 0.0  # however fast the compile is
open_store(Path(sys.argv[1])).find_image("saxpy", arch="sm_75")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pseudo terminals")
def test_a_long_jit_shows_that_it_is_no_hang(example_store, fresh_cache, slow):
    """On a terminal a line counts the seconds of a compile, and is gone after it; a log file gets no such line."""
    import pty

    command = [sys.executable, "-c", PROGRESS, str(example_store)]
    terminal, theirs = pty.openpty()
    shown = b""
    with subprocess.Popen(command, stderr=theirs) as process:
        os.close(theirs)
        with contextlib.suppress(OSError), os.fdopen(terminal, "rb") as file:
            while part := file.read1():
                shown += part
    assert process.returncode == 0
    assert b"\rcompiling saxpy (saxpy) for sm_75 with NVRTC" in shown
    assert re.search(rb" \.\.\. \d+ s", shown)
    assert shown.split(b"\x1b[K")[-1].startswith(b"compiled saxpy")
    shutil.rmtree(fresh_cache)
    logged = subprocess.run(command, stderr=subprocess.PIPE, check=True).stderr
    assert b"\r" not in logged
