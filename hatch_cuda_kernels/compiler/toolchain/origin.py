"""Where this package was installed from, for requirements that bring the same package again; and its pages."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

__all__ = ["direct_reference", "documentation", "project_url"]


@cache
def direct_reference() -> str:
    """Return what follows ``@`` in a requirement for the package as it was installed; empty for one of an index.

    Installers note it in ``direct_url.json``: a folder, an archive, or a commit of a repository.
    """
    from importlib.metadata import PackageNotFoundError, distribution  # most processes give no advice

    try:
        noted = distribution("hatch-cuda-kernels").read_text("direct_url.json")
        return reference_of(json.loads(noted)) if noted else ""
    except (PackageNotFoundError, OSError, ValueError, LookupError, TypeError, AttributeError):
        return ""


def reference_of(noted: dict[str, Any]) -> str:
    """Return the direct reference (PEP 440) for what ``direct_url.json`` says. Raises LookupError for other data."""
    url = str(noted["url"])
    vcs = noted.get("vcs_info")
    if vcs is not None:
        revision = vcs.get("requested_revision") or vcs["commit_id"]
        url = f"{vcs['vcs']}+{url}@{revision}"
    folder = noted.get("subdirectory")
    return f"{url}#subdirectory={folder}" if folder else url


def documentation(page: str, section: str = "") -> str:
    """Return where a page such as ``reference/cli`` can be read.

    That is on the site that the package's metadata names, else as a file here: in the folder that the package was
    installed from, or runs in. Elsewhere it is in the sdist only.
    """
    anchor = f"#{section}" if section else ""
    site = project_url("documentation").rstrip("/")
    if site:
        return f"{site}/{page}.html{anchor}"
    from pathlib import Path  # most processes name no page
    from urllib.parse import urlsplit
    from urllib.request import url2pathname

    name = f"docs/{page}.md"
    source = urlsplit(direct_reference())
    folders = [Path(__file__).parents[3], *([Path(url2pathname(source.path))] if source.scheme == "file" else [])]
    found = next((folder / name for folder in folders if (folder / name).is_file()), None)
    return f"{found}{anchor}" if found else f"{name}{anchor}, in the sdist"


def project_url(*labels: str) -> str:
    """Return the address that the package's metadata has below one of these labels in lower case; empty without one."""
    from importlib.metadata import PackageNotFoundError, metadata  # as above

    try:
        urls = metadata("hatch-cuda-kernels").get_all("Project-URL", [])
    except PackageNotFoundError:
        return ""
    labelled = (url.partition(",")[::2] for url in urls)
    return next((address.strip() for label, address in labelled if label.strip().lower() in labels), "")
