"""The header closure, checked against what NVRTC itself finds."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path

import pytest
from raw_nvrtc import RawResult, compile_raw

from hatch_cuda_kernels.errors import InputError
from hatch_cuda_kernels.includes import Project, ProjectFiles, read_closure
from hatch_cuda_kernels.names import VIRTUAL_ROOT

KERNEL = 'extern "C" __global__ void k(int* p) { *p = X; }\n'


def write(root: Path, files: dict[str, str | bytes]) -> Path:
    """Create a project from file texts."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
    return root


def build(closure, *flags):
    """Compile a closure and nothing else."""
    forced = (f"--pre-include={name}" for name in closure.pre_include)
    return compile_raw(closure.source, *forced, *flags, name=closure.program_name, headers=closure.headers)


def stored_value(result: RawResult) -> int:
    """Return the constant that the kernel stores."""
    assert result.ok, result.log
    found = re.search(r"mov\.[bu]32\s+%r\d+, (\d+);", result.ptx)
    assert found is not None
    return int(found[1])


def test_relative_includes_reach_up_and_down(tmp_path):
    """A header three folders away, included through ``..``, is found and compiled in."""
    write(
        tmp_path,
        {
            "kernels/deep/k.cu": '#include "../../include/a/x.h"\n' + KERNEL,
            "include/a/x.h": '#pragma once\n#include "../b/y.h"\n#define X (Y + 1)\n',
            "include/b/y.h": "#define Y 41\n",
        },
    )
    closure = read_closure(tmp_path, "kernels/deep/k.cu")
    assert stored_value(build(closure)) == 42
    assert [path for path, _ in closure.files] == ["include/a/x.h", "include/b/y.h", "kernels/deep/k.cu"]
    assert [name for name, _ in closure.headers] == [f"{VIRTUAL_ROOT}include/a/x.h", f"{VIRTUAL_ROOT}include/b/y.h"]
    assert closure.outside == ()


def test_files_carry_the_digest_of_their_bytes(tmp_path):
    """The digest is that of the file on disk, so that a reader of the index can compare with sha256sum."""
    write(tmp_path, {"k.cu": b"\xef\xbb\xbfint x;\r\n"})
    (entry,) = read_closure(tmp_path, "k.cu").files
    assert entry == ("k.cu", hashlib.sha256((tmp_path / "k.cu").read_bytes()).hexdigest())


def test_equal_spellings_in_two_folders_are_two_files(tmp_path):
    """Each includer of ``util.h`` gets the one beside it."""
    write(
        tmp_path,
        {
            "k.cu": '#include "a/api.h"\n#include "b/api.h"\n#define X (A * 10 + B)\n' + KERNEL,
            "a/api.h": '#include "util.h"\n',
            "b/api.h": '#include "util.h"\n',
            "a/util.h": "#define A 1\n",
            "b/util.h": "#define B 2\n",
        },
    )
    assert stored_value(build(read_closure(tmp_path, "k.cu"))) == 12


def test_one_file_under_two_spellings_is_included_once(tmp_path):
    """``#pragma once`` holds for a header reached by a relative path, an include folder, a macro and a pre-include."""
    write(
        tmp_path,
        {
            "kernels/k.cu": (
                '#include "../include/once.h"\n#include <once.h>\n#include "./sub/../../include/once.h"\n'
                "#define AGAIN <once.h>\n#include AGAIN\n" + KERNEL
            ),
            "include/once.h": "#pragma once\n__device__ const int X = 7;\n",
        },
    )
    closure = read_closure(
        tmp_path, "kernels/k.cu", include=["include"], headers=["include/*.h"], pre_include=["include/once.h"]
    )
    assert stored_value(build(closure)) == 7
    assert closure.pre_include == (f"{VIRTUAL_ROOT}include/once.h",)


@pytest.mark.parametrize(
    "before", ["#ifdef OLD\n#error can't include detail/*.cuh\n#endif", '#if 0\n12" /*\n#endif', "#define Z(x) ' /*"]
)
def test_a_quote_hides_no_header(tmp_path, before):
    """An apostrophe in prose ends with its line: the header after it is in the closure, not one beside the toolkit."""
    write(tmp_path, {"toolkit/v.h": "#define X 1\n"})
    write(tmp_path / "p", {"k.cu": f'{before}\n#include "v.h"\n{KERNEL}', "v.h": "#define X 2\n"})
    closure = read_closure(tmp_path / "p", "k.cu")
    assert [path for path, _ in closure.files] == ["k.cu", "v.h"]
    assert stored_value(build(closure, f"-I{tmp_path}/toolkit")) == 2


def test_an_include_in_pieces_keeps_its_lines(tmp_path):
    """A directive that a backslash splits is rewritten in as many lines, so that messages name the right one."""
    write(tmp_path, {"k.cu": '#inc\\\nlude "v\\\r\n.h\\\n"\n#include <w\\\n.h>\nbroken\n', "v.h": "", "w.h": ""})
    closure = read_closure(tmp_path, "k.cu", include=["."])
    assert closure.source.count("\n") == 7
    assert f"{VIRTUAL_ROOT}k.cu(7): error" in build(closure).log
    assert [path for path, _ in closure.files] == ["k.cu", "v.h", "w.h"]


