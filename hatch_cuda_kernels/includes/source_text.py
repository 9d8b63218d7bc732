"""One file of a project as text, with what stands in it."""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.digest import sha256
from hatch_cuda_kernels.source.directives import find_directives
from hatch_cuda_kernels.source.lexer import CHARACTER, COMMENT, STRING
from hatch_cuda_kernels.source.macros import find_macro_texts

if TYPE_CHECKING:
    from hatch_cuda_kernels.source.directives import Directive
from hatch_cuda_kernels.source.macros import MacroText

__all__ = ["SourceText", "parse_text"]

_UNUSUAL: Final = re.compile(f"{STRING}|{CHARACTER}|{COMMENT}")
_NOT_UTF8: Final = re.compile("[\udc80-\udcff]")


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
    """Return a file's text from its bytes. In comments, bytes that are not UTF-8 become question marks."""
    digest = sha256(data).hexdigest()
    text = data.decode(errors="surrogateescape")
    if not text.isascii() and (wrong := _NOT_UTF8.search(text := _UNUSUAL.sub(_readable, text))):
        line, offset = text.count("\n", 0, wrong.start()) + 1, len(_bytes(text[: wrong.start()]))
        problem = f"byte 0x{_bytes(wrong[0])[0]:02x} at offset {offset} is not UTF-8; save the file as UTF-8"
        return SourceText(path, sha256=digest, problems=(f"{path}:{line}: {problem}",))
    found = SourceText(path, text.removeprefix("\ufeff"), digest)
    if "\0" in text:
        at = found.at(found.text.index("\0"))
        problem = f"{at}: NUL byte; NVRTC would drop all text after it, so remove it"
        return SourceText(path, found.text, digest, (problem,))
    return found


def _readable(found: re.Match[str]) -> str:
    """Return a literal as it is, and a comment in UTF-8, with as many bytes."""
    return _NOT_UTF8.sub("?", found[0]) if found[0].startswith("/") else found[0]


def _bytes(text: str) -> bytes:
    return text.encode(errors="surrogateescape")
