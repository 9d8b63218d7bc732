"""One word per thing: no two classes of the package share a name."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import hatch_cuda_kernels

PACKAGE = Path(hatch_cuda_kernels.__file__).parent


@pytest.mark.slow
def test_no_two_classes_share_a_name():
    """A name leads to one class, whichever module it stands in; leading underscores do not count."""
    places = {}
    for path in sorted([*PACKAGE.rglob("*.py"), *PACKAGE.rglob("*.pyi")]):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name.lstrip("_"), []).append(f"{path.relative_to(PACKAGE)}:{node.lineno}")
    assert len(places) > 50  # the classes are found at all
    assert {name: found for name, found in places.items() if len(found) > 1} == {}