def test_backslashes_between_folders(tmp_path):
    """A name as some write it on Windows means the same file everywhere."""
    write(tmp_path, {"k.cu": '#include "in\\v.h"\n' + KERNEL, "in/v.h": "#define X 3\n"})
    assert stored_value(build(read_closure(tmp_path, "k.cu"))) == 3


def test_names_that_no_include_can_spell(tmp_path):
    """A file whose name is not UTF-8, or holds a quote, is no header; the others in its folder are."""
    write(tmp_path, {"k.cu": "#define T <t.inc>\n#include T\n" + KERNEL, "in/t.inc": "#define X 4\n"})
    for name in (b"\xff\xfe.inc", b'a"b.inc', b"a\nb.inc", b"\xe9"):
        (tmp_path / "in" / os.fsdecode(name)).write_text("#error\n")
    (tmp_path / os.fsdecode(b"\xff")).mkdir()
    closure = read_closure(tmp_path, "k.cu", include=["in"], headers=["in/*", "**/*.inc"])
    assert [path for path, _ in closure.files] == ["in/t.inc", "k.cu"]
    assert stored_value(build(closure)) == 4


@pytest.mark.parametrize("spelling", ['"stray.h"', "<stray.h>", '"kernels/stray.h"'])
def test_a_header_nobody_hashed_is_not_seen(tmp_path, monkeypatch, spelling):
    """A computed include finds neither the working directory nor the source's own folder unless it is declared."""
    files = dict.fromkeys(["stray.h", "kernels/stray.h"], "#define X 5\n")
    write(tmp_path, {"kernels/k.cu": f"#define NAME {spelling}\n#include NAME\n{KERNEL}", **files})
    monkeypatch.chdir(tmp_path)
    closure = read_closure(tmp_path, "kernels/k.cu")
    result = build(closure)
    assert not result.ok
    assert "open source file" in result.log
    assert closure.computed == ("kernels/k.cu:2",)
    assert stored_value(build(read_closure(tmp_path, "kernels/k.cu", headers=["kernels/stray.h"]))) == 5


def test_dots_do_not_climb_out_of_a_toolkit_folder(tmp_path):
    """A missing ``../x.h`` is not looked for beside the toolkit's headers, where nobody would hash it."""
    write(tmp_path, {"toolkit/x.h": "#define X 1\n", "toolkit/include/y.h": ""})
    write(tmp_path / "project", {"kernels/k.cu": '#include "../x.h"\n' + KERNEL})
    result = build(read_closure(tmp_path / "project", "kernels/k.cu"), f"-I{tmp_path}/toolkit/include")
    assert not result.ok
    assert f'cannot open source file "{VIRTUAL_ROOT}x.h"' in result.log


def test_has_include_tells_the_truth_about_the_project(tmp_path):
    """A probe is true for a project header and false for a missing one; adding the header changes the closure."""
    write(
        tmp_path,
        {
            "k.cu": (
                '#if __has_include("yes.h") && !__has_include(<no.h>) && !__has_include("dir/no.h")\n#define X 1\n'
                "#else\n#define X 2\n#endif\n" + KERNEL
            ),
            "yes.h": "",
        },
    )
    before = read_closure(tmp_path, "k.cu", include=["."])
    assert stored_value(build(before)) == 1
    assert before.outside == ("dir/no.h", "no.h")
    write(tmp_path, {"no.h": ""})
    after = read_closure(tmp_path, "k.cu", include=["."])
    assert stored_value(build(after)) == 2
    assert after.files != before.files


def test_the_same_project_in_two_places_gives_the_same_bytes(tmp_path, monkeypatch):
    """Line tables and ``__FILE__`` name virtual paths: neither the checkout nor the working directory is in the PTX."""
    files = {
        "kernels/k.cu": '#include <t.h>\nextern "C" __global__ void k(const char** p, float* q) { *p = f(); g(q); }\n',
        "include/t.h": (
            "__device__ const char* f() { return __FILE__; }\n__device__ void g(float* q) { *q = sinf(*q); }\n"
        ),
    }
    images = []
    for folder in ("one", "elsewhere/two"):
        root = write(tmp_path / folder, files)
        monkeypatch.chdir(root / "kernels")
        result = build(read_closure(root, "kernels/k.cu", include=["include"]), "-lineinfo")
        assert result.ok, result.log
        images.append((result.ptx, result.cubin))
    assert images[0] == images[1]
    assert f'"{VIRTUAL_ROOT}include/t.h"' in images[0][0]
    assert str(tmp_path) not in images[0][0]


