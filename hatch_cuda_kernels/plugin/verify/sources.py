"""The shipped sources: what a compile at run time, and ``--rebuild``, would start from."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hatch_cuda_kernels.arch import SmArch
from hatch_cuda_kernels.compiler.headers import Closure, read_closure
from hatch_cuda_kernels.compiler.job import CompileJob
from hatch_cuda_kernels.errors import InputError
from hatch_cuda_kernels.options import NvrtcOptions
from hatch_cuda_kernels.plugin.verify.model import Finding, Outcome
from hatch_cuda_kernels.plugin.verify.subject import REBUILD

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hatch_cuda_kernels.image import Kind, ModuleIndex
    from hatch_cuda_kernels.plugin.verify.subject import Subject

__all__ = ["ShippedSource", "check_sources", "read_sources", "source_job"]


class ShippedSource(NamedTuple):
    """A module's closure as it is shipped, or why it cannot be read."""

    closure: Closure | None
    problem: str = ""


def read_sources(subject: Subject, index: ModuleIndex) -> ShippedSource:
    """Return a module's shipped source with its headers."""
    root = subject.files.source_root(index.module)
    options = NvrtcOptions.from_canonical(index.options)
    # A store ships the files of the closure only, so a folder that gave none of them is not there.
    include = [folder for folder in options.include if (root / folder).is_dir()]
    try:
        closure = read_closure(
            root, index.source, include=include, headers=index.headers, pre_include=options.pre_include
        )
    except InputError as error:
        return ShippedSource(None, str(error).replace(f" in {root}", ""))
    return ShippedSource(closure)


def source_job(closure: Closure, index: ModuleIndex, arch: SmArch, kinds: tuple[Kind, ...]) -> CompileJob:
    """Return the compile that gave a module's images of one architecture."""
    return CompileJob.from_closure(
        closure,
        module=index.module,
        source_path=index.source,
        options=NvrtcOptions.from_canonical(index.options),
        arch=arch,
        kinds=kinds,
        names=index.names,
        globals=index.globals,
    )


def check_sources(subject: Subject) -> Outcome:
    """Check that every module's shipped source and headers are those its images were compiled from."""
    return Outcome.of(len(subject.modules), "sources", _problems(subject))


def _problems(subject: Subject) -> Iterator[Finding]:
    for index in subject.modules:
        closure, problem = read_sources(subject, index)
        if closure is None:
            yield Finding(f"the shipped source cannot be read: {problem}", REBUILD, index.module)
        elif source_job(closure, index, SmArch(9, 0), ("cubin",)).source_sha256 != index.source_sha256:
            problem = f"{index.source} or a header of it is not what the images were compiled from"
            yield Finding(problem, REBUILD, index.module)
