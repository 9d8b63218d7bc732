"""A headless Chromium of this machine, for tests of pages."""

from __future__ import annotations

import shutil
from contextlib import contextmanager

import pytest
from waiting import HANG_SECONDS

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
#: Nothing but the page: no sandbox (there is none in a container), no updates, no shared memory of a fixed size.
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
#: How long the browser may take for each step.
MILLISECONDS = 1000 * HANG_SECONDS


@contextmanager
def open_browser():
    """Yield a browser, or skip the test."""
    playwright = pytest.importorskip("playwright.sync_api", reason="the browser tests need playwright")
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        pytest.skip(f"no browser: none of {', '.join(BROWSERS)} is on the PATH")
    with playwright.sync_playwright() as running:
        started = running.chromium.launch(executable_path=path, args=FLAGS, timeout=MILLISECONDS)
        yield started
        started.close()
