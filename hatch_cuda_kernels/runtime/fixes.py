"""What a user can do when no image runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hatch_cuda_kernels.runtime.resolve import Candidate, Request

__all__ = ["suggest_fixes"]


def suggest_fixes(request: Request, considered: Sequence[Candidate]) -> tuple[str, ...]:
    """Return the changes that would give this request an image, cheapest first."""
    fixes = []
    reasons = [candidate.reason for candidate in considered]
    if any("is not installed" in reason for reason in reasons):
        fixes.append('install a compiler for run time: python3 -m pip install "hatch-cuda-kernels[jit]"')
    if not request.jit:
        fixes.append("allow compiling: unset HATCH_CUDA_KERNELS_JIT")
    if request.policy == "prebuilt":
        fixes.append("allow compiling: policy='compatible'")
    if any("written as PTX ISA" in reason for reason in reasons):
        fixes.append("install a newer driver, or build the package with an older toolkit (cuda: in its kernels.yaml)")
    fixes.append(f"build the package with {request.source.device_arch(request.capability)} among its arches")
    return tuple(fixes)