def test_a_header_that_appears_earlier_in_the_search_order_wins(tmp_path):
    """A new file in an earlier include folder changes the closure, so an old image cannot be a stale hit."""
    write(tmp_path, {"k.cu": '#include "c.h"\n' + KERNEL, "second/c.h": "#define X 2\n", "first/other.h": ""})
    before = read_closure(tmp_path, "k.cu", include=["first", "second"])
    write(tmp_path, {"first/c.h": "#define X 1\n"})
    after = read_closure(tmp_path, "k.cu", include=["first", "second"])
    write(tmp_path, {"c.h": "#define X 0\n"})
    beside = read_closure(tmp_path, "k.cu", include=["first", "second"])
    assert [stored_value(build(closure)) for closure in (before, after, beside)] == [2, 1, 0]
    assert len({closure.headers for closure in (before, after, beside)}) == 3


def test_cycles_and_a_source_that_includes_itself(tmp_path):
    """Headers that include each other, and a source that includes itself, are read once and compile."""
    write(
        tmp_path,
        {
            "k.cu": '#include "a.h"\n#ifndef TWICE\n#define TWICE\n#include "k.cu"\n#else\n' + KERNEL + "#endif\n",
            "a.h": '#pragma once\n#include "b.h"\n',
            "b.h": '#pragma once\n#include "a.h"\n#define X 3\n',
        },
    )
    closure = read_closure(tmp_path, "k.cu")
    assert stored_value(build(closure)) == 3
    assert [name for name, _ in closure.headers] == [f"{VIRTUAL_ROOT}{name}" for name in ("a.h", "b.h", "k.cu")]


@pytest.mark.parametrize("way", ["k.cu", "a.h"])
def test_a_source_with_pragma_once_counts_once(tmp_path, way):
    """Where it includes itself, directly or not, as with nvcc; NVRTC takes no notice of the pragma there."""
    source = f'#pragma once\n#include "{way}"\n#define X 4\n{KERNEL}'
    write(tmp_path, {"k.cu": source, "a.h": '#pragma once\n#include "k.cu"\n'})
    assert stored_value(build(read_closure(tmp_path, "k.cu"))) == 4


def test_pre_includes_may_be_project_or_toolkit_headers(tmp_path):
    """A project header comes first in the program under its virtual name; an unknown one is left to the toolkit."""
    write(
        tmp_path,
        {"k.cu": KERNEL, "include/std/shim.h": '#include "more.h"\n', "include/std/more.h": "#define X 8\n"},
    )
    closure = read_closure(tmp_path, "k.cu", include=["include"], pre_include=["std/shim.h", "cuda_fp16.h"])
    assert closure.pre_include == (f"{VIRTUAL_ROOT}include/std/shim.h", "cuda_fp16.h")
    assert closure.outside == ("cuda_fp16.h",)
    write(tmp_path, {"toolkit/cuda_fp16.h": "#define FROM_TOOLKIT 1\n"})
    assert stored_value(build(closure, f"-I{tmp_path}/toolkit")) == 8


def test_a_project_shim_can_include_the_toolkit_header_it_hides(tmp_path):
    """``#include_next`` is left alone, so that it goes on to the toolkit's folders."""
    write(tmp_path, {"toolkit/lib.h": "#define X 9\n"})
    write(tmp_path / "p", {"k.cu": "#include <lib.h>\n" + KERNEL, "shims/lib.h": "#include_next <lib.h>\n"})
    closure = read_closure(tmp_path / "p", "k.cu", include=["shims"])
    assert closure.outside == ("lib.h",)
    assert stored_value(build(closure, f"-I{tmp_path}/toolkit")) == 9


def test_declared_headers_answer_to_the_spellings_a_macro_may_build(tmp_path):
    """A table picked by a macro is found by its name from the source, an include folder or the project root."""
    write(
        tmp_path,
        {
            "kernels/k.cu": (
                "#define S2(x) #x\n#define S(x) S2(x)\n#define TABLE(n) S(tables/n.inc)\n"
                "__constant__ int t[] = {\n#include TABLE(big)\n};\n"
                "#define HERE S(near/n.inc)\n#include HERE\n#define THERE <kernels/near/n.inc>\n#include THERE\n"
                'extern "C" __global__ void k(int* p) { *p = X + t[*p]; }\n'
            ),
            "include/tables/big.inc": '1, 2,\n#include "more.inc"\n',
            "include/tables/more.inc": "3\n",
            "kernels/near/n.inc": "#define X 4\n",
        },
    )
    closure = read_closure(
        tmp_path, "kernels/k.cu", include=["include"], headers=["include/tables/b*.inc", "kernels/**/*.inc"]
    )
    result = build(closure)
    assert result.ok, result.log
    assert "t[12] = {1, 0, 0, 0, 2, 0, 0, 0, 3" in result.ptx
    assert "include/tables/more.inc" in dict(closure.files)


