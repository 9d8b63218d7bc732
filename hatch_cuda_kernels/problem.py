"""What is wrong and what to do about it: readers, checks and promises report problems in this form."""

from __future__ import annotations

from typing import NamedTuple


class Problem(NamedTuple):
    """What is wrong, how to fix it, and where it is; as text, ``where: message; fix``."""

    message: str
    fix: str = ""
    """Empty when the message already says what to do."""
    where: str = ""
    """A place in the manifest, or a module, several, or an image of a store (``saxpy/saxpy.sm_90.cubin``); empty for
    no place."""

    def place(self) -> tuple[int, ...]:
        """Return the line and column in the manifest, to sort by; those without come first."""
        return tuple(int(part) for part in self.where.split(":", 3)[1:3] if part.isdigit())

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        return f"{place}{self.message}; {self.fix}" if self.fix else f"{place}{self.message}"
