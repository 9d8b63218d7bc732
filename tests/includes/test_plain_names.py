"""Headers in memory under plain names: standard ones, and the project's for toolkit headers that ask for them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from raw_nvrtc import compile_raw

from hatch_cuda_kernels.compiler.toolchain.headers import scan_headers
from hatch_cuda_kernels.includes import Asked, OuterHeaders, StandardHeaders, read_closure
from hatch_cuda_kernels.names import VIRTUAL_ROOT

KERNEL = 'extern "C" __global__ void k(int* p) { *p = X; }\n'
STANDARD = {
    "limits": "#define X 7\n",
    "cmath": "#include <math.h>\n#include <ours/one.h>\n",
    "math.h": "#ifndef X\n#define X 8\n#endif\n",
    "ours/one.h": "#define ONE 1\n",
    "over": "#if __has_include(<big/lib.h>)\n#include <big/lib.h>\n#endif\n#define X 9\n",
    "stray": "#define X 0\n",
}


@pytest.fixture
def write_all(write):
    """Return a function that writes files by path."""
    return lambda files: [write(name, text) for name, text in files.items()]


@pytest.fixture
def outer(tmp_path, write_all):
    """Return a function that gives the outer headers: STANDARD, and a toolkit of these files."""

    def make(**toolkit: str) -> OuterHeaders:
        write_all({f"toolkit/{name}": text for name, text in toolkit.items()})
        (tmp_path / "toolkit").mkdir(exist_ok=True)
        folders = (str(tmp_path / "toolkit"),)
        headers = StandardHeaders(STANDARD, lambda name: STANDARD[name].encode())
        return OuterHeaders(headers, lambda names: scan_headers(names, folders).asked)

    return make


@pytest.fixture
def read(tmp_path, write_all):
    """Return a function that reads the closure of ``k.cu`` among these project files."""

    def read_project(outer: OuterHeaders, files: dict[str, str], **options):
        write_all({f"p/{name}": text for name, text in files.items()})
        return read_closure(tmp_path / "p", "k.cu", outer=outer, **options)

    return read_project


@pytest.fixture
def value(tmp_path):
    """Return a function that compiles a closure beside the toolkit and returns what the kernel stores."""

    def compile_closure(closure) -> int:
        result = compile_raw(
            closure.source, f"-I{tmp_path}/toolkit", name=closure.program_name, headers=closure.headers
        )
        assert result.ok, result.log
        return int(re.search(r"mov\.[bu]32\s+%r\d+, (\d+);", result.ptx)[1])

    return compile_closure


def names(closure) -> set[str]:
    """Return what is in memory under plain names."""
    return {name for name, _ in closure.headers if not name.startswith(VIRTUAL_ROOT)}


def test_only_what_a_source_reaches_is_in_memory(outer, read, value):
    """A standard header brings those it includes; none of them is looked for in the toolkit."""
    closure = read(outer(), {"k.cu": "#include <cmath>\n" + KERNEL})
    assert names(closure) == {"cmath", "math.h", "ours/one.h"} == {*closure.standard}
    assert (closure.outside, closure.asked) == ((), ())
    assert value(closure) == 8


def test_a_source_that_reaches_none_is_as_without_them(outer, read):
    """Its closure is the same, so its key is; the toolkit's headers that ask for none change nothing."""
    files = {"k.cu": '#include "a.h"\n#include <lib.h>\n' + KERNEL, "a.h": "#define X 1\n"}
    found = outer(**{"lib.h": "#include <other.h>\n"})
    assert read(found, files) == read(found.without_standard(), files)


def test_the_projects_own_header_comes_first(outer, read, value):
    """Found beside the source or in an include folder, a header of that name is the project's."""
    files = {"k.cu": "#include <limits>\n" + KERNEL, "in/limits": "#define X 2\n"}
    assert value(read(outer(), files, include=["in"])) == 2
    assert value(read(outer(), files)) == 7
    assert value(read(outer(), files | {"k.cu": '#include "limits"\n' + KERNEL})) == 7


def test_a_header_of_the_projects_can_go_on_to_the_standard_one(outer, read, value):
    """``#include_next`` from a header of the same name finds the one in memory, also if the toolkit asks for it."""
    files = {"k.cu": "#include <lib.h>\n#include <math.h>\n" + KERNEL, "in/math.h": "#include_next <math.h>\n"}
    assert value(read(outer(**{"lib.h": "#include <math.h>\n"}), files, include=["in"])) == 8


def test_toolkit_headers_find_standard_headers(outer, read, value):
    """What they ask for is in memory, and told apart from what the source asks for."""
    closure = read(
        outer(**{"lib/a.h": '#include "b.h"\n', "lib/b.h": "#include <limits>\n"}),
        {"k.cu": "#include <lib/a.h>\n" + KERNEL},
    )
    assert (names(closure), closure.asked, closure.outside) == ({"limits"}, ("limits",), ("lib/a.h",))
    assert value(closure) == 7


