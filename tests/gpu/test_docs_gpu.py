"""The documentation's snippets for a device, run from top to bottom, page by page."""

from __future__ import annotations

import pytest
from doc_blocks import DOCS, README, blocks_of, run_page, runs

PAGES = [
    page
    for page in (README, *sorted((DOCS / "howto").glob("*.md")))
    if any(block.mark == "gpu" and runs(block, gpu=True) for block in blocks_of(page))
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_page_runs_on_a_device(page, device, tmp_path):
    """Every block runs, less those of frameworks that are not installed; where that leaves none, it is skipped."""
    results = [result for block, result in run_page(page, tmp_path, gpu=True) if block.mark == "gpu"]
    skipped = [f"{result['label']} {result['state']}" for result in results if result["state"] != "run"]
    if len(skipped) == len(results):
        pytest.skip("; ".join(skipped))
