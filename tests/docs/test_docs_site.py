"""The documentation as a site: builds without a warning, with every page in its navigation."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from email.message import Message
from pathlib import Path
from runpy import run_path

import pytest
from browser import open_browser
from doc_blocks import DOCS, README, ROOT, blocks_of, write

import hatch_cuda_kernels

sys.path.append(str(DOCS / "tools"))

from declarations import declared

#: A common phone, in CSS pixels.
PHONE = 390


@pytest.fixture(scope="module")
def build(slow):
    """Return a function that builds as ``hatch run docs:build`` does, and returns the finished process."""

    def build_site(docs, out):
        command = [sys.executable, "-m", "sphinx", "--fail-on-warning", "--keep-going", "-q", "-b", "html", docs, out]
        return subprocess.run([str(part) for part in command], cwd=ROOT, capture_output=True, text=True)

    return build_site


@pytest.fixture(scope="module")
def site(build, tmp_path_factory):
    """Return the folder of the site, built without a warning, so without a broken link."""
    folder = tmp_path_factory.mktemp("built") / "site"
    done = build(DOCS, folder)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def visit(site):
    """Return a function that opens a page of the site in a browser."""
    with open_browser() as browser:
        pages = {}

        def open_page(name, width=1280, scheme="light"):
            if (width, scheme) not in pages:
                viewport = {"width": width, "height": 844}
                pages[width, scheme] = browser.new_page(viewport=viewport, color_scheme=scheme)
            pages[width, scheme].goto(f"{site.as_uri()}/{name}")
            return pages[width, scheme]

        yield open_page


def test_the_site_lists_every_page(site):
    """Each page can be reached from each, with the README's gains and look, and the names of files."""
    index = (site / "index.html").read_text()
    assert "from starting Python to the first result" in index, "what the README says one gains"
    assert "[tool.hatch.build.hooks.cuda-kernels]" in index, "how it looks there"
    assert "src/mylib/__init__.py</span>" in (site / "tutorial.html").read_text(), "the name of a file"
    for page in DOCS.rglob("*.md"):
        name = page.relative_to(DOCS).with_suffix(".html").as_posix()
        assert (site / name).is_file()
        assert f'class="reference internal" href="{name}"' in index or name == "index.html"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_page_is_wider_than_a_phone(visit, site, scheme):
    """Tables and blocks of code scroll in their own boxes, samples too; the page does not scroll sideways.

    Only pictures are others in dark colours.
    """
    measure = "document.querySelectorAll('details').forEach(d => d.open = true), document.documentElement.scrollWidth"
    pages = [page.relative_to(DOCS).with_suffix(".html").as_posix() for page in DOCS.rglob("*.md")]
    if scheme == "dark":
        pages = [name for name in pages if "only-dark" in (site / name).read_text()]
        assert pages
    widths = {name: visit(name, PHONE, scheme).evaluate(measure) for name in pages}
    assert {name: width for name, width in widths.items() if width > PHONE} == {}


def test_blocks_can_be_copied(visit):
    """Every block of the tutorial has a button; a command is copied without a prompt or its output."""
    page = visit("tutorial.html")
    assert page.locator("button.copybtn").count() == page.locator("div.highlight pre").count() > 10


@pytest.fixture
def search(visit):
    """Return a function that searches the site, without a server, and returns what it finds, best first."""

    def found(word):
        page = visit(f"search.html?q={word}")
        page.locator("p.search-summary", has_text="Search finished").wait_for()
        return page.locator("ul.search li a").evaluate_all("all => all.map((link) => link.getAttribute('href'))")

    return found


def test_the_site_can_be_searched(search):
    """A word of a page is found there."""
    found = search("max_spill_bytes")
    assert any(link.startswith("reference/manifest.html") for link in found), found


@pytest.mark.parametrize(
    ("word", "name"),
    [("get_kernel", "Store.get_kernel"), ("launch", "Kernel.launch"), ("NoImageError", "NoImageError")],
)
def test_a_name_is_found_where_it_is_described(search, word, name):
    """Before all pages that only use it."""
    assert search(word)[0] == f"reference/api.html#hatch_cuda_kernels.{name}"


def test_every_public_name_has_an_anchor_and_is_in_the_index(site):
    """Each class, function, method, property and attribute of the reference."""
    page, names = (site / "reference" / "api.html").read_text(), (site / "genindex.html").read_text()
    code = [block.text for block in blocks_of(DOCS / "reference" / "api.md") if block.language == "python"]
    top = [one for text in code for one in declared(text) or ()]
    described = {one.name for one in top} | {f"{one.name}.{member.name}" for one in top for member in one.members}
    assert set(hatch_cuda_kernels.__all__) - {"__version__"} <= described
    for name in described:
        assert f'id="hatch_cuda_kernels.{name}"' in page, name
        assert f'href="reference/api.html#hatch_cuda_kernels.{name}"' in names, name


def test_pictures_follow_the_theme(visit):
    """A page in dark colours shows dark pictures, where there are two."""
    for scheme, other in (("light", "dark"), ("dark", "light")):
        page = visit("howto/report.html", scheme=scheme)
        assert page.locator(f"img.only-{scheme}").first.is_visible()
        assert not page.locator(f"img.only-{other}").first.is_visible()


@pytest.mark.parametrize("label", ["Source", "Repository"])
def test_the_navigation_links_the_repository(label, monkeypatch):
    """As soon as the package's metadata names one."""
    metadata = Message()
    monkeypatch.setattr("importlib.metadata.metadata", lambda name: metadata)
    navigation = run_path(str(DOCS / "conf.py"))["navigation"]
    index = (DOCS / "index.md").read_text()
    assert "Source code" not in navigation(index)
    metadata["Project-URL"] = f"{label}, https://example.org/code"
    assert "Source code <https://example.org/code>" in navigation(index)


#: A site whose tutorial has two broken links.
PAGES = {
    "index": "# Pages\n\n## Use\n\n- [Tutorial](tutorial.md)\n- [Edit](howto/edit.md)\n",
    "tutorial": "# Tutorial\n\n[x](nowhere.md)\n\n[x](howto/edit.md#no-such-heading)\n\n[x](howto/edit.md#by-hand)\n",
    "howto/edit": "# Edit\n\n## By hand\n\n[x](../tutorial.md)\n",
}


def test_a_broken_link_fails_the_build(build, tmp_path):
    """A page that is not there is an error, and so is a heading that is not; nothing else is."""
    docs = tmp_path / "docs"
    for name in ("static", "tools"):
        shutil.copytree(DOCS / name, docs / name)
    shutil.copy(DOCS / "conf.py", docs)
    plain = re.sub(r"!?\[([^\]]*)\]\([^)]+\)|(?s:<picture>.*?</picture>)", r"\1", README.read_text())
    for name, text in {"../README": plain, **PAGES}.items():
        write(docs / f"{name}.md", text)
    done = build(docs, tmp_path / "site")
    assert done.returncode != 0
    told = re.findall(r"(\S+)\.md:\d+: WARNING: .*'([^']+)' \[", done.stderr)
    pages = {(Path(page).name, missing) for page, missing in told}
    assert pages == {("tutorial", "nowhere.md"), ("tutorial", "no-such-heading")}, done.stderr
    assert done.stderr.count("WARNING") == 2
