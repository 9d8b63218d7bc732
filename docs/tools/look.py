"""Take pictures of everything that a newcomer sees, for people to look at: help, errors, commands, the site.

    hatch run pictures:look FOLDER [terminal|site]

Terminals have 80 and 120 columns, pages the width of a desktop and of a phone; all in light and dark. Nothing of it is
kept in the repository.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from screenshots import chromium
from terminal import Recording, page, record

ROOT: Final = Path(__file__).parents[2]
sys.path.append(str(ROOT / "tests" / "support"))

from mistakes import FILES, MISTAKES, changed  # noqa: E402 - found by the line above

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from playwright.sync_api import Browser

PROGRAM: Final = (sys.executable, "-m", "hatch_cuda_kernels")
COMMANDS: Final = (
    "", "init", "port", "check", "build", "inspect", "explain", "verify", "report", "cache", "cache prune", "promote",
    "doctor", "schema", "completion",
)  # fmt: skip
#: In the example project, in this order.
USES: Final = (
    "check", "build --out {out}", "check", "inspect {out}", "inspect {wheel}",
    "explain saxpy --package {out} --arch sm_86", "explain saxpy --package {wheel} --arch sm_103 --driver 12.8",
    "explain saxpy --package {out}", "verify {wheel}", "verify {out} --supports-devices 7.5 9.0", "doctor",
    "doctor --package {out}", "cache info", "cache ls",
    "report {wheel} -o {folder}/report.html", "promote --package {out}",
)  # fmt: skip
PAGES: Final = (
    "index",
    "tutorial",
    "reference/manifest",
    "reference/cli",
    "explanation/numbers",
    "howto/torch-operators",
    "howto/report",
)
WIDTHS: Final = {"desktop": 1280, "phone": 390}
#: Lines of terminals in one picture.
_LINES: Final = 90


def ours(words: str, columns: int, cwd: Path, **options: str) -> Recording:
    """Run a command of this package as it is typed."""
    return record([*PROGRAM, *words.split()], typed=f"hatch-cuda-kernels {words}", columns=columns, cwd=cwd, **options)


def helps(columns: int, folder: Path) -> Iterator[Recording]:
    """Yield the help of each command."""
    for words in COMMANDS:
        yield ours(f"{words} --help".strip(), columns, folder)


def mistakes(columns: int, folder: Path, store: Path) -> Iterator[Recording]:
    """Yield what is said of each mistake."""
    for number, ((words, *change), _, _) in enumerate(MISTAKES.values()):
        project = folder / f"mistake-{number}-{columns}"
        for name, text in FILES.items():
            (project / name).parent.mkdir(parents=True, exist_ok=True)
            (project / name).write_text(text)
        if change:
            file, old, new = change
            (project / file).write_text(changed((project / file).read_text(), old, new))
        yield ours(" ".join(str(store) if word == "STORE" else word for word in words), columns, project)


def uses(columns: int, folder: Path, wheel: Path) -> Iterator[Recording]:
    """Yield what each command says of the example project, and of a new project."""
    project = ROOT / "example_project"
    cache = {"HATCH_CUDA_KERNELS_CACHE_DIR": str(folder / f"cache-{columns}")}
    out = folder / "_kernels"
    yield record(
        [*PROGRAM, "build", "--out", str(out)],
        typed="hatch-cuda-kernels build (under way)",
        columns=columns,
        cwd=project,
        environment=cache,
        until="3/",
    )
    for words in USES:
        yield ours(words.format(out=out, wheel=wheel, folder=folder), columns, project, environment=cache)
    (folder / f"new-{columns}").mkdir()
    for _ in range(2):
        yield ours("init --name mylib", columns, folder / f"new-{columns}")


def take_terminals(browser: Browser, name: str, recordings: Iterable[Recording], folder: Path) -> None:
    """Write recordings as pictures, several in each, in both themes."""
    sheets: list[list[Recording]] = [[]]
    for recording in recordings:
        if sum(len(each.lines) + 3 for each in sheets[-1]) + len(recording.lines) > _LINES and sheets[-1]:
            sheets.append([])
        sheets[-1].append(recording)
    for theme in ("light", "dark"):
        for number, sheet in enumerate(sheets):
            tab = browser.new_page(viewport={"width": 200, "height": 200})
            tab.set_content(page(sheet, theme))
            tab.locator("body").screenshot(path=folder / f"{name}-{theme}-{number}.png")
            tab.close()


def take_site(browser: Browser, site: Path, folder: Path) -> None:
    """Write pages of the site as pictures, as tall as they are but for the longest."""
    for kind, width in WIDTHS.items():
        for scheme in ("light", "dark"):
            tab = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
            for name in PAGES:
                tab.goto((site / f"{name}.html").as_uri())
                height = min(2600, tab.evaluate("document.documentElement.scrollHeight"))
                clip = {"x": 0, "y": 0, "width": width, "height": height}
                tab.screenshot(path=folder / f"{name.replace('/', '-')}-{kind}-{scheme}.png", full_page=True, clip=clip)
            tab.close()


def main() -> None:
    """Take the pictures that are asked for."""
    folder = Path(sys.argv[1]).absolute()
    kinds = sys.argv[2:] or ["terminal", "site"]
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with chromium() as browser:
        if "terminal" in kinds:
            build = [
                sys.executable,
                "-m",
                "build",
                "--wheel",
                "--no-isolation",
                "--outdir",
                folder,
                ROOT / "example_project",
            ]
            subprocess.run(list(map(str, build)), check=True)
            wheel = next(folder.glob("*.whl"))
            for columns in (80, 120):
                take_terminals(browser, f"help-{columns}", helps(columns, folder), folder)
                take_terminals(browser, f"use-{columns}", uses(columns, folder, wheel), folder)
                take_terminals(browser, f"mistake-{columns}", mistakes(columns, folder, folder / "_kernels"), folder)
        if "site" in kinds:
            subprocess.run(
                [sys.executable, "-m", "sphinx", "-q", "-b", "html", ROOT / "docs", folder / "site"], check=True
            )
            take_site(browser, folder / "site", folder)


if __name__ == "__main__":
    main()
