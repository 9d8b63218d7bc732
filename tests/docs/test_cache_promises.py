"""The page of promises names tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

TESTS = Path(__file__).parents[1]
PAGE = TESTS.parent / "docs" / "explanation" / "security-and-reliability.md"


def test_every_promise_has_its_test():
    """Each row of the page names at least one test, or file of tests, and all of them are there."""
    rows = [
        line for line in PAGE.read_text().splitlines() if line.startswith("| ") and not line.startswith("| promise")
    ]
    there = set(
        re.findall(r"^def (test_\w+)", "".join(file.read_text() for file in TESTS.rglob("test_*.py")), re.MULTILINE)
    )
    there |= {file.name for file in TESTS.rglob("test_*.py")}
    assert len(rows) > 20
    for row in rows:
        named = re.findall(r"`(test_\w+(?:\.py)?)`", row)
        assert named, row
        assert set(named) <= there, set(named) - there
