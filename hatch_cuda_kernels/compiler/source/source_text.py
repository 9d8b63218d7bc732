"""One file of a project as text, with what stands in it: read, hashed and scanned once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from hatch_cuda_kernels.compiler.source.directives import find_directives
from hatch_cuda_kernels.compiler.source.macros import find_macro_texts, possible_names, wanders
from hatch_cuda_kernels.digest import sha256

if TYPE_CHECKING:
    from hatch_cuda_kernels.compiler.source.directives import Directive
    from hatch_cuda_kernels.compiler.source.project_files import ProjectFiles

__all__ = ["SourceText", "parse_text", "read_text"]


@dataclass(frozen=True)
class SourceText:
    """A file's text without byte order mark; empty, with a problem, where it cannot be used."""

    path: str
    text: str = ""
    sha256: str = ""
    """Digest of the bytes on disk in hex; empty where they cannot be read."""
    problems: tuple[str, ...] = ()

    def at(self, position: int) -> str:
        """Return ``path:line``."""
        return f"{self.path}:{self.text.count(chr(10), 0, position) + 1}"

    @cached_property
    def directives(self) -> tuple[Directive, ...]:
        """The includes and probes, in order."""
        return tuple(find_directives(self.text))

    @cached_property
    def macro_names(self) -> frozenset[str]:
        """What the macros defined here could name to an include."""
        return frozenset(name for _, replacement in find_macro_texts(self.text) for name in possible_names(replacement))

    @cached_property
    def macro_problems(self) -> tuple[str, ...]:
        """The macros that could lead an include out of the project."""
        advice = "could lead an include out of the project; name the header in the include itself"
        found = ((position, text) for position, text in find_macro_texts(self.text) if wanders(text))
        return tuple(f"{self.at(position)}: the macro text {text!r} {advice}" for position, text in found)


def read_text(project: ProjectFiles, path: str) -> SourceText:
    """Return a file of a project; the project remembers it."""
    found = project.texts.get(path)
    if found is None:
        found = project.texts[path] = _read(project, path)
    return found


def _read(project: ProjectFiles, path: str) -> SourceText:
    if project.kind(path) == "away":
        problem = f"{path}: a symbolic link leads out of the project; copy the file into it"
        return SourceText(path, problems=(problem,))
    try:
        data = (project.root / path).read_bytes()
    except OSError as error:
        return SourceText(path, problems=(f"{path}: cannot be read: {error.strerror}",))
    return parse_text(path, data)


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