@pytest.mark.slow
def test_the_file_nearest_to_the_source_wins_a_spelling(tmp_path):
    """Two declared files that a macro could mean are told apart by search order, whatever order they are listed in."""
    write(tmp_path, {"k/k.cu": "#define N <t.inc>\n#include N\n" + KERNEL})
    write(tmp_path, {"a/t.inc": "#define X 1\n", "b/t.inc": "#define X 2\n"})
    patterns = ["a/*.inc", "b/*.inc"]
    for include, value in ((["b", "a"], 2), (["a", "b"], 1)):
        for headers in (patterns, patterns[::-1]):
            assert stored_value(build(read_closure(tmp_path, "k/k.cu", include=include, headers=headers))) == value


#: An include of macros, and which of the files that a pattern matches it takes.
TAKEN = {
    "hashcat": ("#include M2S(INCLUDE_PATH/a.inc)", {"a"}),
    "alternatives": ("#ifdef C\n#define T <in/a.inc>\n#else\n#define T <in/b.inc>\n#endif\n#include T", {"a", "b"}),
    "a macro of a header": ("#define H S(in/macro.h)\n#include H\n#include NEXT", {"macro", "b"}),
    "pasted": ("#define IN(x) S(in/x##x.inc)\n#define S(x) XM2S(x)\n#include IN(a)", {"aa"}),
    "arguments with parentheses": ("#define FIRST(x, y) x\n#include FIRST(M2S(in/a.inc), (b, c))", {"a"}),
    "used twice": ("#define in in\n#define a a\n#include M2S(in/a.inc)\n#include M2S(in/aa.inc)", {"a", "aa"}),
    "none of them": ("#include M2S(in/c.inc)", set()),
    "no macro names one": ("#include <in/d.inc>", set()),
    "the toolkit's macro": ("#include M2S(in/CUDA_FILE.inc)", {"a", "b", "aa", "macro"}),
    "unknown macro": ("#include THIS_ONE", {"a", "b", "aa", "macro"}),
    "arguments from after it": ("#define PICK M2S\n#include PICK(in/a.inc)", {"a"}),
    "a word that is a macro with parameters, too": ("#define a(x)\n#include M2S(in/a.inc)", {"a"}),
    "any number of arguments": (
        "#define V(...) V2(__VA_ARGS__)\n#define V2(...) #__VA_ARGS__\n#include V(in/b.inc)",
        {"b"},
    ),
    "arguments after others": ("#define W(x, ...) <x/__VA_ARGS__>\n#include W(in, aa.inc)", {"aa"}),
    "a comma that may go": ("#define W(x, ...) <x, ## __VA_ARGS__>\n#include W(in/a.inc)", {"a"}),
    "endless": ("#define A B(A)\n#define B(x) A(x)\n#include A", {"a", "b", "aa", "macro"}),
    "a probe": ("#define HAS(x) __has_include(x)\n#if HAS(<in/a.inc>)\n#endif", {"a"}),
    "a probe of a macro": ("#define N <in/b.inc>\n#if __has_include(N)\n#endif", {"b"}),
    "two macros of two": (
        "#if A\n#define P in\n#define Q a\n#else\n#define P in\n#define Q b\n#endif\n#include M2S(P/Q.inc)",
        {"a", "b"},
    ),
}


@pytest.mark.parametrize("case", TAKEN)
def test_patterns_give_what_macros_can_spell(tmp_path, case):
    """Of the files that a pattern matches, those that a computed include may name are taken; else all."""
    text, names = TAKEN[case]
    write(tmp_path, {f"in/{name}.inc": "" for name in ("a", "b", "aa")})
    write(tmp_path, {"in/macro.h": "#define NEXT <in/b.inc>\n", "k.cu": f"{text}\n"})
    define = [("INCLUDE_PATH", "in"), ("XM2S(x)", "#x"), ("M2S(x)", "XM2S(x)"), ("S(x)", "#x")]
    closure = read_closure(tmp_path, "k.cu", headers=["in/*"], define=define)
    assert {Path(path).stem for path, _ in closure.files} == {"k", *names}
    again = Project(ProjectFiles(tmp_path, only=dict(closure.files)))
    assert read_closure(tmp_path, "k.cu", headers=["in/*"], define=define, project=again) == closure


def test_a_path_without_wildcards_is_always_taken(tmp_path):
    """Whoever knows better than the scan names the file itself."""
    write(tmp_path, {"k.cu": "#include <other.h>\n", "in/a.inc": "", "in/b.inc": ""})
    assert "in/a.inc" in dict(read_closure(tmp_path, "k.cu", headers=["in/a.inc", "in/*"]).files)


def test_globs_skip_hidden_files_and_reach_any_depth(tmp_path):
    """``**`` stands for any number of folders; an editor's hidden files are no headers."""
    write(
        tmp_path,
        {
            "k.cu": "#include _UNKNOWN\n",
            "t/a.h": "",
            "t/x/y/b.h": "",
            "t/.c.h.swp": "",
            "t/.git/d.h": "",
            "t/x/e.txt": "",
        },
    )

    def found(pattern: str) -> list[str]:
        return [path for path, _ in read_closure(tmp_path, "k.cu", headers=[pattern]).files if path != "k.cu"]

    assert found("t/**/*.h") == ["t/a.h", "t/x/y/b.h"]
    assert found("./t/**") == ["t/a.h", "t/x/e.txt", "t/x/y/b.h"]
    assert found("t/[ab].h") == ["t/a.h"]


