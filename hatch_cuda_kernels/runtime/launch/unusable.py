"""Why an argument cannot be passed for a pointer."""

from __future__ import annotations

__all__ = ["ElsewhereError", "MismatchError", "UnusableError"]


class UnusableError(TypeError):
    """An argument for a pointer is neither an array that the device can access, nor an address, nor None."""


class ElsewhereError(UnusableError):
    """An array is on another device than the one the kernel is launched on."""

    def __init__(self, device: int | None, ordinal: int) -> None:
        super().__init__(f"it is on device {device}, and the kernel is launched on device {ordinal}")


class MismatchError(UnusableError):
    """An array is not of the elements that the kernel's pointer points to, or may not be written to."""
