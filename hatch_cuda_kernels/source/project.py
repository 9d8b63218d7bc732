"""What closures of one project share: its files, each read and scanned once, and rewritten once for its includers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.errors import InputError
from hatch_cuda_kernels.source.project_files import ProjectFiles
from hatch_cuda_kernels.source.readings import Readings
from hatch_cuda_kernels.source.rewrite import Rewriter, Rewritten, wandering
from hatch_cuda_kernels.source.source_text import SourceText, parse_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

__all__ = ["Project"]


class Project:
    """A project as it was when each of its folders and files was first asked for. Paths are relative and posix.

    ``given`` texts, by path, stand in for files. ``readings`` are of any project, as of one with other given texts.
    """

    def __init__(
        self,
        root: Path | ProjectFiles,
        given: Mapping[str, str] | None = None,
        *,
        only: Mapping[str, str] | None = None,
        readings: Readings | None = None,
    ) -> None:
        self.files: Final = root if isinstance(root, ProjectFiles) else ProjectFiles(root, given, only=only)
        self.readings: Final = readings or Readings()
        self._texts: Final[dict[str, SourceText]] = {}
        self._rewriters: Final[dict[tuple[str, ...], Rewriter]] = {}
        self._rewritten: Final[dict[tuple[str, tuple[str, ...]], Rewritten]] = {}

    def text(self, path: str) -> SourceText:
        """Return a file; where it cannot be read, that is a problem of the text."""
        found = self._texts.get(path)
        if found is None:
            try:
                found = self.readings.of(parse_text, path, self.files.read(path))
            except InputError as error:
                found = SourceText(path, problems=(str(error),))
            self._texts[path] = found
        return found

    def included(self, name: str, include: Sequence[str]) -> str | None:
        """Return the file of some folders that an include of a header outside the project names; None without one."""
        found = None if wandering(name) else self.rewriter(include).search(include, name)
        return found if found is not None and self.files.kind(found) == "file" else None

    def rewriter(self, include: Sequence[str]) -> Rewriter:
        """Return what rewrites texts for these include folders."""
        key = tuple(include)
        if key not in self._rewriters:
            self._rewriters[key] = Rewriter(self.files, key)
        return self._rewriters[key]

    def rewritten(self, path: str, rewriter: Rewriter) -> Rewritten:
        """Return a file, rewritten by one of the project's rewriters."""
        key = path, rewriter.include
        if key not in self._rewritten:
            self._rewritten[key] = rewriter.rewrite(self.text(path))
        return self._rewritten[key]
