"""Patches, as commands print and write them."""

from __future__ import annotations

import difflib

__all__ = ["unified_diff"]


def unified_diff(name: str, before: str, after: str) -> str:
    """Return the unified diff of one file; empty where nothing changes."""
    old, new = (text.splitlines(keepends=True) for text in (before, after))
    lines = difflib.unified_diff(old, new, f"a/{name}", f"b/{name}")
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)
