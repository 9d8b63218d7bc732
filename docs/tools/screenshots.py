"""Chromium, and pictures that are small enough to be kept in the repository."""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from io import BytesIO
from typing import TYPE_CHECKING

from PIL import Image
from PIL.PngImagePlugin import PngInfo
from playwright.sync_api import sync_playwright

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser


@contextmanager
def chromium() -> Iterator[Browser]:
    """Yield a headless Chromium, of those on the PATH."""
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


def save(png: bytes, path: Path, *, text: str = "") -> None:
    """Write a picture in few colours: flat areas and letters. ``text`` is kept in the file, as its description."""
    taken = Image.open(BytesIO(png)).convert("RGB")
    colours = taken.quantize(128, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    notes = PngInfo()
    if text:
        notes.add_itxt("Description", text, zip=True)
    colours.save(path, optimize=True, pnginfo=notes)