def test_byte_order_mark_line_ends_and_line_numbers(tmp_path):
    """A byte order mark goes (NVRTC rejects it), CRLF stays, and an error keeps its line."""
    write(
        tmp_path,
        {
            "k.cu": b'\xef\xbb\xbf#include \\\r\n  "a.h"\r\n// one\r\nbroken line\r\n',
            "a.h": b"\xef\xbb\xbf#define A\r\n",
        },
    )
    closure = read_closure(tmp_path, "k.cu")
    assert closure.source == f'#include \\\r\n  "{VIRTUAL_ROOT}a.h"\r\n// one\r\nbroken line\r\n'
    assert dict(closure.headers) == {f"{VIRTUAL_ROOT}a.h": "#define A\r\n"}
    assert f"{VIRTUAL_ROOT}k.cu(4): error" in build(closure).log


@pytest.mark.parametrize(
    ("files", "arguments", "problem"),
    [
        ({}, {}, r"k\.cu: no such source file in .*"),
        ({"k.cu": '\n#include "../x.h"\n'}, {}, r'k\.cu:2: "\.\./x\.h" leaves the project; .*'),
        ({"k.cu": "#include </usr/x.h>\n"}, {}, r"k\.cu:1: </usr/x\.h> leaves the project; .*"),
        ({"k.cu": '#include_next "../x.h"\n'}, {}, r'k\.cu:1: "\.\./x\.h" leaves the project; .*'),
        ({"k.cu": b'// \xe9\n"\xa9"\n'}, {}, r"k\.cu:2: byte 0xa9 at offset 6 is not UTF-8; .*"),
        ({"k.cu": "int a;\nint\0b;"}, {}, r"k\.cu:2: NUL byte; .*"),
        ({"k.cu": "int a;\r\nint b; // b\rint c;\n"}, {}, r"k\.cu:2: a line ends in CR alone, .*"),
        ({"k.cu": '#include "a.h"\n', "a.h": b"\xff"}, {}, r"a\.h:1: byte 0xff at offset 0 is not UTF-8; .*"),
        ({"k.cu": ""}, {"headers": ["inc/a.h"]}, r"inc/a\.h: no such header in .*"),
        ({"k.cu": ""}, {"headers": ["../*.h"]}, r"\.\./\*\.h: headers must be inside the project, .*"),
        ({"k.cu": ""}, {"include": ["inc"]}, r"inc: no such include folder in .*"),
        ({"k.cu": ""}, {"include": ["k.cu"]}, r"k\.cu: no such include folder in .*"),
        ({"k.cu": ""}, {"include": ["/usr/include"]}, r"/usr/include: an include folder must be inside .*"),
        ({"k.cu": ""}, {"pre_include": ["../x.h"]}, r"\.\./x\.h: no such header to pre-include in .*"),
        ({"k.cu": '\n#include "a.h\n'}, {}, r"k\.cu:2: a header's name goes on one line, .*"),
        ({"k.cu": ""}, {"define": [("NOW", "__DATE__")]}, r"the option define NOW=__DATE__: __DATE__ differs .*"),
        ({"k.cu": '#include "..\\x.h"\n'}, {}, r'k\.cu:1: "\.\.\\x\.h" leaves the project; .*'),
    ],
)
def test_what_cannot_be_used_is_named(tmp_path, files, arguments, problem):
    """Each problem is one line that says where it is."""
    write(tmp_path, files)
    with pytest.raises(InputError) as caught:
        read_closure(tmp_path, "k.cu", **arguments)
    assert re.fullmatch(problem, str(caught.value)), str(caught.value)


