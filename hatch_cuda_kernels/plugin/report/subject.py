"""What a report is about, as plain data: whoever calls has opened the wheel, the folder or the package."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["FileSize", "ImageKey", "Subject"]


class FileSize(NamedTuple):
    """A file and what it costs: its compressed bytes in a wheel, else its own."""

    path: str
    """With ``/``; that of a store's file contains ``_kernels/``."""
    bytes: int


class ImageKey(NamedTuple):
    """What tells an image from all others of a store."""

    module: str
    arch: str
    kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """One wheel, folder or installed package."""

    label: str
    """What messages and headlines call it: a file's or a package's name."""
    name: str = ""
    """The distribution's name and version; empty where nothing tells them."""
    version: str = ""
    bytes: int
    """Of the wheel file, or of all files."""
    files: tuple[FileSize, ...]
    contents: Mapping[str, Any]
    """As ``inspect --json`` prints it."""
    supports: Mapping[str, Any] | None = None
    """The recorded promise: ``devices`` and perhaps ``driver``."""
    code: Mapping[ImageKey, Mapping[str, int]] = field(default_factory=dict)
    """Bytes of machine code of each kernel, by lowered name; CUBIN only."""
    seconds: Mapping[ImageKey, float] = field(default_factory=dict)
    """How long the compile took that gave an image."""
    seconds_from: str = ""
    """Where the compile times are from; empty where there are none."""
