"""The shipped sources: what a compile at run time, and ``--rebuild``, would start from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hatch_cuda_kernels.arch import SmArch
from hatch_cuda_kernels.compiler.job import CompileJob
from hatch_cuda_kernels.compiler.source.closure import read_closure
from hatch_cuda_kernels.digest import sha256
from hatch_cuda_kernels.errors import InputError
from hatch_cuda_kernels.options import NvrtcOptions
from hatch_cuda_kernels.verify.model import Finding, Outcome
from hatch_cuda_kernels.verify.subject import REBUILD

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hatch_cuda_kernels.compiler.source.closure import Closure
    from hatch_cuda_kernels.image import Kind
    from hatch_cuda_kernels.store.index import ModuleIndex
    from hatch_cuda_kernels.verify.subject import Subject

__all__ = ["check_sources", "read_sources", "source_job"]


def read_sources(subject: Subject, index: ModuleIndex) -> Closure:
    """Return a module's shipped source with its headers. Raises InputError when it cannot be read."""
    root = subject.files.source_root(index.module)
    options = NvrtcOptions.from_canonical(index.options)
    # A store ships the files of the closure only, so a folder that gave none of them is not there.
    include = [folder for folder in options.include if (root / folder).is_dir()]
    return read_closure(root, index.source, include=include, headers=index.headers, pre_include=options.pre_include)


def source_job(
    closure: Closure, index: ModuleIndex, arch: SmArch, kinds: tuple[Kind, ...], **options: bool
) -> CompileJob:
    """Return the compile that gave a module's images of one architecture, with some options in place of the index's."""
    return CompileJob.from_closure(
        closure,
        module=index.module,
        source_path=index.source,
        options=NvrtcOptions.from_canonical(index.options).override(**options),
        arch=arch,
        kinds=kinds,
        names=index.names,
        globals=index.globals,
    )


def check_sources(subject: Subject) -> Outcome:
    """Check that every module's shipped source and headers are those its images were compiled from."""
    findings = [
        Finding(problem, REBUILD, index.module) for index in subject.modules for problem in _problems(subject, index)
    ]
    return Outcome.of(sum(len(index.files) for index in subject.modules), "shipped sources and headers", findings)


def _problems(subject: Subject, index: ModuleIndex) -> Iterator[str]:
    root = subject.files.source_root(index.module)
    there = {name: root / name for name in index.files if (root / name).is_file()}
    edited = [name for name, path in there.items() if sha256(path.read_bytes()).hexdigest() != index.files[name]]
    yield from (f"{name} is not what the images were compiled from" for name in edited)
    if edited or len(there) < len(index.files):  # a missing file is another check's finding
        return
    try:
        closure = read_sources(subject, index)
        job = source_job(closure, index, SmArch(9, 0), ("cubin",))
    except InputError as error:
        yield f"the shipped source cannot be read: {str(error).replace(f' in {root}', '')}"
        return
    found = {
        "files": dict(closure.files),
        "outside": job.outside if job.uses_toolkit_headers else None,
        "source_sha256": job.source_sha256,
    }
    wrong = [field for field, value in found.items() if value != getattr(index, field)]
    if wrong:
        yield f"the index says something else of the shipped source than it is: {', '.join(wrong)}"
