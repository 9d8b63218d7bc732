"""What is installed here, what of it works, and how to fix the rest. Nothing broken on the machine breaks this."""

from __future__ import annotations

from hatch_cuda_kernels.doctor.examine import Finding, ask, examine, set_variables
from hatch_cuda_kernels.doctor.verdicts import Verdict, judge

__all__ = ["Finding", "Verdict", "ask", "examine", "judge", "set_variables"]
