"""The changelog is in the form of Keep a Changelog, and fits the tags, which alone state the version."""

from __future__ import annotations

import pytest
from changelog import links, problems, problems_here
from doc_blocks import ROOT

SOURCE = "https://example.org/a/b"
GOOD = """# Changelog

## [Unreleased]

## [1.10.0] - 2026-12-01

### Added

- More.

## [1.9.1] - 2026-11-30 [YANKED]

### Fixed

- Less.

[Unreleased]: https://example.org/a/b/compare/v1.10.0...HEAD
[1.10.0]: https://example.org/a/b/compare/v1.9.1...v1.10.0
[1.9.1]: https://example.org/a/b/commits/v1.9.1
"""


def test_the_changelog_fits_the_repository():
    """Each version that was tagged has its section, and each section its link, once the repository has an address."""
    assert problems_here(ROOT) == []


def test_a_good_changelog_passes():
    """Candidates need no section, nor do tags of something else."""
    assert problems(GOOD, tags=["v1.10.0", "v1.9.1", "v1.11.0rc1", "nightly"], source=SOURCE) == []


WRONG = {
    "no unreleased": ("## [Unreleased]\n\n", "", "the first section is not [Unreleased]"),
    "no date": ("[1.10.0] - 2026-12-01", "[1.10.0]", "not like [1.2.0] - 2026-12-01: [1.10.0]"),
    "unknown kind": ("### Fixed", "### Mended", "not a kind of change: Mended"),
    "older date": ("2026-12-01", "2026-11-01", "the newest date is not the first"),
    "older version": ("## [1.10.0]", "## [1.8.0]", "the newest version is not the first"),
    "untagged": ("## [1.10.0]", "## [1.10.1]", "there is a tag of 1.10.0, and no section"),
    "link": ("v1.9.1...v1.10.0", "v1.9.0...v1.10.0", "the links at the end are not these:\n[Unreleased]: "),
}


@pytest.mark.parametrize(("old", "new", "says"), WRONG.values(), ids=WRONG.keys())
def test_what_is_wrong_is_said(old, new, says):
    """One thing wrong is named; if it is the links, with those to paste."""
    assert GOOD.count(old) == 1
    found = problems(GOOD.replace(old, new), tags=["v1.10.0"], source=SOURCE)
    assert any(problem.startswith(says) for problem in found), found


def test_the_first_links():
    """Before the first release, there is nothing to compare with; without an address, there are no links."""
    assert links([], SOURCE) == [f"[Unreleased]: {SOURCE}/commits/HEAD"]
    assert problems("## [Unreleased]\n", tags=[], source=None) == []
