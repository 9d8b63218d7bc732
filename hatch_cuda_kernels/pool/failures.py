"""What failed in a build, as problems: each once, with the architectures it is about, at the manifest's own lines."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from hatch_cuda_kernels.errors import CompileError
from hatch_cuda_kernels.names import spelled_without_archs, without_archs
from hatch_cuda_kernels.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from hatch_cuda_kernels.compiler import Job
    from hatch_cuda_kernels.manifest import Module

__all__ = ["FailedJob", "find_problems"]


class FailedJob(NamedTuple):
    """A job that failed, and how."""

    job: Job
    error: Exception


def find_problems(failures: Sequence[FailedJob], modules: Mapping[str, Module]) -> list[Problem]:
    """Return the problems of failed jobs, at their modules' places in the manifest or at those of bad names.

    What a module's architectures say alike is one problem. A log that is not shown whole is kept in a file, which the
    problem names.
    """
    alike: dict[object, list[FailedJob]] = {}
    for failure in sorted(failures, key=lambda failure: (failure.job.module, failure.job.arch)):
        alike.setdefault(_same(failure), []).append(failure)
    return [problem for found in alike.values() for problem in _problems(found, modules[found[0].job.module])]


def _same(failure: FailedJob) -> object:
    """Return what failures have in common that differ in nothing but the architecture."""
    error = failure.error
    if not isinstance(error, CompileError):
        return failure.job.module, str(error)
    said = "\n".join(error.faults) or spelled_without_archs(error.log.replace(error.arch, ""))
    return failure.job.module, error.message, without_archs(said), error.bad_names


def _problems(found: Sequence[FailedJob], module: Module) -> Iterator[Problem]:
    error = found[0].error
    if not isinstance(error, CompileError):
        yield Problem(str(error), where=module.where)
        return
    archs = ", ".join(dict.fromkeys(str(failure.job.arch) for failure in found))
    if error.bad_names:
        yield from _name_problems(error, archs, module)
        return
    if len(found) > 1:
        flags = [flag for flag in error.flags if not flag.startswith("-arch=")]
        error = CompileError(error.module, archs, error.message, log=error.log, flags=flags, faults=error.faults)
    yield Problem(f"module {error.module!r} for {archs}: {error.details(_kept(error))}", where=module.where)


def _name_problems(error: CompileError, archs: str, module: Module) -> Iterator[Problem]:
    """Yield one problem for each place in the manifest and reason; all instances of a pattern share its place."""
    written = {name.text: name.where for name in (*module.kernels, *module.instances)}
    written |= {f"&{name.text}": name.where for name in module.globals}
    places: dict[tuple[str, str], list[str]] = {}
    for number, name in enumerate(error.bad_names):
        fault = error.faults[number] if number < len(error.faults) else error.message
        places.setdefault((written.get(name, module.where), fault), []).append(name)
    for (where, fault), names in places.items():
        others = f" and {len(names) - 1} more" if len(names) > 1 else ""
        yield Problem(f"{names[0]!r}{others}, for {archs}: {fault}", where=where)


def _kept(error: CompileError) -> str:
    """Return the file that an error's log was put into, or what to do if there is no place for one."""
    if error.details() == error.details(""):  # nothing is left out
        return ""
    try:
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", prefix=f"hatch-cuda-kernels-{error.module}-", suffix=".log", delete=False
        ) as file:
            file.write(f"{error.log}\n")
    except OSError as trouble:
        return f"a log that could not be kept: {trouble.strerror}"
    return str(Path(file.name))
