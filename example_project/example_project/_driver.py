"""The CUDA driver, with errors as exceptions."""

from __future__ import annotations

from typing import Any

from cuda.bindings import driver

__all__ = ["check", "driver"]


def check(result: tuple[Any, ...]) -> Any:
    """Return what a driver call gave besides its status. Raises RuntimeError, naming the error, unless it succeeded."""
    status, *values = result
    if status != driver.CUresult.CUDA_SUCCESS:
        raise RuntimeError(f"the CUDA driver answered {status.name} ({int(status)})")
    return values[0] if values else None
