"""Versions of two numbers: CUDA releases, drivers, PTX ISAs. A pair in code, ``13.0`` in text."""

from __future__ import annotations


def version_text(version: tuple[int, int]) -> str:
    """Return a version as people write it: ``(13, 0)`` is ``13.0``."""
    return f"{version[0]}.{version[1]}"


def parse_version(text: str) -> tuple[int, int]:
    """Return the version of a text such as ``13.0``. Raises ValueError for any other form."""
    major, dot, minor = text.partition(".")
    # int() alone would take signs, spaces, underscores and the digits of other scripts.
    if not (dot and text.isascii() and major.isdigit() and minor.isdigit()):
        raise ValueError(f"{text!r} is not a version like 13.0")
    return int(major), int(minor)


def release_of(build: str) -> tuple[int, int]:
    """Return the release of a build: ``(13, 0)`` for ``13.0.88``. Raises ValueError for what has no two numbers."""
    return parse_version(".".join(build.split(".")[:2]))
