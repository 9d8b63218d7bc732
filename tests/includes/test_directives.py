"""Finding includes without a preprocessor: what counts, and what only looks like one."""

from __future__ import annotations

import pytest
from raw_nvrtc import compile_raw

from hatch_cuda_kernels.cpp import SourceFile
from hatch_cuda_kernels.includes import find_includes


def find_directives(text: str):
    """Return what is included and probed, in order."""
    return sorted(find_includes(SourceFile("k.cu", text)))


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
        '#if 0 || __has_include \\\n ( "a.h" )\n#endif',
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
        '#if 0 || HAS(1, "a.h")\n#endif',
        '#if 0 /*\n*/ || HAS("a.h")\n#endif',
        '#import "a.h"',
        '#\rinclude\r"a.h"\r\n',
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
        'int my__has_include("a.h");',
        "#include\n",
        '#if 0 // HAS("a.h")\n#endif',
        '#if A /* HAS("a.h") */\n#endif\nint b = f("a.h");',
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
        '%\\\n:include "a.h"',
        '/\\\n* " *\\\n/\n#include "a.h"',
        '#if __has_in\\\nclude("a.h")\n#endif',
        'const char* s = R\\\n"( /* )";\n#include "a.h"\n// */',
        'const char* s = R"(\\\n)\\\n" )";\n#include "a.h"',
        '// goes on \\\r\r\nhere\n#include "a.h"',
    ],
)
def test_lines_that_a_backslash_joins_are_read_as_one(text):
    """A word, a name or a comment mark in two pieces is one; where it stands in the file is known."""
    assert spellings(text) == ['"a.h"']
    (directive,) = find_directives(text)
    assert text[directive.start : directive.end].replace("\\\n", "") == directive.spelling


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("// goes on ??/\n", "this trigraph in two ways"),
        ("#define A ??' /*\n", "this trigraph in two ways"),
        ("#if 0\n#include <a/*b>\n", "this name in two ways"),
        ("#if 0\n#include <a'b> /*\n", "this name in two ways"),
        ("#if 0\n#include <a//b> /*\n", "this name in two ways"),
        ('#if 0\n#include "a\\" /* "\n', "this name in two ways"),
        ("#define Z 1\\u00e9'a/*'\n", "this quote in two ways"),
        ('#define Z R"a\\\nb( /* )ab"\n', "this quote in two ways"),
        ("#if 0\nint x = 1'0; /*\n#endif\n", "this quote in two ways"),
        ("#if 0\nf(1'0, R\"(\n#endif\n", "this quote in two ways"),
        ('#define Z "a"R"( " /* )"\n', "this quote in two ways"),
        ('#define Z \'a\'u8R"( " /* )"\n', "this quote in two ways"),
        ("#include <a.h\n", "goes on one line"),
        ('#include "a.h\n', "goes on one line"),
        ('#embed "a.h"\n', "NVRTC knows no #embed"),
        ('#if __has_embed("a.h")\n', "NVRTC knows no #embed"),
    ],
)
def test_what_cannot_be_read_safely_is_refused(text, problem):
    """What could hide an include, or change with each build, is a problem with a place."""
    assert any(problem in directive.problem for directive in find_directives(text))


@pytest.mark.parametrize(
    "text",
    [
        "#if defined(__has_embed) && 0\n#endif",
        "int a = 1'000; // it's\nint b = 1'000'000; /* over\ntwo lines */ int c = 1'000; /* on one */",
        "f(1'000'000, 0x1'0'1, R\"(\n)\", '\"');",
        "#include <a//b> // why",
    ],
)
def test_what_is_safe_is_not_refused(text):
    """Comments, literals, other words and a slash too many do no harm."""
    assert not any(directive.problem for directive in find_directives(text))


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
    found = find_directives(text)
    assert any(directive.problem or directive.spelling in {'"yes.h"', "<yes.h>"} for directive in found)


QUOTES = {
    "an apostrophe in #error": ("#ifdef OLD\n#error can't include detail/*.cuh\n#endif", True),
    "an apostrophe in #pragma": ("#pragma z can't /*", True),
    "an apostrophe in a skipped group": ("#if 0\ndon't /* here\n#endif", True),
    "a quote in a skipped group": ('#if 0\nsay "hello /* here\n#endif', True),
    "an unknown directive in a skipped group": ("#if 0\n#foo can't /* a\n#endif", True),
    "text after #else": ("#if 1\n#else can't /*\n#endif", True),
    "a line joined to an open literal": ("#if 0\ncan't \\\n/*\n#endif", True),
    "a backslash that joins nothing in a literal": ('#define A "abc\\\\\n" /*', True),
    "an open character": ("#define Z(x) ' /*", True),
    "an open string": ('#define Z(x) " /*', True),
    "a character after a word": ('#define Z case\'"\': x = "/*";', True),
    "a character after a letter": ("#define Z abc'/*'", True),
    "a prefix that is none": ("#define Z xu'a/*'", True),
    "a prefix of C++17": ("#define Z u8'/*'", True),
    "a number and a character": ("#define Z 1'/*'", True),
    "a number and a character of two": ("#define Z 1'\"a/*'", True),
    "a number with separators": ("#define Z 1'a'b/*'", False),
    "a separator after an exponent": ("#define Z 1e+5'a'b/*'", False),
    "a separator after a point": ("#define Z a.1'a'b/*'", False),
    "a number with a character of its own": ("#define Z 1\u00e9'a/*'", True),
    "a point and a character": ("#define Z .'a/*'", True),
    "a raw string": ('#define Z R"( " /* )"', True),
    "a raw string after a letter of its own": ('#define Z \u00e9R"( " /* )"', True),
    "a raw string with a prefix": ('#define Z uR"( " /* )"', True),
    "a string after a word that ends in R": ('#define Z U8R"( " /* )"', False),
    "a string after a number that ends in R": ('#define Z 1R"( " /* )"', False),
    "a string after an exponent and R": ('#define Z 1e+R"( " /* )"', False),
    "a string after a separator": ('#define Z 1\'0\'R"( " /* )"', False),
    "a raw string with quotes around its name": ('#define Z R"a"b( " /* )a"b"', True),
    "a raw string in a skipped group, with a blank in its name": ('#if 0\nR"a b( " /* )a b"\n#endif', True),
    "a raw string in a skipped group, with a bracket in its name": ('#if 0\nR"a)b( )" /* )a)b" */\n#endif', True),
    "a raw string over lines in a skipped group": ('#if 0\nR"(\n#endif', False),
    "a carriage return is no line's end": ("// a\r", True),
    "a backslash, carriage returns and a line's end": ("// a \\\r\r", False),
    "a backslash, a blank and a line's end": ("// a \\ ", True),
}


def test_nvrtc_ends_comments_and_literals_where_the_scan_does():
    """What stands before an include hides it from NVRTC and from the scan, or from neither."""
    texts = {
        f"{number}.h": f'{before}\n#include "opened{number}.h"\n//*/)"\n#endif\n'
        for number, (before, _) in enumerate(QUOTES.values())
    }
    opened = {f"opened{number}.h": f"#warning OPENED{number}.\n" for number in range(len(QUOTES))}
    source = "".join(f'#include "{name}"\n' for name in texts)
    log = compile_raw(source, headers=tuple((texts | opened).items())).log
    for number, (name, (_, is_opened)) in enumerate(QUOTES.items()):
        assert (f"OPENED{number}." in log) is is_opened, name
        assert any(spellings(texts[f"{number}.h"])) is is_opened, name
