"""Finding includes without a preprocessor: what counts, and what only looks like one."""

from __future__ import annotations

import pytest
from raw_nvrtc import compile_raw

from hatch_cuda_kernels.compiler.source.directives import find_directives


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
        '%:include "a.h"',
        '??=include "a.h"',
        '\\\n#include "a.h"',
        '/* one */ \\\r\n \\\r\n/* two */ # include "a.h"',
        '#define EMPTY \\\n\n#include "a.h"',
        '#if HAS("a.h")\n#endif',
        '#if 0\n#  elif defined(HAS) && \\\n HAS ( "a.h" )\n#endif',
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
        'const char* s = "split\\\nword", *t = "90%:include <a.h>"; // and\\\nhere: ??=include <a.h>',
        "#define SUM(a) (a)+\\\nb\n#if SUM(1) < 2 && (3 > 2)\n#endif",
        "#ifdef __has_include\n#elif defined( __has_include )\n#endif",
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


@pytest.mark.parametrize(
    "text",
    [
        '#inc\\\nlude "a.h"',
        '#inc\\\r\n\\\r\nlude "a.h"',
        '#include "a\\\n.h"',
        "#include <a\\\n.h>",
        '%\\\n:include "a.h"',
        '/\\\n* " *\\\n/\n#include "a.h"',
        '#if __has_in\\\nclude("a.h")\n#endif',
        'const char* s = R\\\n"( /* )";\n#include "a.h"\n// */',
        '// goes on ??/\n#include "a.h"',
    ],
)
def test_what_could_hide_an_include_is_refused(text):
    """A directive in pieces is not put together; it is a problem with a place."""
    assert [directive for directive in find_directives(text) if directive.problem]


@pytest.mark.parametrize(
    ("text", "opened"),
    [
        ('%:include "yes.h"', True),
        ('??=include "yes.h"', True),
        ('\\\n  \\\n/* */ #include "yes.h"', True),
        ('#inc\\\nlude "yes.h"', True),
        ('#include "yes\\\n.h"', True),
        ('/\\\n* " *\\\n/\n#include "yes.h"', True),
        ('// goes on ??/\n#include "yes.h"', False),
        ('// blank after it \\ \n#include "yes.h"', True),
        ("#if HAS(<yes.h>)\n#define X 1\n#endif", True),
    ],
)
def test_nvrtc_opens_what_is_found_or_refused(text, opened):
    """Whatever NVRTC takes for an include in C++14 is an include or a problem here, and nothing else is an include."""
    wrapper = "#define HAS(x) __has_include(x)\n"
    kernel = '\nextern "C" __global__ void k(int* p) { *p = X; }\n'
    result = compile_raw(wrapper + text + kernel, "--std=c++14", headers=(("yes.h", "#define X 1\n"),))
    assert result.ok is opened, result.log
    found = list(find_directives(text))
    assert any(directive.problem or directive.spelling in {'"yes.h"', "<yes.h>"} for directive in found)


def test_probes_that_a_macro_wraps():
    """A wrapped probe is found where it is used, for a literal; where it is defined, it is a probe of anything."""
    text = '#define HAS(x) __has_include(x)\n#if HAS(<a.h>) && HAS("b.h") && __has_include(<c.h>)\n#endif\n'
    found = [(directive.spelling, directive.is_probe) for directive in find_directives(text)]
    assert found == [("", True), ("<a.h>", True), ('"b.h"', True), ("<c.h>", True)]


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
