"""The key: what must change it, and what must not."""

from __future__ import annotations

import dataclasses
import os
import re

import pytest
from small_jobs import job_of

from hatch_cuda_kernels.arch import SmArch
from hatch_cuda_kernels.compiler.toolchain.toolchain import Toolchain
from hatch_cuda_kernels.errors import InputError
from hatch_cuda_kernels.options import CppStd, NvrtcOptions

TOOLCHAIN = Toolchain("13.0.88", "cccl 13.0.85, cudart 13.0.96", ("/anywhere",))


@pytest.fixture
def project(write, tmp_path):
    """Return a project whose source includes a header two deep, one from the include path, and a toolkit header."""
    write("p/k.cu", '#include "a.h"\n#include <lib/b.h>\n#include <cuda_fp16.h>\n__global__ void k() {}\n')
    write("p/a.h", '#include "deep/c.h"\n')
    write("p/deep/c.h", "#define C 1\n")
    write("p/two/lib/b.h", "#define B 2\n")
    (tmp_path / "p/one").mkdir()
    return tmp_path / "p"


def key(root, *, toolchain=TOOLCHAIN, kind="cubin", **changes):
    """Return the key of the baseline job with some changes."""
    options = changes.pop("options", NvrtcOptions(include=("one", "two"), define=(("X", "1"), ("Y", "2"))))
    job = job_of(root, options=options, names=("k", "t<1>"))
    return dataclasses.replace(job, **changes).key(kind, toolchain)


def options(**changes):
    """Return the baseline options with changes."""
    return dataclasses.replace(NvrtcOptions(include=("one", "two"), define=(("X", "1"), ("Y", "2"))), **changes)


DIFFERS = {
    "arch": {"arch": SmArch(8, 0)},
    "suffix": {"arch": SmArch(9, 0, "a")},
    "kind": {"kind": "ptx"},
    "std": {"options": options(std=CppStd.CPP20)},
    "use_fast_math": {"options": options(use_fast_math=True)},
    "ftz": {"options": options(ftz=True)},
    "ftz false is not unset": {"options": options(ftz=False)},
    "prec_div": {"options": options(prec_div=False)},
    "prec_sqrt": {"options": options(prec_sqrt=False)},
    "fma": {"options": options(fma=False)},
    "maxrregcount": {"options": options(maxrregcount=64)},
    "lineinfo": {"options": options(lineinfo=True)},
    "debug": {"options": options(debug=True)},
    "lto": {"options": options(lto=True)},
    "define value": {"options": options(define=(("X", "3"), ("Y", "2")))},
    "define order": {"options": options(define=(("Y", "2"), ("X", "1")))},
    "define dropped": {"options": options(define=(("X", "1"),))},
    "extra": {"options": options(extra=("--restrict",))},
    "names": {"names": ("k",)},
    "globals": {"globals": ("g",)},
    "NVRTC patch version": {"toolchain": Toolchain("13.0.89", TOOLCHAIN.headers)},
    "toolkit header version": {"toolchain": Toolchain("13.0.88", "cccl 13.0.86, cudart 13.0.96")},
}


@pytest.mark.parametrize("change", DIFFERS.values(), ids=DIFFERS.keys())
def test_differs_on(project, change):
    """Whatever can change an image changes its key."""
    assert key(project, **change) != key(project)


EDITS = {
    "source": ("k.cu", "\n"),
    "header": ("a.h", "\n"),
    "header two deep": ("deep/c.h", "#define D 1\n"),
    "header from the include path": ("two/lib/b.h", "\n"),
    "a header that shadows a later one": ("one/lib/b.h", "#define B 2\n"),
    "a header beside the source that shadows the toolkit's": ("one/cuda_fp16.h", "\n"),
}


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS.keys())
def test_differs_on_file(project, edit):
    """Every file the compile can see is in the key, by content and by which one it is."""
    before = key(project)
    path = project / edit[0]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text((path.read_text() if path.exists() else "") + edit[1])
    assert key(project) != before


def test_same_on_an_include_folder_that_gives_nothing(project, write):
    """A longer list of folders is the same compile, until a header is found there first."""
    wider = options(include=("zero", "one", "two"))
    write("p/zero/other.h", "")
    assert key(project, options=wider) == key(project)
    write("p/zero/lib/b.h", "")
    assert key(project, options=wider) != key(project)


def test_differs_on_has_include(project):
    """A file that only ``__has_include`` asks for is in the key once it exists."""
    (project / "k.cu").write_text('#if __has_include("maybe.h")\n#endif\n')
    before = key(project)
    (project / "maybe.h").write_text("")
    assert key(project) != before


SAME = {
    "order of names": {"names": ("t<1>", "k")},
    "explicit default": {"options": options(std=CppStd.CPP17, use_fast_math=False)},
    "module name": {"module": "another"},
    "where the toolkit headers are": {"toolchain": Toolchain("13.0.88", TOOLCHAIN.headers, ("/elsewhere",))},
}


@pytest.mark.parametrize("change", SAME.values(), ids=SAME.keys())
def test_same_on(project, change):
    """What cannot change an image leaves the key alone."""
    assert key(project, **change) == key(project)


def test_same_on_mtime_checkout_path_cwd_user_and_locale(project, tmp_path, monkeypatch):
    """The key is a function of content: a copy elsewhere, touched, in another place and language, has the same."""
    import shutil

    before = key(project)
    copy = tmp_path / "elsewhere" / "deeper"
    shutil.copytree(project, copy)
    for path in copy.rglob("*.h"):
        os.utime(path, (1, 1))
    monkeypatch.chdir(copy)
    monkeypatch.setenv("USER", "somebody")
    monkeypatch.setenv("LC_ALL", "tr_TR.UTF-8")
    assert key(copy) == before


