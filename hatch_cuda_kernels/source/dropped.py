"""What a closure leaves out of the project's texts."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

__all__ = ["Dropped"]

_TEXTS: Final = {
    "body": "the body of {}",
    "mark": "{} is marked __host__ __device__",
    "constant": "{} is made constexpr",
    "macro": "{} is replaced by what it stands for, without host code",
}


class Dropped(NamedTuple):
    """One thing that is for the host only, and where it stands."""

    path: str
    """Relative to the project and posix."""
    line: int
    kind: Literal["function", "variable", "include", "using", "body", "mark", "constant", "macro"]
    """``body``: of a function that stays declared. ``mark``, ``constant``, ``macro``: what stays, changed."""
    name: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {_TEXTS.get(self.kind, f'{self.kind} {{}}').format(self.name)}"
