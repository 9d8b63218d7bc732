"""What a changelog in the form of Keep a Changelog has to say, by the repository's tags and address."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from datetime import date
from pathlib import Path

from packaging.version import Version

__all__ = ["links", "problems", "problems_here", "released"]

KINDS = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
HEADING = re.compile(r"\[(\d+\.\d+\.\d+)\] - (\d{4}-\d\d-\d\d)( \[YANKED\])?")
LINK = re.compile(r"^\[[^\]]+\]: .*$", re.MULTILINE)


def released(text):
    """Return the versions that have a section, newest first."""
    return [found[1] for heading in headings(text) if (found := HEADING.fullmatch(heading))]


def headings(text):
    """Return the headings of the sections."""
    return re.findall(r"^## (.*)$", text, re.MULTILINE)


def links(versions, source):
    """Return the definitions of the headings' links: each to what changed since the version before."""
    tags = [f"v{version}" for version in versions]
    pairs = zip(["HEAD", *tags], tags, strict=False)
    made = [f"{source}/compare/{before}...{after}" for after, before in pairs]
    made.append(f"{source}/commits/{'HEAD' if not tags else tags[-1]}")
    return [f"[{name}]: {url}" for name, url in zip(["Unreleased", *versions], made, strict=True)]


def problems(text, *, tags, source):
    """Return what is wrong with a changelog; ``source`` is the repository's address, None if there is none yet."""
    first, *others = headings(text)
    versions = released(text)
    found = [] if first == "[Unreleased]" else ["the first section is not [Unreleased]"]
    found += [f"not like [1.2.0] - 2026-12-01: {other}" for other in others if not HEADING.fullmatch(other)]
    found += [
        f"not a kind of change: {kind}" for kind in re.findall(r"^### (.*)$", text, re.MULTILINE) if kind not in KINDS
    ]
    if versions != sorted(versions, key=Version, reverse=True):
        found.append("the newest version is not the first")
    days = [date.fromisoformat(HEADING.fullmatch(other)[2]) for other in others if HEADING.fullmatch(other)]
    if days != sorted(days, reverse=True):
        found.append("the newest date is not the first")
    finals = [tag[1:] for tag in tags if re.fullmatch(r"v\d+\.\d+\.\d+", tag)]
    found += [f"there is a tag of {version}, and no section" for version in finals if version not in versions]
    expected = links(versions, source) if source else []
    if LINK.findall(text) != expected:
        found.append("\n".join(["the links at the end are not these:", *expected]))
    return found


def problems_here(root):
    """Return what is wrong with a repository's changelog."""
    tags = []
    if shutil.which("git") and (root / ".git").exists():
        listed = subprocess.run(["git", "tag", "--merged"], cwd=root, capture_output=True, text=True, check=True)
        tags = listed.stdout.split()
    source = tomllib.loads((root / "pyproject.toml").read_text())["project"].get("urls", {}).get("Source")
    return problems((root / "CHANGELOG.md").read_text(), tags=tags, source=source)


if __name__ == "__main__":
    sys.exit("\n".join(problems_here(Path(__file__).parents[2])) or None)
