"""What a build checks before it writes a store: the images are of use, and keep the manifest's promises."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from hatch_cuda_kernels.names import listed_module
from hatch_cuda_kernels.store.promises.spills import find_spills
from hatch_cuda_kernels.store.promises.supports import find_gaps

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from hatch_cuda_kernels.image import Symbol
    from hatch_cuda_kernels.problem import Problem
    from hatch_cuda_kernels.store.built import BuiltModule
    from hatch_cuda_kernels.store.image_record import ImageRecord
    from hatch_cuda_kernels.store.promises.model import Promises, Supports

__all__ = ["Coverage", "broken_supports", "check_built"]

_MOST_NAMES: Final = 5


class Coverage(NamedTuple):
    """A module whose images are held against the promised devices, before or after a build."""

    name: str
    where: str
    kernels: Sequence[Symbol]
    images: Sequence[ImageRecord]


def check_built(modules: Sequence[BuiltModule], promises: Promises) -> list[Problem]:
    """Return what is wrong with each module's images, or else the promises that they break."""
    wrong = {built.name: built.problems() for built in modules}
    sound = [built for built in modules if not wrong[built.name]]
    spills = [problem for built in sound for problem in _spilling(built, promises)]
    gaps: list[Problem] = []
    if promises.supports is not None:
        coverages = [Coverage(built.name, built.where, built.kernels, built.images) for built in sound]
        gaps = broken_supports(promises.supports, coverages)
    return [*(problem for found in wrong.values() for problem in found), *gaps, *spills]


def _spilling(built: BuiltModule, promises: Promises) -> Iterator[Problem]:
    """Yield each kernel of a module that spills too much, at the module's place in the manifest."""
    limit = promises.max_spill_bytes.get(listed_module(built.name))
    for problem in find_spills(limit, built.kernels, built.images) if limit is not None else ():
        yield problem._replace(where=built.where)


def broken_supports(supports: Supports, modules: Iterable[Coverage]) -> list[Problem]:
    """Return each gap in the promise once, where the manifest promises it, with the modules that it is in."""
    gaps: dict[Problem, dict[str, None]] = {}
    for module in modules:
        for gap in find_gaps(supports, module.kernels, module.images):
            gaps.setdefault(gap._replace(where=gap.where or module.where), {})[repr(listed_module(module.name))] = None
    return [gap._replace(message=_with_modules(gap.message, list(names))) for gap, names in gaps.items()]


def _with_modules(message: str, names: list[str]) -> str:
    """Return a message that names modules, before the reason in brackets."""
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    listed = f"{'module' if len(names) == 1 else 'modules'} {', '.join(names[:_MOST_NAMES])}{more}"
    what, bracket, reason = message.partition(" (")
    return f"{what} in {listed}{bracket}{reason}"