TEXT = "#define S2(x) #x\n#define S(x) S2(x)\n"
CAT = "#define CAT2(a, b) a##b\n#define CAT(a, b) CAT2(a, b)\n"
WAYS_OUT = {
    "digraph": '%:include "{0}"',
    "trigraph": '??=include "{0}"',
    "split word": '#inc\\\nlude "{0}"',
    "split name": '#include "/\\\n{0}"',
    "continued blank line": ' \\\n/* */ \\\n#include "{0}"',
    "literal in a macro": '#define H "{0}"\n#include H',
    "angles in a macro": "#define H <{0}> // why\n#include H",
    "macro of a macro": '#define G "{0}"\n#define H G\n#include H',
    "argument": "#define S2(x) #x\n#define S(x) S2(x)\n#include S( {0})",
    "argument on another line": "#define S2(x) #x\n#define S(x) S2(x)\n#define H \\\n  S({0})\n#include H",
    "folder in a macro": "#define S2(x) #x\n#define S(x) S2(x)\n#define D {0}\n#include S(D)",
    "split angle": "#define LT <\n#include LT{0}>",
    "empty macro": f"{TEXT}#define E\n#include S(E{{0}})",
    "empty macro and a blank": f"{TEXT}#define E /* nothing */\n#include S(E {{0}})",
    "empty call": f"{TEXT}#define E(x)\n#define F(x) E(x)\n#include S(F(1){{0}})",
    "empty argument": f"{TEXT}#define JOIN(a, b) a/b\n#include S(JOIN(,{{1}}))",
    "empty argument, joined": f"{TEXT}#define JOIN(a, b) a##/b\n#include S(JOIN(,{{1}}))",
    "empty macro in angles": "#define E\n#define H <E{0}>\n#include H",
    "empty macro in brackets": f"{TEXT}#define E\n#define CALL(m, a) m a\n#include CALL(S, (E{{0}}))",
    "macro of a slash": f"{TEXT}#define ROOT() /\n#include S(ROOT(){{1}})",
    "rest of the arguments": "#define S(x, ...) S2(__VA_ARGS__)\n#define S2(...) #__VA_ARGS__\n#include S(1, {0})",
    "name put together": f"{TEXT}#define A_1 {{0}}\n#define PICK(n) A_##n\n#include S(PICK(1))",
    "name put together of three": f"{TEXT}{CAT}#define A_2_B {{0}}\n#define M CAT(CAT(A_, 2), _B)\n#include S(M)",
    "name put together with a line": f"{TEXT}{CAT}#define A_6 {{0}}\n#include S(CAT(A_, __LINE__))",
    "name put together with the compiler's": f"{TEXT}{CAT}#define A_0 {{0}}\n#include S(CAT(A_, __INCLUDE_LEVEL__))",
    "name spelled by a number": f"{TEXT}#define \\u00e9\n#include S(\\u00e9{{0}})",
    "put together by other signs": f"{TEXT}#define A_1 {{0}}\n#define PICK(n) A_%:%:n\n#include S(PICK(1))",
}


OPERATORS = '#define OP_LESS <\n#define DIVIDED /=\n#define LINKED _Pragma("comment(linker, \\"/EXPORT\\")")\n'
DIRECTORY = "#define DIR gcc\n#define H CAT(DIR,/)##x.h\n#define STR2(x) #x\n#define STR(x) STR2(x)\n"
VARIADIC = "#define STR2(...) #__VA_ARGS__\n#define STR(...) STR2(__VA_ARGS__)\n"
NO_WAYS_OUT = {
    "a folder before a slash that is an argument": f"{CAT}{DIRECTORY}#define X 1\n#if 0\n#include STR(a/H)\n#endif",
    "the same, where macros take any number": f"{CAT}{DIRECTORY.partition('#define STR2')[0]}{VARIADIC}#define X 1\n"
    "#if 0\n#include STR(a/H)\n#endif",
    "macros that no part of a name makes": f"{OPERATORS}{CAT}#define H_1 <x.h>\n#include CAT(H_, 1)",
    "a probe where the compiler's macro is defined": f"{OPERATORS}{CAT}#define H_1 <x.h>\n#define X 1\n"
    "#if defined(__GLIBCXX__) && __has_include(<no/where.h>)\n#include CAT(H_, __LINE__)\n#endif",
    "a probe of what may be a macro": f"#define HAS(x) 1\n{OPERATORS}#define X 1\n"
    "#if HAS(1) && __has_include(<__no/where.h>)\n#endif",
}


@pytest.mark.parametrize("way", NO_WAYS_OUT.values(), ids=NO_WAYS_OUT.keys())
def test_macros_for_other_things_lead_nowhere(tmp_path, way):
    """As Boost and CCCL have them beside headers' names that macros put together."""
    text = f"{way}\n{KERNEL}"
    write(tmp_path, {"k.cu": text, "include/x.h": "#define X 1\n"})
    assert compile_raw(text, f"-I{tmp_path}/include").ok
    read_closure(tmp_path, "k.cu", include=["include"])


@pytest.mark.parametrize("way", WAYS_OUT.values(), ids=WAYS_OUT.keys())
def test_no_absolute_path_is_opened(tmp_path, way):
    """NVRTC would open each of these from the disk, unhashed; the scan refuses all, naming the line."""
    (tmp_path / "x.h").write_text("#define X 1\n")
    text = f"{way.format(tmp_path / 'x.h', str(tmp_path / 'x.h')[1:])}\n{KERNEL}"
    assert compile_raw(text, "--std=c++14").ok
    write(tmp_path / "p", {"k.cu": text})
    with pytest.raises(InputError, match=r"k\.cu:\d: .*(leaves|out of) the project"):
        read_closure(tmp_path / "p", "k.cu")


