"""Sphinx settings. The pages are plain Markdown that reads well without Sphinx; what a site needs is added here."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from hatch_cuda_kernels import __version__
from hatch_cuda_kernels.compiler.toolchain.packages import project_url

if TYPE_CHECKING:
    from sphinx.application import Sphinx

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS / "tools"))
from declarations import with_objects  # noqa: E402 - found only now

project = "hatch-cuda-kernels"
release = version = __version__
extensions = ["myst_parser", "sphinx_copybutton"]
exclude_patterns = ["conf.py"]
nitpicky = True
#: Types of other packages, and those of this one that are known by what they offer.
nitpick_ignore_regex = [("py:(class|exc)", r"(?!hatch_cuda_kernels\.)[\w.]+")]
add_module_names = False
python_maximum_signature_line_length = 88
python_display_short_literal_types = True
toc_object_entries = False  # its sections are in the table of contents
myst_heading_anchors = 6
myst_links_external_new_tab = False
smartquotes_action = "qe"  # no dashes: --threads is an option
html_theme = "furo"
html_title = f"{project} {release}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_search_scorer = str(DOCS / "static" / "scorer.js")
html_copy_source = False
html_show_sourcelink = False
html_show_copyright = False

FILE = re.compile(r'^```(\w+)(?: gpu| shown)? title="([^"]+)"$', re.MULTILINE)
LINK = re.compile(r"\[([^\]]+)\]\(((?:\.\./)+[^)\s]+)\)")
#: What a caption says again.
NAMED = re.compile(r'^`([^`\n]+)`:\n\n(?=```\w+[^\n]* title="\1"$)', re.MULTILINE)
#: The sentence of the index in whose place the site has the README's gains, its look and its start.
README = "The [README](../README.md) shows what you gain, how it looks and how to start."
#: A group of the index, and a page in its lists.
GROUP = re.compile(r"^## (.+)\n((?:(?!## ).*\n)+)", re.MULTILINE)
PAGE = re.compile(r"^- \[([^\]]+)\]\(([^)]+)\.md\)", re.MULTILINE)
#: A picture with one for dark pages, as browsers and GitHub choose between them; here the reader can, too.
PICTURE = re.compile(
    r'^<picture>\n *<source [^>]*srcset="(?P<dark>[^"]+)">\n'
    r' *<img src="(?P<light>[^"]+)" alt="(?P<alt>[^"]+)">\n</picture>$',
    re.MULTILINE,
)


def prepare(_: Sphinx, docname: str, source: list[str]) -> None:
    """Caption the blocks that are files, unlink what is not in the site, pair pictures, and complete the index."""
    folder = (DOCS / docname).parent

    def unlink(link: re.Match[str]) -> str:
        target = (folder / link[2].partition("#")[0]).resolve()
        return link[0] if target.is_relative_to(DOCS) else link[1]

    if docname == "reference/api":
        source[0] = with_objects(source[0])
    if docname == "index":
        source[0] = source[0].replace(README, first_screen()) + navigation(source[0])
    source[0] = PICTURE.sub(in_both_themes, FILE.sub(captioned, NAMED.sub("", LINK.sub(unlink, source[0]))))


def captioned(fence: re.Match[str]) -> str:
    """Return the opening of a block that is a file. Captions are marked-up text, file names are not."""
    name = re.sub(r"([_*])", r"\\\1", fence[2])
    return f"```{{code-block}} {fence[1]}\n:caption: {name}\n"


def in_both_themes(picture: re.Match[str]) -> str:
    """Return a picture of which the theme shows the light file or the dark one."""
    files = ("light", "dark")
    return "\n".join(f"```{{image}} {picture[of]}\n:alt: {picture['alt']}\n:class: only-{of}\n```\n" for of in files)


def first_screen() -> str:
    """Return the README's gains, its look and its start."""
    text = (DOCS.parent / "README.md").read_text(encoding="utf-8")
    gains, start = (
        text[text.index(begin) : text.index(end)]
        for begin, end in (("| what you gain", "\n## What is in the wheel"), ("\n## Start", "\n## Limits"))
    )
    return f"## What you gain\n\n{gains}{start}".replace("](docs/", "](").replace('"docs/', '"')


def navigation(index: str) -> str:
    """Return hidden tables of contents: a group of the index becomes a caption with its pages.

    The last has the index of names, and the repository, if the package's metadata names one.
    """
    groups = [
        (caption, [f"{text} <{page}>" for text, page in PAGE.findall(listed)])
        for caption, listed in GROUP.findall(index)
    ]
    code = project_url("source", "repository")
    groups.append(("Project", ["Index of names <genindex>", *([f"Source code <{code}>"] if code else [])]))
    listed = ((caption, "\n".join(pages)) for caption, pages in groups)
    return "".join(f"\n```{{toctree}}\n:hidden:\n:caption: {caption}\n\n{pages}\n```\n" for caption, pages in listed)


def setup(app: Sphinx) -> None:
    """Register the preparation of pages."""
    app.connect("source-read", prepare)
