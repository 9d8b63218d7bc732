"""What a closure leaves out of the project's texts."""

from __future__ import annotations

from typing import Literal, NamedTuple

__all__ = ["Dropped"]


class Dropped(NamedTuple):
    """One thing that is for the host only, and where it stands."""

    path: str
    """Relative to the project and posix."""
    line: int
    kind: Literal["function", "variable", "include", "body", "mark"]
    """``body``: of a function that stays declared. ``mark``: nothing was dropped, but a function got a mark."""
    name: str

    def __str__(self) -> str:
        what = {"body": "the body of {}", "mark": "{} is marked __host__ __device__"}.get(
            self.kind, f"{self.kind} {{}}"
        )
        return f"{self.path}:{self.line}: {what.format(self.name)}"
