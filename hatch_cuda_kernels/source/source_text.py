"""One file of a project as text, with what stands in it."""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from hatch_cuda_kernels.digest import sha256
from hatch_cuda_kernels.source.directives import find_directives
from hatch_cuda_kernels.source.macros import find_macro_texts

if TYPE_CHECKING:
    from hatch_cuda_kernels.source.directives import Directive
    from hatch_cuda_kernels.source.macros import MacroText

__all__ = ["SourceText", "parse_text"]


@dataclass(frozen=True)
class SourceText:
    """A file's text without byte order mark; empty, with a problem, where it cannot be used."""

    path: str
    text: str = ""
    sha256: str = ""
    """Digest of the bytes on disk in hex; empty where they cannot be read."""
    problems: tuple[str, ...] = ()

    def at(self, place: int) -> str:
        """Return ``path:line``."""
        return f"{self.path}:{bisect_left(self._line_ends, place) + 1}"

    @cached_property
    def _line_ends(self) -> tuple[int, ...]:
        return tuple(newline.start() for newline in re.finditer("\n", self.text))

    @cached_property
    def directives(self) -> tuple[Directive, ...]:
        """The includes and probes, in order."""
        return tuple(find_directives(self.text))

    @cached_property
    def macros(self) -> tuple[MacroText, ...]:
        """What could name a header to an include or probe."""
        return tuple(find_macro_texts(self.text))


def parse_text(path: str, data: bytes) -> SourceText:
    """Return a file's text from its bytes."""
    digest = sha256(data).hexdigest()
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        wrong = f"byte 0x{data[error.start]:02x} at offset {error.start}"
        problem = f"{path}:{line}: {wrong} is not UTF-8; save the file as UTF-8"
        return SourceText(path, sha256=digest, problems=(problem,))
    found = SourceText(path, text.removeprefix("\ufeff"), digest)
    if "\0" in text:
        at = found.at(found.text.index("\0"))
        problem = f"{at}: NUL byte; NVRTC would drop all text after it, so remove it"
        return SourceText(path, found.text, digest, (problem,))
    return found
