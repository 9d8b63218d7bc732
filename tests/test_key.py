"""The key: what must change it, and what must not."""

from __future__ import annotations

import dataclasses
import os

import pytest

from hatch_cuda_kernels.arch import SmArch
from hatch_cuda_kernels.compiler.headers import read_closure
from hatch_cuda_kernels.compiler.job import CompileJob
from hatch_cuda_kernels.compiler.toolchain import Toolchain
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
    closure = read_closure(root, "k.cu", include=options.include, pre_include=options.pre_include)
    job = CompileJob.from_closure(
        closure,
        module="m",
        source_path="k.cu",
        options=options,
        arch=SmArch(9, 0),
        kinds=("cubin",),
        names=("k", "t<1>"),
    )
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
