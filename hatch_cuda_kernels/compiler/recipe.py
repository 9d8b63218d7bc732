"""What a module is compiled from, and how: the manifest states it, and a store's index repeats it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hatch_cuda_kernels.compiler.job import CompileJob
from hatch_cuda_kernels.compiler.program import Program
from hatch_cuda_kernels.compiler.route import choose_route
from hatch_cuda_kernels.compiler.toolchain.remembered import asked_by_toolkit
from hatch_cuda_kernels.host_code.closures import without_host_code
from hatch_cuda_kernels.options import HostCode
from hatch_cuda_kernels.source.closure import Closure, read_closure
from hatch_cuda_kernels.source.outer_headers import OuterHeaders, packaged_standard_headers
from hatch_cuda_kernels.source.project import Project

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from hatch_cuda_kernels.arch import SmArch
    from hatch_cuda_kernels.image import Finisher, Kind
    from hatch_cuda_kernels.options import NvrtcOptions

__all__ = ["Recipe"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """One source with one set of options. Paths are relative to the project and posix."""

    module: str
    source: str
    options: NvrtcOptions
    names: tuple[str, ...] = ()
    """Name expressions of kernels."""
    globals: tuple[str, ...] = ()
    """Device variables the host sets."""
    headers: tuple[str, ...] = ()
    """Globs of headers that computed includes may name."""

    def read(
        self,
        root: Path,
        *,
        text: str | None = None,
        include: Sequence[str] | None = None,
        project: Project | None = None,
        outer: OuterHeaders | None = None,
    ) -> Closure:
        """Return the source, or ``text`` in its place, with its header closure. Raises InputError.

        ``include`` stands in for the options' folders. Of those, folders that are not there are left out: a store and
        an sdist carry no folder that gave no file, and elsewhere the manifest's reader has refused them. ``outer`` are
        the headers outside the project; None for those that are installed here.
        """
        outer = outer or OuterHeaders(packaged_standard_headers(), asked_by_toolkit)
        project = project or Project(root)
        folders = [folder for folder in self.options.include if project.files.is_folder(folder)]
        closure = read_closure(
            root,
            self.source,
            text=text,
            include=folders if include is None else include,
            headers=self.headers,
            pre_include=self.options.pre_include,
            define=self.options.define,
            project=project,
            outer=outer if self.options.standard_headers else outer.without_standard(),
        )
        drops = self.options.host_code is HostCode.DROP
        return without_host_code(closure, self.options.define) if drops else closure

    def program(self, closure: Closure) -> Program:
        """Return what NVRTC is shown of a closure, for any architecture."""
        return Program.of(closure, self.options)

    def job(
        self,
        program: Program,
        arch: SmArch,
        kinds: tuple[Kind, ...],
        *,
        finisher: Finisher | None = None,
        assembled: bool = True,
    ) -> CompileJob:
        """Return the compile for a real architecture; the finisher is that of a compile at run time unless stated."""
        return CompileJob(
            module=self.module,
            source_path=self.source,
            program=program,
            options=self.options,
            arch=arch,
            kinds=kinds,
            names=self.names,
            globals=self.globals,
            finisher=finisher or choose_route(self.options).finisher,
            assembled=assembled,
        )

    def with_lto(self) -> Recipe:
        """Return the recipe of LTO-IR in place of machine code."""
        return replace(self, options=self.options.override(lto=True))
