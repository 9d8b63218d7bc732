"""A kernel with real arguments, and what it computes by a formula of torch's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

if TYPE_CHECKING:
    from types import SimpleNamespace

__all__ = ["Case", "Project", "floats", "whole"]

Arguments = Mapping[str, Any]


class Case(NamedTuple):
    """One call of an operator."""

    operator: str
    arguments: Callable[[], Arguments]
    """By the names of the kernel's parameters."""
    formula: Callable[[SimpleNamespace], Mapping[str, torch.Tensor]]
    """From the arguments as they were before the call to what it writes, by name."""
    tolerance: float = 1e-5
    """Relative to the largest number; 0 for the same bits."""


class Project(NamedTuple):
    """Kernels of one project, and what ``Store.torch_ops`` is told of them."""

    name: str
    cases: tuple[Case, ...]
    options: Mapping[str, Any]


def floats(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Return random numbers on the device."""
    return torch.randn(*shape, device="cuda", dtype=dtype)


def whole(*shape: int, below: int, dtype: torch.dtype = torch.int32) -> torch.Tensor:
    """Return random integers on the device, from 0."""
    return torch.randint(below, shape, device="cuda").to(dtype)
