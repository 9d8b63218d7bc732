"""What a build checks before it writes a store: the images are of use, and keep the manifest's promises."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hatch_cuda_kernels.names import listed_module
from hatch_cuda_kernels.store.promises.spills import find_spills
from hatch_cuda_kernels.store.promises.supports import find_gaps

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hatch_cuda_kernels.problem import Problem
    from hatch_cuda_kernels.store.built import BuiltModule
    from hatch_cuda_kernels.store.promises.model import Promises

__all__ = ["check_built"]


def check_built(modules: Sequence[BuiltModule], promises: Promises) -> list[Problem]:
    """Return what is wrong with each module's images, or else the promises that they break."""
    return [problem for built in modules for problem in built.problems() or _broken(built, promises)]


def _broken(built: BuiltModule, promises: Promises) -> Iterator[Problem]:
    """Yield each promise that a module breaks, at the module's place in the manifest."""
    limit = promises.max_spill_bytes.get(listed_module(built.name))
    gaps = find_gaps(promises.supports, built.kernels, built.images) if promises.supports is not None else ()
    spills = find_spills(limit, built.kernels, built.images) if limit is not None else ()
    for problem in (*gaps, *spills):
        yield problem._replace(where=built.where)