def test_toolkit_headers_count_only_where_they_are_included(project):
    """A source without toolkit headers keeps its key when only they are upgraded."""
    (project / "k.cu").write_text("__global__ void k() {}\n")
    assert key(project, toolchain=Toolchain("13.0.88", "other 1.0")) == key(project)


@pytest.mark.parametrize("text", ["#define H <cuda_fp16.h>\n#include H\n", "#define HAS(x) __has_include(x)\n"])
def test_toolkit_headers_count_where_only_a_macro_may_name_them(project, text):
    """A computed include, and a probe that a macro wraps, may see the toolkit's headers: an upgrade changes the key."""
    (project / "k.cu").write_text(f"{text}__global__ void k() {{}}\n")
    assert key(project, toolchain=Toolchain("13.0.88", "other 1.0")) != key(project)


@pytest.fixture
def toolkit(write, tmp_path):
    """Return a toolchain whose folder holds, beside a part of the toolkit, headers that nobody lists."""
    write("t/include/cuda_fp16.h", "")
    write("t/include/rand_kernel.h", '#include "detail/a.h"\n#include <b.h>\n')
    write("t/include/detail/a.h", "#define A 1\n")
    write("t/include/b.h", "#define B 1\n")
    write("t/include/unrelated.h", "")
    return Toolchain("13.0.88", "cccl 13.0.85", (str(tmp_path / "t/include"),))


NAMED = {
    "include": "#include <rand_kernel.h>\n",
    "probe": '#if __has_include("rand_kernel.h")\n#endif\n',
    "macro": "#define H <rand_kernel.h>\n#include H\n",
    "bare words in a macro": "#define H S(rand_kernel.h)\n#include H\n",
    "wrapped probe": "#define HAS(x) __has_include(x)\n#if HAS(<rand_kernel.h>)\n#endif\n",
}


@pytest.mark.parametrize("text", NAMED.values(), ids=NAMED.keys())
@pytest.mark.parametrize("edited", ["rand_kernel.h", "detail/a.h", "b.h"])
def test_differs_on_other_headers_of_the_toolkit_folder(project, toolkit, tmp_path, text, edited):
    """A header that no version stands for is in the key by content, and so is what it includes."""
    (project / "k.cu").write_text(text)
    before = key(project, toolchain=toolkit)
    path = tmp_path / "t/include" / edited
    path.write_text(path.read_text() + "// edited\n")
    assert key(project, toolchain=toolkit) != before


def test_differs_on_headers_that_an_option_names(project, toolkit, tmp_path):
    """A computed include may take its header from the options' macros."""
    (project / "k.cu").write_text("#include H\n")
    defined = options(define=(("H", "<b.h>"),))
    before = key(project, toolchain=toolkit, options=defined)
    (tmp_path / "t/include/b.h").write_text("")
    assert key(project, toolchain=toolkit, options=defined) != before


def test_an_option_that_leads_out_of_the_project_is_refused(project):
    """A macro of the options may not name a path that nobody hashes, where an include takes its header from a macro."""
    away = NvrtcOptions(define=(("H", '"/etc/x.h"'),))
    assert key(project, options=away)
    (project / "k.cu").write_text("#include H\n")
    with pytest.raises(InputError, match=r'k\.cu:1: .* define H="/etc/x\.h" could lead an include out of the project'):
        key(project, options=away)


def test_same_on_headers_that_are_not_reached(project, toolkit, tmp_path):
    """Neither a header nobody includes nor one of the toolkit's own parts, whose version counts, is read."""
    before = key(project, toolchain=toolkit)
    for name in ("unrelated.h", "b.h", "cuda_fp16.h"):
        (tmp_path / "t/include" / name).write_text("// edited\n")
    assert key(project, toolchain=toolkit) == before
    assert key(project, toolchain=toolkit._replace(include_dirs=())) == before


def test_same_on_where_the_other_headers_are(project, toolkit, tmp_path):
    """The same headers in another environment give the same key, before and after the compile has narrowed it down."""
    (project / "k.cu").write_text("#include <rand_kernel.h>\n")
    moved = (tmp_path / "t").rename(tmp_path / "elsewhere") / "include"
    there = toolkit._replace(include_dirs=(str(moved),))
    before = key(project, toolchain=there)
    job = job_of(project, options=options(), names=("k", "t<1>"))
    recorded = job.toolchain(there)
    assert re.fullmatch(r"cccl 13\.0\.85, others [0-9a-f]{16}", recorded.to_json()["headers"])
    moved.rename(tmp_path / "gone")
    assert key(project, toolchain=recorded) == before


def test_nvjitlink_counts_where_it_finishes_the_compile(project):
    """Another nvJitLink changes the key of an LTO compile, and no other's; what is recorded says the same."""
    versions = [Toolchain("13.0.88", TOOLCHAIN.headers, nvjitlink=version) for version in ("13.0.88", "13.5.37")]
    lto = options(lto=True)
    assert len({key(project, toolchain=toolchain, options=lto) for toolchain in versions}) == 2
    assert len({key(project, toolchain=toolchain) for toolchain in versions}) == 1
    recorded = [job_of(project, options=chosen).toolchain(versions[0]).to_json() for chosen in (lto, options())]
    assert [data.get("nvjitlink") for data in recorded] == ["13.0.88", None]
