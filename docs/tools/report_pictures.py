"""Take the pictures of the report, for README and howto/report.md: the example's wheel, and a made-up next release.

    hatch run pictures:report

It needs a Chromium on the PATH, and overwrites ``docs/images/report-*.png``.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from screenshots import chromium, save

from hatch_cuda_kernels.cli import main

if TYPE_CHECKING:
    from playwright.sync_api import Browser

ROOT = Path(__file__).parents[2]
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
    Picture("report-dark", True, "dark", DESKTOP, 1640),
    Picture("report-registers-light", False, "light", DESKTOP, 1405, "#heat-title", "registers"),
    Picture("report-registers-dark", False, "dark", DESKTOP, 1405, "#heat-title", "registers"),
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
    """Write one picture. Phones have two pixels a point."""
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
    save(page.screenshot(full_page=True, clip=clip), IMAGES / f"{picture.name}.png")
    page.close()


def run() -> None:
    """Build both wheels, write both reports, take every picture."""
    with tempfile.TemporaryDirectory() as scratch, chromium() as browser:
        folder = Path(scratch)
        old = build_wheel(ROOT / "example_project", folder / "old")
        new = build_wheel(next_release(folder / "project"), folder / "new")
        pages = {False: folder / "one.html", True: folder / "two.html"}
        main(["report", str(old), "-o", str(pages[False])])
        main(["report", str(new), "--against", str(old), "-o", str(pages[True])])
        for picture in PICTURES:
            take(browser, pages[picture.against], picture)


if __name__ == "__main__":
    run()
