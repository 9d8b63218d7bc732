"""Policies, and whether compiling at run time is allowed.

``open_store`` may import this before the driver starts, so it imports nothing that takes time.
"""

from __future__ import annotations

import os

from hatch_cuda_kernels.environment import JIT

#: Spelt out, because importing typing takes longer than all of this; type checkers know the name.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    Policy = Literal["compatible", "exact", "prebuilt"]

_POLICIES: tuple[Policy, ...] = ("compatible", "exact", "prebuilt")
#: The reason that messages give if ``jit_allowed`` is false.
JIT_FORBIDDEN = f"{JIT}=0 forbids compiling"


def check_policy(policy: str) -> Policy:
    """Return the policy. Raises InputError for any other word."""
    for known in _POLICIES:
        if policy == known:
            return known
    from hatch_cuda_kernels.errors import InputError  # which imports typing

    raise InputError(f"unknown policy {policy!r}; it is one of {', '.join(_POLICIES)}")


def jit_allowed() -> bool:
    """Return whether the environment allows compiling."""
    return os.environ.get(JIT, "1") != "0"
