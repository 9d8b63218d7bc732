"""Where this package was installed from, for requirements and advice that bring the same package again."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

__all__ = ["direct_reference"]


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
