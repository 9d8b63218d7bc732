"""Files of a project that is set up: those that are missing are written, and what is there stays."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from hatch_cuda_kernels.errors import InputError
from hatch_cuda_kernels.scaffold.templates import IGNORED

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["Scaffold", "filled", "ignore_store", "read_text", "write_missing"]


class Scaffold(NamedTuple):
    """What was done: files created, additions to files, files kept as they were; and what is left to do."""

    created: tuple[str, ...]
    changed: tuple[str, ...]
    kept: tuple[str, ...]
    notes: tuple[str, ...]
    steps: tuple[str, ...]
    """What the project's build system takes besides."""
    next: tuple[str, ...]
    """Commands; none if nothing was done."""


def filled(text: str, words: Mapping[str, str]) -> str:
    """Return a template with its words filled in."""
    return re.sub(rf"\b(?:{'|'.join(words)})\b", lambda found: words[found[0]], text)


def read_text(path: Path) -> str:
    """Return a file's text. Raises InputError if it cannot be read."""
    try:
        return path.read_bytes().decode()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read: {error}") from error


def write_missing(root: Path, files: dict[str, str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Write the files that do not exist yet; return the names of those written and of those kept.

    Raises InputError if one cannot be written.
    """
    created, kept = [], []
    for name, text in files.items():
        path = root / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("x", encoding="utf-8", newline="\n") as file:
                file.write(text)
        except FileExistsError:
            kept.append(name)
        except OSError as error:
            raise InputError(f"{path} cannot be written: {error.strerror}") from error
        else:
            created.append(name)
    return tuple(created), tuple(kept)


def ignore_store(root: Path) -> tuple[str, ...]:
    """Have git leave out the store of an editable install; return the change."""
    path = root / ".gitignore"
    text = read_text(path) if path.is_file() else ""
    if any(line.strip().strip("/").removeprefix("**/") == IGNORED.strip("/") for line in text.splitlines()):
        return ()
    path.write_bytes(f"{text}{'' if not text or text.endswith(chr(10)) else chr(10)}{IGNORED}\n".encode())
    return (f".gitignore: {IGNORED}",)
