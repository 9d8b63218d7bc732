"""One cached image and what is known about it. On disk it is a folder: the raw image and ``entry.json``."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from hatch_cuda_kernels.arch import SmArch
from hatch_cuda_kernels.digest import sha256
from hatch_cuda_kernels.image import Symbol

if TYPE_CHECKING:
    from hatch_cuda_kernels.image import Kind

__all__ = ["ENTRY_FILE", "ENTRY_SCHEMA", "BadEntryError", "Entry", "check_description", "description_digest"]

#: Raised when older readers would misread an entry. Every schema has a folder of its own, ``v1``.
ENTRY_SCHEMA: Final = 1
ENTRY_FILE: Final = "entry.json"
_KINDS: Final = ("cubin", "ptx", "ltoir")
_TYPES: Final[dict[str, type | tuple[type, ...]]] = {
    "module": str,
    "arch": str,
    "sha256": str,
    "bytes": int,
    "kernels": list,
    "globals": list,
    "resources": dict,
    "ptx_isa": list,
    "toolchain": dict,
    "log": str,
    "created": str,
    "seconds": (int, float),
}


class BadEntryError(ValueError):
    """An entry on disk is damaged; the cache quarantines it and reports a miss."""


class Entry(NamedTuple):
    """An image with its key and its description."""

    key: str
    module: str
    kind: Kind
    arch: SmArch
    image: bytes
    kernels: tuple[Symbol, ...]
    globals: tuple[Symbol, ...]
    resources: dict[str, dict[str, int]]
    ptx_isa: tuple[int, int]
    toolchain: dict[str, str]
    log: str
    """Compiler warnings, shown again when a build takes the image from the cache."""
    created: str
    """When it was compiled: UTC, ISO 8601."""
    seconds: float
    """How long the compile took."""
    wanted: str = ""
    """The kernel that a process asked for and no package had prebuilt; empty for what a build compiled."""

    @staticmethod
    def now() -> str:
        """Return the time as ``created`` records it."""
        return time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime())

    @property
    def sha256(self) -> str:
        """Digest of the image."""
        return sha256(self.image).hexdigest()

    @property
    def file(self) -> str:
        """Name of the image file, such as ``image.cubin``; cuobjdump reads it as it is."""
        return f"image.{self.kind}"

    def files(self) -> dict[str, bytes]:
        """Return what the entry is on disk: the image and its description, by file name."""
        return {self.file: self.image, ENTRY_FILE: self.to_json().encode()}

    def to_json(self) -> str:
        """Return the text of ``entry.json``; the image is named there by its digest."""
        data = {
            "schema": ENTRY_SCHEMA,
            "key": self.key,
            "module": self.module,
            "kind": self.kind,
            "arch": str(self.arch),
            "file": self.file,
            "sha256": self.sha256,
            "bytes": len(self.image),
            "kernels": [[symbol.name, symbol.lowered, list(symbol.params)] for symbol in self.kernels],
            "globals": [[symbol.name, symbol.lowered] for symbol in self.globals],
            "resources": self.resources,
            "ptx_isa": list(self.ptx_isa),
            "toolchain": self.toolchain,
            "log": self.log,
            "created": self.created,
            "seconds": round(self.seconds, 6),
        }
        if self.wanted:
            data["wanted"] = self.wanted
        return json.dumps({**data, "check": description_digest(data)}, indent=1, sort_keys=True) + "\n"

    @classmethod
    def from_json(cls, data: dict[str, Any], image: bytes) -> Entry:
        """Return what ``to_json`` described, and check the image against it. Raises BadEntryError."""
        try:
            if sha256(image).hexdigest() != data["sha256"]:
                raise BadEntryError("the image does not match its digest")
            return cls(
                key=data["key"],
                module=data["module"],
                kind=data["kind"],
                arch=SmArch.parse(data["arch"]),
                image=image,
                kernels=tuple(Symbol(name, lowered, tuple(params)) for name, lowered, params in data["kernels"]),
                globals=tuple(Symbol(name, lowered) for name, lowered in data["globals"]),
                resources=data["resources"],
                ptx_isa=(data["ptx_isa"][0], data["ptx_isa"][1]),
                toolchain=data["toolchain"],
                log=data["log"],
                created=data["created"],
                seconds=data["seconds"],
                wanted=str(data.get("wanted", "")),
            )
        except (KeyError, TypeError, IndexError, ValueError, AttributeError) as error:
            raise BadEntryError(str(error) or type(error).__name__) from error


def description_digest(data: dict[str, Any]) -> str:
    """Return the digest of a description but for its ``check``: a flipped bit in a lowered name is damage, too."""
    rest = {name: value for name, value in data.items() if name != "check"}
    return sha256(json.dumps(rest, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def check_description(data: Any, key: str) -> None:  # whatever JSON gave
    """Raise BadEntryError unless this is the description of a key as it was written, or one of another schema."""
    if not isinstance(data, dict) or data.get("check") != description_digest(data):
        raise BadEntryError("not as it was written")
    if data.get("schema") != ENTRY_SCHEMA:
        return
    if data.get("key") != key:
        raise BadEntryError("it names another key")
    if data.get("kind") not in _KINDS or data.get("file") != f"image.{data['kind']}":
        raise BadEntryError(f"unknown kind {data.get('kind')!r}")
    for name, kind in _TYPES.items():
        if not isinstance(data.get(name), kind):
            raise BadEntryError(f"{name} is missing, or of another type")
