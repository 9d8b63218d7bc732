"""Texts that were made to be slow."""

from __future__ import annotations

import contextlib
import time

import pytest

from hatch_cuda_kernels.errors import InputError
from hatch_cuda_kernels.includes import Project, ProjectFiles, read_closure

SLOW = [
    *('R"(', 'u8R"(', 'R"a(', '("', "'\\", '"\\', "(/*", "/*", "#/*", "//", '"', "'", "\\", "\\\n", " ", "#", "("),
    *("#if (", '#if ("', "#if (/*", "#if X (<", "/**/#if (<", "#define A /*", "#define A(", "#include <a "),
    *("/**/#include ", "#include A\n", "#define A A\n", "__has_include(", "__has_include", "defined(", "#if A("),
    *('#define A R"(\n', "1'0,", "??=", "\\u'", "A(", "../"),
]


@pytest.mark.parametrize(("size", "seconds"), [(40_000, 1), pytest.param(200_000, 5, marks=pytest.mark.slow)])
@pytest.mark.parametrize("text", SLOW)
def test_no_text_is_slow_to_read(tmp_path, text, size, seconds):
    """200 kB take a fraction of a second, whatever they are; where time grows with the square, some take minutes."""
    source = ('#include "x.h"\n__has_include(X)\n' + text * (size // len(text)))[:size]
    start = time.process_time()
    with contextlib.suppress(InputError):
        read_closure(tmp_path, "k.cu", project=Project(ProjectFiles(tmp_path, {"k.cu": source})))
    assert time.process_time() - start < seconds