@pytest.mark.parametrize(
    "define",
    [
        "#define H <../x.h>",
        "#define E\n#define H S(E../x.h)",
        "#define E\n#define H S(y/.E./../x.h)",
        "#define DOT() .\n#define H S(DOT()DOT()/x.h)",
        "#define UP(a) a../x.h\n#define H S(UP())",
    ],
)
def test_no_toolkit_folder_is_left_through_a_macro(tmp_path, define):
    """A macro with ``..`` would reach what lies beside the toolkit's headers; one in a header counts as well."""
    write(tmp_path, {"toolkit/x.h": "#define X 1\n", "toolkit/include/y/z.h": ""})
    header = f"{TEXT}{define}\n"
    write(tmp_path / "p", {"k.cu": '#include "a.h"\n#include H\n' + KERNEL, "a.h": header})
    assert compile_raw(f"{header}#include H\n{KERNEL}", f"-I{tmp_path}/toolkit/include").ok
    with pytest.raises(InputError, match=r"a\.h:\d: the macro text '.*' could lead an include out of the project"):
        read_closure(tmp_path / "p", "k.cu")


PROBES_OUT = {
    "macro": '#define H "{0}"\n#if __has_include(H)',
    "wrapped": "#define HAS(x) __has_include(x)\n#define H <{0}>\n#if HAS(H)",
    "wrapped in angles": "#define HAS(x) __has_include(<x>)\n#if HAS({0})",
    "another name": '#define HAS __has_include\n#define H "{0}"\n#if HAS(H)',
    "empty macro": f"{TEXT}#define E\n#if __has_include(S(E{{0}}))",
    "split angle": "#define LT <\n#if __has_include(LT{0}>)",
    "empty macro in angles": "#define E\n#define H __has_include(<E{0}>)\n#if H",
    "spelled in an argument": "#define E\n#define OF(x) x\n#if OF(__has_include(<E{0}>))",
    "spelled in an argument behind another": "#define E\n#define OF(x) x\n"
    "#if (!__has_include(<a)>)) && OF(__has_include(<E{0}>))",
    "second argument": '#define HAS(a, x) __has_include(x)\n#if HAS(1, "{0}")',
    "a line that a comment joins": '#define HAS(x) __has_include(x)\n#if 0 /*\n*/ || HAS("{0}")',
}


@pytest.mark.parametrize("way", PROBES_OUT.values(), ids=PROBES_OUT.keys())
def test_no_absolute_path_is_probed(tmp_path, way):
    """Whether a file is on this disk would be in the image and not in the key: each of these is refused."""
    (tmp_path / "x.h").write_text("")
    text = f"{way.format(tmp_path / 'x.h')}\n#define X 1\n#endif\n{KERNEL}"
    assert stored_value(compile_raw(text)) == 1
    write(tmp_path / "p", {"k.cu": text})
    with pytest.raises(InputError, match=r"k\.cu:\d: .*(leaves|out of) the project"):
        read_closure(tmp_path / "p", "k.cu")


HARMLESS = """
#define HALF(n) ((n) / 2 + (n) /3) // a/b, ../c
#define JOIN(a, ...) f(a, __VA_ARGS__) /* "/x" */
#define RANGE "1..2 of 3/4"
#define EMPTY
#define STEP \\
    do { x /= 2; } while (0)
#define RATIO(a, b) (a/b)
#define HALF_OF(n) n/2
#define COUNT(x) (sizeof(x)/sizeof(x[0]))
#define EACH(...) f(__VA_ARGS__, ...)
"""


def test_macros_that_lead_nowhere_pass(tmp_path):
    """Division, dots and comments in macros are no paths; a path that no include and no probe leads to does no harm."""
    used = "HALF(1) JOIN(1) RANGE EMPTY STEP RATIO(1, 2) HALF_OF(1) COUNT(a) EACH(a)"
    path = '#define PATH "/dev/null"\n'
    text = f"{HARMLESS}{path}#define TABLE(x) <t.inc>\n#include TABLE({used})\n{KERNEL}"
    write(tmp_path, {"k.cu": text, "t.inc": "#define X 6\n"})
    closure = read_closure(tmp_path, "k.cu", headers=["t.inc"])
    assert closure.computed == (f"k.cu:{text.count(chr(10), 0, text.index('#include')) + 1}",)
    assert stored_value(build(closure)) == 6
    write(tmp_path, {"k.cu": path + "#define HAS(x) __has_include(x)\n#define X 7\n" + KERNEL})
    assert stored_value(build(read_closure(tmp_path, "k.cu"))) == 7


def test_a_macro_may_probe(tmp_path):
    """A wrapped probe is true for a project header and sees the toolkit; a header that appears changes the closure."""
    text = (
        '#define HAS(x) __has_include(x)\n#if HAS("t/yes.h") && !HAS(<no.h>)\n#define X 1\n#else\n#define X 2\n#endif\n'
    )
    write(tmp_path, {"k.cu": text + KERNEL, "t/yes.h": ""})
    before = read_closure(tmp_path, "k.cu", include=["t"])
    assert before.probes == ("k.cu:1",)
    assert before.outside == ("no.h",)
    assert stored_value(build(before)) == 1
    write(tmp_path, {"t/no.h": ""})
    after = read_closure(tmp_path, "k.cu", include=["t"])
    assert stored_value(build(after)) == 2
    assert after.headers != before.headers


