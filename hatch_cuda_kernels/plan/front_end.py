"""Sharing the front end: which architectures NVRTC compiles, and which nvJitLink finishes from one of those.

``lto`` and ``ptx`` run NVRTC's front end once, at the lowest architecture. PTX cannot be made from PTX, nor LTO-IR from
LTO-IR: where it is listed for a higher architecture, that one is compiled by itself, for its real form too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hatch_cuda_kernels.compiler.source.arch_macros import arch_uses
from hatch_cuda_kernels.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import TypeAlias

    from hatch_cuda_kernels.arch import SmArch
    from hatch_cuda_kernels.image import Kind
    from hatch_cuda_kernels.plan.plan import PlannedModule

    Kinds: TypeAlias = dict[SmArch, tuple[Kind, ...]]

__all__ = ["FrontEnd", "arch_warnings", "describe", "image_kind", "lay_out"]


class FrontEnd(NamedTuple):
    """How a module's images come about. Every architecture is real, with the kinds of its images."""

    compiled: Kinds
    """What NVRTC compiles. The shared run's kinds include what the others start from."""
    shared: SmArch | None
    """The architecture of the shared front-end run; None where nothing is shared."""
    finished: Kinds
    """What nvJitLink finishes from the shared run."""

    def is_assembled(self, arch: SmArch) -> bool:
        """Return whether NVRTC assembles what it compiles; where it gives PTX for links alone, these will."""
        return arch != self.shared or self.compiled[arch] != ("ptx",)


def lay_out(arches: Iterable[SmArch], *, front_end: str, lto: bool) -> FrontEnd:
    """Return how the images of these architectures come about. Raises InputError where no run can serve them all."""
    wanted: Kinds = {}
    for arch in sorted(arches):
        wanted[arch.real] = (*wanted.get(arch.real, ()), image_kind(arch, lto=lto))
    if front_end == "per-arch":
        return FrontEnd(wanted, None, {})
    if front_end == "ptx" and lto:
        raise InputError("front_end: ptx starts from PTX, and lto: true makes none; write front_end: lto")
    start: Kind = "ltoir" if front_end == "lto" else "ptx"
    rest = [arch for arch, kinds in wanted.items() if start not in kinds]
    shared = next((arch for arch in wanted if all(arch.serves(other) for other in rest)), None)
    if shared is None:
        raise InputError(_no_run(front_end, rest))
    finished = {arch: wanted[arch] for arch in rest if arch != shared}
    compiled = {arch: kinds for arch, kinds in wanted.items() if arch not in finished}
    if not finished:
        return FrontEnd(compiled, None, {})
    own = tuple(kind for kind in wanted[shared] if kind != start)
    if own and front_end == "ptx":  # nvJitLink's assembler is faster, and drops what CUB declares for nothing
        finished = {shared: own, **finished}
        own = ()
    compiled[shared] = (*own, start)
    return FrontEnd(compiled, shared, finished)


def image_kind(arch: SmArch, *, lto: bool) -> Kind:
    """Return what an architecture's image is: CUBIN for a real one, PTX (or LTO-IR) for a virtual one."""
    if not arch.virtual:
        return "cubin"
    return "ltoir" if lto else "ptx"


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


def _no_run(front_end: str, archs: Sequence[SmArch]) -> str:
    suffixed = [arch for arch in archs if arch.suffix]
    return (
        f"front_end: {front_end} needs one architecture whose code serves all, and none of {_listed(archs)} does: code "
        f"for {suffixed[0]} goes to no other {'family' if suffixed[0].suffix == 'f' else 'architecture'}; write "
        f"front_end: per-arch, or add {suffixed[0].plain}, whose code has no architecture-specific features"
    )


def _macro(arch: SmArch) -> int:
    return arch.number * 10


def _listed(archs: Sequence[SmArch]) -> str:
    return ", ".join(map(str, archs))
