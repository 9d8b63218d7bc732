"""The scan and a real preprocessor on code that nobody here wrote: the toolkit's own headers.

``benchmarks/include_scan.py`` does the same over checkouts of public code, and its records are in benchmarks/results.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from plain_lexer import read_includes
from preprocessors import disagreements, find_preprocessors

from hatch_cuda_kernels.compiler.toolchain.toolchain import load_toolchain
from hatch_cuda_kernels.cpp import SourceFile
from hatch_cuda_kernels.includes import find_includes

SUFFIXES = {"", ".cuh", ".h", ".hpp", ".inl"}
BATCH = 200


@pytest.fixture(scope="module")
def texts():
    """Return the toolkit's headers, by path."""
    paths = {path for folder in load_toolchain().include_dirs for path in Path(folder).rglob("*")}
    return {str(path): path.read_text() for path in sorted(paths) if path.suffix in SUFFIXES and path.is_file()}


@pytest.mark.slow
def test_a_second_lexer_finds_the_same_includes(texts):
    """One that is written straight, character by character, as the standard tells it."""
    assert len(texts) > 1000
    for path, text in texts.items():
        found = [directive for directive in find_includes(SourceFile(path, text)) if not directive.is_probe]
        assert not any(directive.problem for directive in found), path
        assert [directive.spelling for directive in found] == [spelling for _, spelling in read_includes(text)], path


@pytest.mark.slow
@pytest.mark.parametrize(("name", "which"), [("g++", 0), ("cudafe++", 1)])
def test_a_preprocessor_opens_the_same_includes(texts, name, which):
    """With every group compiled, it opens each header that the scan found, and asks for no other: half of them each."""
    command = find_preprocessors().get(name)
    if command is None:
        pytest.skip(f"there is no {name} here")
    paths = [*texts][which::2]
    batches = ({path: texts[path] for path in paths[at : at + BATCH]} for at in range(0, len(paths), BATCH))
    assert [found for batch in batches for found in disagreements(command, batch)] == []