def test_names_that_only_macros_spell_count_as_the_toolkits(tmp_path):
    """A computed include may mean the toolkit's header, so what its macros spell is among the names that are keyed."""
    text = '#define A <curand.h>\n#define B(x) S(lib/x.cuh)\n#define T "t.inc"\n#include A\n'
    write(tmp_path, {"k.cu": text, "t.inc": ""})
    assert read_closure(tmp_path, "k.cu", headers=["t.inc"]).outside == ("curand.h",)
    write(tmp_path, {"k.cu": text.replace("#include A", "#include B(CUDA_VERSION)")})
    assert read_closure(tmp_path, "k.cu", headers=["t.inc"]).outside == ("lib/x.cuh",)
    write(tmp_path, {"k.cu": text.replace("#include A", "")})
    assert read_closure(tmp_path, "k.cu").outside == ()


def test_closures_that_share_a_project_are_what_they_are_apart(tmp_path):
    """Each problem, header and rewritten text is the same when folders and files are read once for many modules."""
    write(
        tmp_path,
        {
            "a.cu": '#include "both.h"\n#include <v.h>\n',
            "b.cu": '#include "both.h"\n#include <v.h>\n#include "../x.h"\n',
            "c.cu": '#include "both.h"\n#include "../x.h"\n',
            "both.h": '#include "v.h"\n',
            "one/v.h": "#define V 1\n",
            "two/v.h": "#define V 2\n",
        },
    )

    def outcomes(**shared):
        for source in ("a.cu", "b.cu", "c.cu"):
            for include in (["one"], ["two"], ["two", "one"]):
                try:
                    yield read_closure(tmp_path, source, include=include, **shared)
                except InputError as error:
                    yield str(error)

    project = Project(tmp_path)
    apart = list(outcomes())
    assert list(outcomes(project=project)) == apart
    assert len({closure.headers for closure in apart[:3]}) == 2
    assert apart[3:6] == ['b.cu:3: "../x.h" leaves the project; copy the header into it'] * 3
    (tmp_path / "both.h").write_text("#error read twice\n")
    assert list(outcomes(project=project)) == apart


def test_a_source_outside_the_project_is_refused(tmp_path):
    """Neither ``..`` nor an absolute path reaches a source that another checkout would not have."""
    write(tmp_path, {"k.cu": "", "project/x.cu": ""})
    for source in ("../k.cu", str(tmp_path / "k.cu")):
        with pytest.raises(InputError, match="must be inside the project"):
            read_closure(tmp_path / "project", source)


def test_links_may_stay_but_not_leave(tmp_path):
    """A symbolic link inside the project is a name like any other; one that leads out is refused, folders too."""
    write(tmp_path, {"away/x.h": "#define X 1\n", "p/real/x.h": "#define X 2\n"})
    write(tmp_path / "p", {"k.cu": '#include "link/x.h"\n' + KERNEL})
    (tmp_path / "p/link").symlink_to("real")
    assert stored_value(build(read_closure(tmp_path / "p", "k.cu"))) == 2
    (tmp_path / "p/link").unlink()
    (tmp_path / "p/link").symlink_to(tmp_path / "away")
    with pytest.raises(InputError, match=r"link/x\.h: a symbolic link leads out of the project"):
        read_closure(tmp_path / "p", "k.cu")
    with pytest.raises(InputError, match="include folder must be inside"):
        read_closure(tmp_path / "p", "k.cu", include=["link"])


def test_a_link_to_itself_is_no_file(tmp_path):
    """And keeps nobody from finding what is beside it."""
    write(tmp_path, {"k.cu": '#include "x.h"\n' + KERNEL, "x.h": "#define X 2\n"})
    (tmp_path / "round.h").symlink_to("round.h")
    assert stored_value(build(read_closure(tmp_path, "k.cu"))) == 2


def test_all_problems_come_at_once(tmp_path):
    """One run names every header that has to be mended."""
    write(tmp_path, {"k.cu": '#include "a.h"\n#include "b.h"\n#include "/c.h"\n', "a.h": b"\xff", "b.h": "\0"})
    with pytest.raises(InputError) as caught:
        read_closure(tmp_path, "k.cu")
    assert sorted(line.split(":")[0] for line in str(caught.value).splitlines()) == ["a.h", "b.h", "k.cu"]


def test_comments_may_be_in_another_encoding(tmp_path):
    """Such files are taken, as by nvcc; lines stay as they are."""
    write(tmp_path, {"k.cu": b"/* \xa9\n */ int a; // M\xfcller, caf\xc3\xa9\n"})
    assert read_closure(tmp_path, "k.cu").source == "/* ?\n */ int a; // M?ller, caf\u00e9\n"
