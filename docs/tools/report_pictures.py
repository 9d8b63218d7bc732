"""Take the pictures of docs/howto/report.md: the example project's wheel, and a made-up next release of it.

    hatch run pictures:report

It needs a Chromium on the PATH, and overwrites ``docs/images/report-*.png``.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from PIL import Image
from playwright.sync_api import sync_playwright

from hatch_cuda_kernels.cli import main

if TYPE_CHECKING:
    from playwright.sync_api import Browser

ROOT = Path(__file__).parent.parent
IMAGES = ROOT / "docs" / "images"
#: What the next release changes: one more architecture, fewer registers for the sort, one kernel less.
CHANGES = {
    'version = "0.1.0"': 'version = "0.2.0"',
    "sm_90, sm_120": "sm_90, sm_100, sm_120",
    "__launch_bounds__(BLOCK)": "__launch_bounds__(BLOCK, 9)",
    "{BLOCK: [32, 256]}": "{BLOCK: [32]}",
}


class Picture(NamedTuple):
    """One file in ``docs/images``: which page, in which window, from which element on."""

    name: str
    against: bool
    scheme: str
    width: int
    height: int
    start: str = "body"
    measure: str = ""


DESKTOP, PHONE = 1280, 375
PICTURES = (
    Picture("report-light", True, "light", DESKTOP, 1640),
    Picture("report-dark", False, "dark", DESKTOP, 1460, "#heat-title", "registers"),
    Picture("report-phone", True, "light", PHONE, 812, "#heat-title"),
    Picture("report-phone-dark", True, "dark", PHONE, 812, "#tree-title"),
)


def build_wheel(project: Path, out: Path) -> Path:
    """Build a project's wheel with what is installed here."""
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out), str(project)]
    subprocess.run(command, check=True)
    return next(out.glob("*.whl"))


def next_release(folder: Path) -> Path:
    """Copy the example project, changed; raises ValueError where it no longer has what is to change."""
    shutil.copytree(ROOT / "example_project", folder, ignore=shutil.ignore_patterns("dist", "tests", "__pycache__"))
    left = dict(CHANGES)
    for name in ("pyproject.toml", "kernels.yaml", "kernels/radix_sort.cu"):
        text = (folder / name).read_text()
        for old in [old for old in left if old in text]:
            text = text.replace(old, left.pop(old))
        (folder / name).write_text(text)
    if left:
        raise ValueError(f"not in the example project: {', '.join(left)}")
    return folder


def take(browser: Browser, page_file: Path, picture: Picture) -> None:
    """Write one picture, in few colours: flat areas and text. Phones have two pixels a point."""
    scale = 2 if picture.width == PHONE else 1
    page = browser.new_page(
        viewport={"width": picture.width, "height": picture.height},
        device_scale_factor=scale,
        color_scheme=picture.scheme,
    )
    page.goto(page_file.as_uri())
    if picture.measure:
        page.click(f"label[for=m-{picture.measure}]")
    top = page.evaluate("s => document.querySelector(s).getBoundingClientRect().top + scrollY", picture.start)
    clip = {"x": 0, "y": max(0, top - 16), "width": picture.width, "height": picture.height}
    taken = Image.open(BytesIO(page.screenshot(full_page=True, clip=clip)))
    colours = taken.convert("RGB").quantize(128, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    colours.save(IMAGES / f"{picture.name}.png", optimize=True)
    page.close()


def run() -> None:
    """Build both wheels, write both reports, take every picture."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    with tempfile.TemporaryDirectory() as scratch, sync_playwright() as playwright:
        folder = Path(scratch)
        old = build_wheel(ROOT / "example_project", folder / "old")
        new = build_wheel(next_release(folder / "project"), folder / "new")
        pages = {False: folder / "one.html", True: folder / "two.html"}
        main(["report", str(old), "-o", str(pages[False])])
        main(["report", str(new), "--against", str(old), "-o", str(pages[True])])
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        for picture in PICTURES:
            take(browser, pages[picture.against], picture)
        browser.close()


if __name__ == "__main__":
    run()
