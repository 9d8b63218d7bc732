"""Why an argument cannot be passed for a pointer."""

from __future__ import annotations

from typing import Final

__all__ = ["FATAL", "MASKED", "ElsewhereError", "MismatchError", "UnusableError"]

#: What goes on from wherever an argument is read: it is not the argument's fault, and to read it once more, in another
#: way, would only take longer. A recursion would end at none of its levels.
FATAL: Final = (MemoryError, RecursionError)
#: Of an array that says which of its elements count.
MASKED: Final = "it has a mask, which a kernel does not see; pass the data and the mask as two arguments"


class UnusableError(TypeError):
    """An argument for a pointer is neither an array that the device can access, nor an address, nor None."""


class ElsewhereError(UnusableError):
    """An array is on another device than the one the kernel is launched on."""

    def __init__(self, device: int | None, ordinal: int) -> None:
        super().__init__(f"it is on device {device}, and the kernel is launched on device {ordinal}")


class MismatchError(UnusableError):
    """An array is not of the elements that the kernel's pointer points to, or may not be written to."""
