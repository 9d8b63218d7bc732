"""What a plan does that a module's source does not say: a shared front end's ``__CUDA_ARCH__``, dropped host code."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hatch_cuda_kernels.compiler.source.arch_macros import arch_uses
from hatch_cuda_kernels.names import listed_module

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hatch_cuda_kernels.arch import SmArch
    from hatch_cuda_kernels.compiler.source.dropped import Dropped
    from hatch_cuda_kernels.plan.plan import PlannedModule

__all__ = ["arch_warnings", "describe", "dropped_code"]


def describe(planned: PlannedModule) -> str:
    """Return the sentence that says what a shared front end means for a module; empty where nothing is shared."""
    if not planned.links:
        return ""
    link = planned.links[0]
    shared = link.front.arch
    start = "LTO-IR" if link.input_kind == "ltoir" else "PTX"
    archs = [job.arch for job in planned.links]
    text = (
        f"module {planned.module.name!r}: one front-end run for {shared}, from whose {start} nvJitLink finishes "
        f"{_listed(archs)}; __CUDA_ARCH__ is {_macro(shared)} in all of these"
    )
    frozen = [arch for arch in archs if arch.suffix and not shared.suffix]
    return f"{text}, and {_listed(frozen)} has no architecture-specific features" if frozen else text


def arch_warnings(plan: Sequence[PlannedModule]) -> Iterator[str]:
    """Yield a warning for each module that shares its front end though its sources tell architectures apart."""
    for planned in plan:
        uses = arch_uses(planned.closure) if planned.links else ()
        if uses:
            shared = planned.links[0].front.arch
            others = [job.arch for job in planned.links if job.arch != shared]
            yield (
                f"module {planned.module.name!r}: {', '.join(uses)}: the code depends on the architecture, which "
                f"front_end: {planned.module.front_end} fixes to {shared} (__CUDA_ARCH__ is {_macro(shared)}) also for "
                f"{_listed(others)}; front_end: per-arch compiles for each"
            )


def dropped_code(plan: Sequence[PlannedModule]) -> list[tuple[str, Dropped]]:
    """Return what was left out as host code, once for each module, with the module's name."""
    modules = {listed_module(planned.module.name): planned.closure for planned in plan}
    return [(module, found) for module, closure in modules.items() for found in closure.dropped]


def _macro(arch: SmArch) -> int:
    return arch.number * 10


def _listed(archs: Sequence[SmArch]) -> str:
    return ", ".join(map(str, archs))
