"""What a user can do when no image runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hatch_cuda_kernels.compiler.toolchain.packages import editable_install, own, pip_install
from hatch_cuda_kernels.environment import JIT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hatch_cuda_kernels.image import Candidate
    from hatch_cuda_kernels.runtime.ladder.request import Request

__all__ = ["suggest_fixes"]


def suggest_fixes(request: Request, considered: Sequence[Candidate]) -> tuple[str, ...]:
    """Return the changes that would give this request an image, cheapest first."""
    reasons = [candidate.reason for candidate in considered]
    fixes = []
    if not request.jit:
        fixes.append(f"allow compiling: unset {JIT}")
    elif request.policy == "prebuilt":
        fixes.append("allow compiling: policy='compatible'")
    elif any("is not installed" in reason for reason in reasons):
        fixes.append(f"install a compiler for run time: {pip_install(own('jit'))}")
    if any("written as PTX ISA" in reason for reason in reasons):
        fixes.append("install a newer driver, or build the package with an older toolkit (cuda: in its kernels.yaml)")
    return (*fixes, _build_fix(request))


def _build_fix(request: Request) -> str:
    if not request.listed:
        return f"list {request.kernel.name} under instances in the package's kernels.yaml and build it again"
    if request.source.stale:
        return f"install the package again: {editable_install(request.source.root)}"
    return f"build the package with {request.arch} among its arches"
