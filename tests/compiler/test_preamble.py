"""What programs can begin with: the same tokens in the same order, whoever includes the headers."""

from __future__ import annotations

import pytest
from small_jobs import job_of

from hatch_cuda_kernels.compiler.preamble import Beginning, Toolkit
from hatch_cuda_kernels.compiler.toolchain.installed import load_toolchain
from hatch_cuda_kernels.options import NvrtcOptions


@pytest.fixture
def beginning(tmp_path):
    """Return a function that writes files, the source as ``k.cu``, and gives what its program begins with."""

    def begin(source, options=None, **headers):
        (tmp_path / "k.cu").write_text(source + 'extern "C" __global__ void k() {}\n')
        for name, text in headers.items():
            (tmp_path / f"{name}.h").write_text(text)
        return Beginning(job_of(tmp_path, options=options).program, Toolkit(load_toolchain().include_dirs))

    return begin


def names(beginning):
    """Return the headers by their last names."""
    return [header[1:-1].rpartition("/")[2] for header in beginning.headers]


def test_headers_come_after_what_they_begin_with(beginning):
    """A header is descended into, as far as it begins with others."""
    found = beginning(
        '#include "a.h"\n#include "d.h"\n',
        a='#pragma once\n#include "b.h"\nint a;\n#include "c.h"\n',
        b="#pragma once\n",
        c="#pragma once\n",
        d='#ifndef D_H\n#define D_H\n#include "c.h"\n#include "b.h"\n#endif\n',
    )
    assert names(found) == ["b.h", "a.h", "c.h", "d.h"]


@pytest.mark.parametrize("first", ["int x;\n", "#define A\n", '#include "again.h"\n'])
def test_what_is_not_a_header_ends_the_beginning(beginning, first):
    """Nothing is moved across code, a macro, or a header that counts each time."""
    found = beginning(
        f'#include "a.h"\n{first}#include "b.h"\n', a="#pragma once\n", b="#pragma once\n", again="int y;\n"
    )
    assert names(found) == ["a.h"]


def test_a_guard_that_others_ask_for_is_there_before_what_is_inside(beginning):
    """A header that tests another one's guard is not moved out of it."""
    guarded = '#ifndef A_H\n#define A_H\n#include "b.h"\n#endif\n'
    asks = beginning('#include "a.h"\n', a=guarded, b="#pragma once\n#ifdef A_H\nint a;\n#endif\n")
    assert names(asks) == ["a.h"]
    silent = beginning('#include "a.h"\n', a=guarded, b="#pragma once\nint b;\n")
    assert names(silent) == ["b.h", "a.h"]


def test_headers_before_the_source_come_first(beginning):
    """Headers that a build includes before each source are a part of the beginning."""
    options = NvrtcOptions(pre_include=("b.h",))
    assert names(beginning('#include "a.h"\n', options, a="#pragma once\n", b="#pragma once\n")) == ["b.h", "a.h"]


def test_toolkit_headers_are_descended_into(beginning):
    """Sources that begin with different headers of CUB have the beginnings of those in common."""
    load = beginning("#include <cub/block/block_load.cuh>\n")
    sort = beginning("#include <cub/block/block_radix_sort.cuh>\n")
    assert load.headers[-1] == "<cub/block/block_load.cuh>"
    both = [one for one, other in zip(load.headers, sort.headers, strict=False) if one == other]
    assert "<cub/config.cuh>" in both
    assert "<cub/block/block_exchange.cuh>" in both


def test_the_digest_is_of_what_headers_lead_to(beginning):
    """A change that a preamble can see changes its digest, and no other."""
    texts = {"a": '#pragma once\nint a;\n#if X\n#include "b.h"\n#endif\n', "b": "int b;\n", "c": "int c;\n"}
    source = '#include "a.h"\n#include "c.h"\n'

    def digest(**changed):
        found = beginning(source, **texts | changed)
        return found.digest(found.headers[:1])

    assert digest(c="int changed;\n") == digest()
    assert digest(b="int changed;\n") != digest()
    assert digest(a=texts["a"].replace("int a", "int z")) != digest()


def test_a_project_header_that_the_toolkit_asks_for_is_in_the_digest(beginning):
    """NVRTC finds it before the toolkit's own."""
    source = "#include <cub/config.cuh>\n"
    plain = beginning(source)
    options = NvrtcOptions(include=(".",))
    asked = beginning(source, options, pthread="#pragma once\n")
    assert plain.digest(["<cub/config.cuh>"]) != asked.digest(["<cub/config.cuh>"])
