"""Sphinx settings. The pages are plain Markdown that reads well without Sphinx; what a site needs is added here."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from hatch_cuda_kernels import __version__

if TYPE_CHECKING:
    from sphinx.application import Sphinx

DOCS = Path(__file__).parent

project = "hatch-cuda-kernels"
release = version = __version__
extensions = ["myst_parser"]
exclude_patterns = ["conf.py"]
nitpicky = True
myst_heading_anchors = 6
myst_links_external_new_tab = False
html_theme = "furo"
html_title = f"{project} {release}"
html_copy_source = False
html_show_sourcelink = False

#: What the navigation lists, in order: a caption, and the pages below it. A new page of a folder needs nothing here.
NAVIGATION = {"Learn": "tutorial", "How to": "howto/*", "Reference": "reference/*", "Explanation": "explanation/*"}
FILE = re.compile(r'^```(\w+)(?: gpu| shown)? title="([^"]+)"$', re.MULTILINE)
LINK = re.compile(r"\[([^\]]+)\]\(((?:\.\./)+[^)\s]+)\)")


def prepare(_: Sphinx, docname: str, source: list[str]) -> None:
    """Caption the blocks that are files, unlink what is not in the site, and add the navigation to the index."""
    folder = (DOCS / docname).parent

    def unlink(link: re.Match[str]) -> str:
        target = (folder / link[2].partition("#")[0]).resolve()
        return link[0] if target.is_relative_to(DOCS) else link[1]

    source[0] = FILE.sub(r"```{code-block} \1\n:caption: \2\n", LINK.sub(unlink, source[0]))
    if docname == "index":
        source[0] += "".join(
            f"\n```{{toctree}}\n:hidden:\n:glob:\n:caption: {caption}\n\n{pages}\n```\n"
            for caption, pages in NAVIGATION.items()
        )


def setup(app: Sphinx) -> None:
    """Register the preparation of pages."""
    app.connect("source-read", prepare)
