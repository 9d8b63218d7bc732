"""Joined lines, and texts that were made to be slow."""

from __future__ import annotations

import time

import pytest

from hatch_cuda_kernels.includes import Located, Project, parse_text, ways_out
from hatch_cuda_kernels.source.lexer import Joined, blank_literals
from hatch_cuda_kernels.source.macros import find_macro_texts


def test_places_of_joined_lines():
    """Each character of the joined text is found in the original, and the other way round."""
    source = Joined("\\\na\\\r\nb\\\\\n\\\nc\nd\\")
    assert source.text == "ab\\c\nd\\"
    for position, character in enumerate(source.text):
        assert source.original[source.place(position)] == character
        assert source.position(source.place(position)) == position


@pytest.mark.parametrize(
    ("text", "blank"),
    [
        ("f(\"a\\\"b\", 'c', L'\\'') // d\ne", "f(0, 0, L0)  \ne"),
        ('u8R"x( )" )x" /* " */ g', "u8R0   g"),
        ("1'000 + x'y'", "10 + x0"),
        ("can't \\\n /* a\n b", "can0\n b"),
    ],
)
def test_literals_and_comments_are_blanked(text, blank):
    """What a parser of declarations sees: no comment, no string, no character."""
    assert blank_literals(text) == blank


SLOW = [
    *('R"(', 'u8R"(', 'R"a(', '("', "'\\", '"\\', "(/*", "/*", "#/*", "//", '"', "'", "\\", "\\\n", " ", "#", "("),
    *("#if (", '#if ("', "#if (/*", "#if X (<", "/**/#if (<", "#define A /*", "#define A(", "#include <a "),
    *("/**/#include ", "#include A\n", "#define A A\n", "__has_include(", "__has_include", "defined(", "#if A("),
    *("1'0,", "??=", "\\u'", "A(", "../"),
]


@pytest.mark.parametrize(("size", "seconds"), [(40_000, 1), pytest.param(200_000, 5, marks=pytest.mark.slow)])
@pytest.mark.parametrize("text", SLOW)
def test_no_text_is_slow_to_read(tmp_path, text, size, seconds):
    """200 kB take a fraction of a second, whatever they are; where time grows with the square, some take minutes."""
    source = ('#include "x.h"\n__has_include(X)\n' + text * (size // len(text)))[:size]
    start = time.process_time()
    parsed = parse_text("k.cu", source.encode())
    Project(tmp_path).rewriter(()).rewrite(parsed)
    list(ways_out([Located(parsed, macro) for macro in find_macro_texts(source)]))
    blank_literals(source)
    assert time.process_time() - start < seconds
