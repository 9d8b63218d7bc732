"""The documentation as a site: builds without a warning, with every page in its navigation."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from doc_blocks import DOCS, README, ROOT


@pytest.fixture
def build(slow):
    """Return a function that builds as ``hatch run docs:build`` does, and returns the finished process."""

    def build_site(docs, out):
        command = [sys.executable, "-m", "sphinx", "--fail-on-warning", "--keep-going", "-q", "-b", "html", docs, out]
        return subprocess.run([str(part) for part in command], cwd=ROOT, capture_output=True, text=True)

    return build_site


def test_the_site_builds_and_lists_every_page(build, tmp_path):
    """No warning, so no broken link and no block that its language cannot be; each page can be reached."""
    done = build(DOCS, tmp_path / "site")
    assert done.returncode == 0, done.stderr
    index = (tmp_path / "site" / "index.html").read_text()
    assert "[tool.hatch.build.hooks.cuda-kernels]" in index, "the first screen of the README"
    assert "src/mylib/__init__.py</span>" in (tmp_path / "site" / "tutorial.html").read_text(), "the name of a file"
    for page in DOCS.rglob("*.md"):
        name = page.relative_to(DOCS).with_suffix(".html").as_posix()
        assert (tmp_path / "site" / name).is_file()
        assert f'class="reference internal" href="{name}"' in index or name == "index.html"


def test_a_broken_link_fails_the_build(build, tmp_path):
    """A page that is not there is an error, and so is a heading that is not; nothing else is."""
    shutil.copytree(DOCS, tmp_path / "docs")
    shutil.copy(README, tmp_path)
    with (tmp_path / "docs" / "tutorial.md").open("a") as page:
        page.write("\n[x](nowhere.md)\n\n[x](howto/editable.md#no-such-heading)\n")
    done = build(tmp_path / "docs", tmp_path / "site")
    assert done.returncode != 0
    told = re.findall(r"(\S+)\.md:\d+: WARNING: .*'([^']+)' \[", done.stderr)
    pages = {(Path(page).name, missing) for page, missing in told}
    assert pages == {("tutorial", "nowhere.md"), ("tutorial", "no-such-heading")}, done.stderr
    assert done.stderr.count("WARNING") == 2
