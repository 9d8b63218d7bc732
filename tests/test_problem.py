"""The one shape of problems, as people read it."""

from __future__ import annotations

import pytest

from hatch_cuda_kernels.errors import Problem


@pytest.mark.parametrize(
    ("problem", "text"),
    [
        (Problem("the file is missing"), "the file is missing"),
        (Problem("missing", "write schema: 1"), "missing; write schema: 1"),
        (Problem("the file is missing", where="a/a.sm_90.cubin"), "a/a.sm_90.cubin: the file is missing"),
        (Problem("missing", "write schema: 1", "1:1: schema"), "1:1: schema: missing; write schema: 1"),
    ],
)
def test_a_problem_reads_as_place_message_and_fix(problem, text):
    """What is not known leaves no mark in the text."""
    assert str(problem) == text
