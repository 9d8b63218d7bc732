"""What is installed here, what works of it, and what to do about the rest. Nothing that is broken may break this."""

from __future__ import annotations

from hatch_cuda_kernels.doctor.findings import Finding, examine
from hatch_cuda_kernels.doctor.verdicts import Verdict, judge

__all__ = ["Finding", "Verdict", "examine", "judge"]
