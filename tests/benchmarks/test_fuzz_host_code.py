"""The fuzzer of mixed sources: its kernels are nvcc's, as recorded and, where there is an nvcc, now."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[2] / "benchmarks/fuzz_host_code"))

from fuzz_host_code import RECORDED, compared, recorded_outcomes
from mixed_sources import mixed_source

RECORD = json.loads(RECORDED.read_text())


@pytest.mark.slow
@pytest.mark.parametrize("std", RECORD["outcomes"])
def test_recorded_kernels_are_made(std, tmp_path):
    """Each source gives the kernels that nvcc 13.0 made of it, or is refused as nvcc refused it."""
    outcomes = dict(recorded_outcomes(RECORD, std, tmp_path))
    assert {what for what in outcomes.values() if what not in {"same", "both refuse"}} == set()
    assert [*outcomes.values()].count("same") > len(outcomes) // 2


def test_a_source_is_the_same_each_time():
    """A number and a seed name a source, in any order of asking."""
    first, other = mixed_source(1, 7), mixed_source(1, 8)
    assert mixed_source(1, 7) == first != other


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("nvcc") is None, reason="there is no nvcc")
def test_kernels_are_as_with_the_nvcc_that_is_here():
    """A small budget of fresh sources finds no other kernel than nvcc's."""
    found = {number: what for number, what, _, _ in compared(seed=20, first=0, last=20)}
    assert {number for number, what in found.items() if what == "DIFFERENT"} == set()