def test_toolkit_headers_below_a_standard_header_are_followed(outer, read):
    """One that is over a library brings what that library asks for."""
    closure = read(outer(**{"big/lib.h": "#include <limits>\n"}), {"k.cu": "#include <over>\n" + KERNEL})
    assert (names(closure), closure.asked, closure.outside) == ({"over", "limits"}, ("limits",), ("big/lib.h",))


def test_toolkit_headers_find_the_projects_in_the_order_of_include(outer, read, value):
    """As with nvcc: the first include folder that has the header, before the toolkit's own."""
    files = {
        "k.cu": "#include <lib.h>\n" + KERNEL,
        "config.h": "#define X 3\n",
        "a/other.h": "",
        "b/config.h": '#include "more.h"\n',
        "b/more.h": "#define X 4\n",
        "c/config.h": "#define X 5\n",
    }
    toolkit = outer(**{"lib.h": "#include <config.h>\n", "config.h": "#define X 6\n"})
    assert value(read(toolkit, files)) == 6
    assert value(read(toolkit, files, include=["a", "c", "b"])) == 5
    closure = read(toolkit, files, include=["a", "b", "c"])
    assert value(closure) == 4
    assert dict(closure.files).keys() == {"k.cu", "b/config.h", "b/more.h"}


def test_a_project_header_brings_the_standard_headers_it_asks_for(outer, read):
    """Also if only a toolkit header leads to it."""
    files = {"k.cu": "#include <lib.h>\n" + KERNEL, "in/config.h": "#include <cmath>\n"}
    closure = read(outer(**{"lib.h": "#include <config.h>\n"}), files, include=["in"])
    assert (names(closure), closure.asked) == ({"config.h", "cmath", "math.h", "ours/one.h"}, ("config.h",))


def test_a_toolkit_header_keeps_its_neighbours(outer, read, value):
    """NVRTC would prefer what is in memory even to a file beside the one that asks."""
    files = {"k.cu": "#include <lib/a.h>\n" + KERNEL, "in/config.h": "#define X 1\n"}
    toolkit = outer(**{"lib/a.h": '#include "config.h"\n', "lib/config.h": "#define X 2\n"})
    assert value(read(toolkit, files, include=["in"])) == 2


def test_a_standard_header_stands_in_for_one_of_the_toolkits(outer, read, value):
    """Wherever it is asked for: NVRTC cannot read the toolkit's own."""
    toolkit = outer(**{"limits": "#error host\n", "lib.h": '#include "limits"\n'})
    assert value(read(toolkit, {"k.cu": "#include <limits>\n" + KERNEL})) == 7
    assert value(read(toolkit, {"k.cu": "#include <lib.h>\n" + KERNEL})) == 7


def test_a_computed_include_finds_a_standard_header(outer, read, value):
    """A macro may name one, as it may name one of the toolkit's."""
    assert value(read(outer(), {"k.cu": "#define WHICH <limits>\n#include WHICH\n" + KERNEL})) == 7


def test_a_build_can_be_repeated_without_its_toolkit(outer, read, tmp_path):
    """What the toolkit's headers asked for and the headers themselves give the same closure again, somewhere else."""
    toolkit = outer(
        **{
            "lib.h": '#include "config.h"\n#include <over>\n#include <big/lib.h>\n',
            "big/lib.h": "#include <limits>\n#include <more.h>\n",
        }
    )
    files = {
        "k.cu": "#include <lib.h>\n#include <cmath>\n" + KERNEL,
        "in/config.h": "#include <limits>\n",
        "in/more.h": "",
        "in/stray": "",
    }
    closure = read(toolkit, files, include=["in"])
    assert closure.asked == ("big/lib.h", "config.h", "limits", "more.h", "over")
    assert closure.outside == ("lib.h",)  # which leads to all that standard headers ask for
    for path in dict(closure.files):
        target = tmp_path / "shipped" / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes((tmp_path / "p" / path).read_bytes())
    shipped = StandardHeaders(closure.standard, lambda name: STANDARD[name].encode())
    again = read_closure(
        tmp_path / "shipped", "k.cu", include=["in"], outer=OuterHeaders.as_built(shipped, closure.asked)
    )
    assert again == closure


def test_what_is_asked_for_is_told_from_what_is_beside(outer, tmp_path):
    """Spellings of all files found, and those of them that name a neighbour."""
    outer(**{"lib/a.h": '#include "b.h"\n#include "c.h"\n#include <b.h>\n', "lib/b.h": "#if __has_include(<d.h>)\n"})
    asked = scan_headers(("lib/a.h",), (str(tmp_path / "toolkit"),)).asked
    assert asked == Asked(frozenset({"b.h", "c.h", "d.h"}), frozenset({"b.h"}))


def test_paths_that_leave_their_folder_are_not_the_projects(outer, read):
    """A toolkit header's ``..`` means its own neighbours."""
    toolkit = outer(**{"lib/a.h": '#include "../../p/x.h"\n#include "../x.h"\n'})
    closure = read(toolkit, {"k.cu": "#include <lib/a.h>\n", "x.h": "", "in/y.h": ""}, include=["in", "."])
    assert names(closure) == set()
    assert Path("x.h").as_posix() not in dict(closure.files)
