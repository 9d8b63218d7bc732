"""Finding includes without a preprocessor: what counts, and what only looks like one."""

from __future__ import annotations

import pytest
from raw_nvrtc import compile_raw

from hatch_cuda_kernels.compiler.directives import find_directives


def spellings(text: str) -> list[str]:
    """Return what a text includes or probes."""
    return [directive.spelling for directive in find_directives(text)]


@pytest.mark.parametrize(
    "text",
    [
        '#include "a.h"',
        '  #\tinclude"a.h" // why',
        '/* x */ # /* y */ include /* z */ "a.h"',
        '/* over\ntwo lines */ #include "a.h"',
        '/* one *//* two */\t#include "a.h"',
        '#include \\\n"a.h"',
        "int x = 1'000; // it's\n#include \"a.h\"",
        '#error don\'t\n#include "a.h"',
        "char c = '\"';\n#include \"a.h\"\nchar d = '\"';",
        'auto s = "\\"/*";\n#include "a.h"',
        '#if __has_include("a.h")\n#endif',
        '#define HAVE __has_include \\\n ( "a.h" )',
        'const char* s = LR"x()" #include "no.h" )x";\n#include "a.h"',
        '// C:\\dir \\ \n#include "a.h"',
        '\f#include "a.h"\r\n',
    ],
)
def test_one_header_is_found(text):
    """However it is spaced, commented or surrounded, the one directive is seen."""
    assert spellings(text) == ['"a.h"']
    (directive,) = find_directives(text)
    assert text[directive.start : directive.end] == directive.spelling


@pytest.mark.parametrize(
    "text",
    [
        '// #include "a.h"',
        '// goes on \\\n#include "a.h"',
        '// goes on \\\r\n#include "a.h"',
        '/* #include "a.h" */',
        '/*\n#include "a.h"\n*/',
        'const char* s = R"(\n#include "a.h"\n)";',
        'const char* s = u8R"--(\n)"\n#include "a.h"\n)--";',
        'const char* s = "\\\n#include <a.h>";',
        'int x; #include "a.h"',
        '#define M \\\n#include "a.h"',
        '#includes "a.h"',
        '#import "a.h"',
        'int my__has_include("a.h");',
        "int included;",
        '/* never closed\n#include "a.h"',
    ],
)
def test_what_only_looks_like_an_include_is_left_alone(text):
    """Comments, literals, macro bodies and other words are no directives."""
    assert spellings(text) == []


def test_kinds_are_told_apart():
    """Quoted, angled, computed and next includes each keep what matters about them."""
    text = '#include "q"\n#include <a b>\n#include MACRO(x)\n#include_next <n>\n#if __has_include_next("p")\n'
    found = [(directive.spelling, directive.is_next) for directive in find_directives(text)]
    assert found == [('"q"', False), ("<a b>", False), ("", False), ("<n>", True), ('"p"', True)]


def test_nvrtc_agrees():
    """NVRTC opens exactly the header that is found in a text full of false ones."""
    text = (
        '// \\\n#include "no1.h"\n/* \n#include "no2.h"\n*/ # /**/ include /**/ "yes.h" // "no3.h"\n'
        '__device__ const char* a = R"x(\n#include "no4.h"\n)" )x";\n'
        '#define BODY \\\n#include "no5.h"\n'
        "__device__ char b = '\"'; __device__ int c = 1'0; // '\n"
        'extern "C" __global__ void k(int* p) { *p = X; }\n'
    )
    assert spellings(text) == ['"yes.h"']
    result = compile_raw(text, headers=(("yes.h", "#define X 1\n"),))
    assert result.ok, result.log
