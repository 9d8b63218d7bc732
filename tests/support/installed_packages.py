"""Distributions as an installer leaves them in a folder: their files, and a dist-info folder that lists them."""

from __future__ import annotations

import base64

from hatch_cuda_kernels.integrity import sha256

__all__ = ["install"]


def install(site, name, version, files, *metadata, listed=True):
    """Write a distribution with these files, by path, into a folder; return that."""
    info = f"{name.replace('-', '_')}-{version}.dist-info"
    stated = "\n".join(["Metadata-Version: 2.4", f"Name: {name}", f"Version: {version}", *metadata, ""])
    rows = []
    for path, text in {**files, f"{info}/METADATA": stated}.items():
        (site / path).parent.mkdir(parents=True, exist_ok=True)
        (site / path).write_text(text)
        digest = base64.urlsafe_b64encode(sha256(text.encode()).digest()).decode().rstrip("=")
        rows += [f"{path},sha256={digest},{len(text)}"] if listed or path not in files else []
    (site / info / "RECORD").write_text("\n".join([*rows, f"{info}/RECORD,,", ""]))
    return site
