"""What programs can begin with: the same tokens in the same order, whoever includes the headers."""

from __future__ import annotations

import pytest
from small_jobs import job_of

from hatch_cuda_kernels.compiler.precompiled import Beginning, Toolkit
from hatch_cuda_kernels.compiler.toolchain.toolchain import load_toolchain
from hatch_cuda_kernels.names import VIRTUAL_ROOT
from hatch_cuda_kernels.options import NvrtcOptions


@pytest.fixture
def beginning(tmp_path):
    """Return a function that writes files, the source as ``k.cu``, and gives what its program begins with."""

    def begin(source, options=None, **headers):
        (tmp_path / "k.cu").write_text(source + 'extern "C" __global__ void k() {}\n')
        for name, text in headers.items():
            (tmp_path / f"{name}.h").write_text(text)
        job = job_of(tmp_path, options=options)
        names = [name for name, _ in job.program.headers if not name.startswith(VIRTUAL_ROOT)]
        toolkit = Toolkit(load_toolchain().include_dirs, (*job.program.outside, *names))
        return Beginning(job.program, job.options, toolkit)

    return begin


ASSERT, INT, TUPLE = ("#include <cuda/std/cassert>\n", "#include <cuda/std/cstdint>\n", "#include <cuda/std/tuple>\n")


def names(beginning):
    """Return the headers by their last names."""
    return [header[1:-1].rpartition("/")[2] for header in beginning.headers]


def test_headers_of_the_project_are_looked_into(beginning):
    """Those of the toolkit that come first in them are moved, as far as nothing else comes before these."""
    found = beginning(
        '#include "a.h"\n#include "c.h"\n',
        a=f'#pragma once\n#include "b.h"\n{INT}',
        b=f"#ifndef B_H\n#define B_H\n{ASSERT}#endif\n",
        c=f"{TUPLE}int c;\n{INT}",
    )
    assert names(found) == ["cassert", "cstdint", "tuple"]


@pytest.mark.parametrize("first", ["int x;\n", "#define A\n", '#include "again.h"\n', "#pragma pack(1)\n"])
def test_what_is_not_a_header_ends_the_beginning(beginning, first):
    """Nothing is moved across code, a macro, or a text of the project."""
    assert names(beginning(f"{ASSERT}{first}{TUPLE}", again="int y;\n")) == ["cassert"]


@pytest.mark.parametrize("before", ["source", "other header", "option", "itself"])
def test_a_header_that_may_be_left_out_is_not_looked_into(beginning, before):
    """Where its guard may be defined before it is included."""
    guarded = f"#ifndef A_H\n#define A_H\n{TUPLE}#endif\n"
    options = NvrtcOptions(define=(("A_H", ""),)) if before == "option" else None
    source = f'{ASSERT}#include "a.h"\n' + ("#undef A_H\n" if before == "source" else "")
    other = "#pragma once\n#ifdef A_H\n#endif\n"
    found = beginning(source + '#include "b.h"\n', options, a=guarded, b=other if before == "other header" else "")
    assert names(found) == (["cassert", "tuple"] if before == "itself" else ["cassert"])


def test_headers_before_the_source_come_first(beginning):
    """Headers that a build includes before each source are a part of the beginning."""
    options = NvrtcOptions(pre_include=("cuda/std/tuple",))
    assert names(beginning(ASSERT, options)) == ["tuple", "cassert"]


def test_headers_that_include_each_other_are_moved_as_one(tmp_path):
    """The one that is included first is read last: named before the other, it would be read first."""
    (tmp_path / "a.h").write_text('#pragma once\n#include "c.h"\n#include "b.h"\nint a;\n')
    (tmp_path / "b.h").write_text('#pragma once\n#include "d.h"\n#include "a.h"\nint b;\n')
    for name in "cd":
        (tmp_path / f"{name}.h").write_text(f"#pragma once\nint {name};\n")
    (tmp_path / "k.cu").write_text('#include <a.h>\nextern "C" __global__ void k() {}\n')
    job = job_of(tmp_path)
    found = Beginning(job.program, job.options, Toolkit((str(tmp_path),), ("a.h",)))
    assert job.program.outside == ("a.h",)
    assert found.headers == ("<c.h>", "<a.h>")


def guarded(name, text, guard):
    """Return the text of a header that counts once."""
    return f"#pragma once\n{text}" if guard == "once" else f"#ifndef {name}_\n#define {name}_\n{text}#endif\n"


@pytest.mark.slow
@pytest.mark.parametrize("guard", ["once", "ifndef"])
def test_project_headers_that_include_each_other_are_read_once(beginning, guard):
    """Directly, through others, or themselves: what comes after the second inclusion is still a beginning."""
    found = beginning(
        f'#include <cuda_fp16.h>\n#include "a.h"\n{INT}',
        a=guarded("a", '#include "b.h"\n#include "a.h"\n', guard),
        b=guarded("b", f'#include "a.h"\n#include "c.h"\n{TUPLE}', guard),
        c=guarded("c", f'{ASSERT}#include "a.h"\n', "once"),
    )
    assert names(found) == ["cuda_fp16.h", "cassert", "tuple", "cstdint"]


def test_an_unguarded_header_that_comes_back_ends_the_beginning(beginning):
    """What it makes of another inclusion is not known."""
    found = beginning(
        f'{ASSERT}#include "a.h"\n{TUPLE}', a='#include "b.h"\n', b=f'#pragma once\n{INT}#include "a.h"\n'
    )
    assert names(found) == ["cassert", "cstdint"]


@pytest.mark.slow
@pytest.mark.parametrize("guard", ["once", "ifndef"])
def test_headers_may_be_nested_deeper_than_calls(beginning, guard):
    """NVRTC and nvcc take chains of thousands."""
    chain = {f"h{depth}": guarded(f"h{depth}", f'#include "h{depth + 1}.h"\n', guard) for depth in range(1500)}
    assert names(beginning('#include "h0.h"\n', **chain, h1500=TUPLE)) == ["tuple"]


@pytest.mark.slow
def test_toolkit_headers_are_descended_into(beginning):
    """Sources that begin with different headers of CUB have the beginnings of those in common."""
    load = beginning("#include <cub/block/block_load.cuh>\n")
    sort = beginning("#include <cub/block/block_radix_sort.cuh>\n")
    assert load.headers[-1] == "<cub/block/block_load.cuh>"
    both = [one for one, other in zip(load.headers, sort.headers, strict=False) if one == other]
    assert "<cub/config.cuh>" in both
    assert "<cub/block/block_exchange.cuh>" in both


def test_nothing_is_moved_where_the_toolkit_finds_a_header_of_the_project(beginning):
    """NVRTC finds it before the toolkit's own, and what is in it stays where it is."""
    source = "#include <cub/config.cuh>\n"
    assert beginning(source).headers
    assert not beginning(source, NvrtcOptions(include=(".",)), pthread="#pragma once\n").headers


def test_the_digest_is_of_headers_and_what_they_lead_to_in_memory(beginning):
    """Other headers have another one, and so have other standard headers of this package."""
    found = beginning(f"{ASSERT}{TUPLE}#include <cmath>\n")
    assert found.digest(found.headers[:1]) != found.digest(found.headers[:2])
    both = found.digest(found.headers)
    assert '"cmath"' in found.headers
    found._memory["cmath"] += "// another version\n"
    found._digests.clear()
    assert found.digest(found.headers) != both
    assert found.digest(found.headers[:1]) == beginning(f"{ASSERT}{TUPLE}").digest(["<cuda/std/cassert>"])
