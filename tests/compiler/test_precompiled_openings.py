"""What a text begins with is told from its directives alone."""

from __future__ import annotations

import pytest

from hatch_cuda_kernels.compiler.precompiled import ONCE, named_headers, read_opening

SYSTEM_HEADER = """#if defined(GCC)
#  pragma GCC system_header
#elif defined(CLANG)
#  pragma clang system_header
#endif // no system header
"""


@pytest.mark.parametrize(
    ("text", "opening"),
    [
        ("", ("", (), True)),
        ("// only a comment\n", ("", (), True)),
        ('#include <a>\n/* x */ #include "b" // c\n', ("", ("<a>", '"b"'), True)),
        ("#pragma once\n#include <a>\nint x;\n#include <b>\n", (ONCE, ("<a>",), False)),
        (f"#pragma once\n#include <a>\n{SYSTEM_HEADER}#include <b>\n", (ONCE, ("<a>", "<b>"), True)),
        ("#ifndef A\n#define A\n#include <a>\n#endif\n", ("A", ("<a>",), True)),
        ("#if !defined(A)\n#define A 1\n#include <a>\nint x;\n#endif // A\n", ("A", ("<a>",), False)),
        ("#incl\\\nude <a>\n", ("", ("<a>",), True)),
    ],
)  # fmt: skip
def test_what_a_text_begins_with(text, opening):
    """Comments, guards and pragmas for system headers keep nothing from being first."""
    assert tuple(read_opening(text)) == opening


@pytest.mark.parametrize(
    "before",
    [
        *("int x;", "#define A", "#undef A", "#line 3", "#pragma pack(push, 1)", "#pragma nv_diag_suppress 177"),
        *("#if A\n#include <x>\n#endif", "#ifdef A\n#define B\n#endif", "#include NAME", "#error no", "%: define A"),
    ],
)
def test_what_may_matter_to_a_header_comes_before_it(before):
    """A header does not come first where what stands before it could change what it means."""
    assert read_opening(f"#include <a>\n{before}\n#include <b>\n").includes == ("<a>",)


@pytest.mark.parametrize(
    "text",
    [
        "#ifndef A\n#define A\n#endif\nint x;\n",
        "#ifndef A\n#define A\n#else\nint x;\n#endif\n",
        "#ifndef A\n#define B\n#endif\n",
        "#ifdef A\n#define A\n#endif\n",
        "#if !defined(A) && B\n#define A\n#endif\n",
    ],
)
def test_a_macro_that_does_not_guard_all(text):
    """A text counts again where its macro leaves something of it."""
    assert read_opening(text).guard == ""


def test_headers_are_named_by_includes_and_probes():
    """Conditions are not evaluated; directives may be written in any way that NVRTC takes."""
    text = '#if __has_include(<a>)\n#  include "b"\n#else\n%:include_next <c>\n#endif\nconst char* s = "#include";\n'
    assert named_headers(f"{text}#inc\\\nlude <d>\n# /* x */ import <e>\n") == {"<a>", '"b"', "<c>", "<d>", "<e>"}
