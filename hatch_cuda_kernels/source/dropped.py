"""What a closure leaves out of the project's texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

from hatch_cuda_kernels.table import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Dropped", "DroppedKind", "left_out"]

_TEXTS: Final = {
    "body": "the body of {}",
    "definition": "the definition of {}",
    "throw": "throw in {} traps",
    "attribute": "the attribute behind {} is moved to its key",
    "mark": "{} is marked __host__ __device__",
    "constant": "{} is made constexpr",
    "value": "the value of {}",
    "macro": "{} is replaced by what it stands for, without host code",
    "pragma": "{} is spelled with _Pragma",
    "condition": "{} counts as defined, as for nvcc",
}
#: ``texture``: a reference, as CUDA had them up to 11. ``body``: of a function that stays declared. The last six: what
#: stays, changed.
DroppedKind: TypeAlias = Literal[
    "function",
    "definition",
    "instantiation",
    "removed",
    "throw",
    "attribute",
    "type",
    "variable",
    "texture",
    "include",
    "using",
    "assertion",
    "body",
    "mark",
    "constant",
    "value",
    "macro",
    "pragma",
    "condition",
]


class Dropped(NamedTuple):
    """One thing that is for the host only, and where it stands."""

    path: str
    """Relative to the project and posix."""
    line: int
    kind: DroppedKind
    name: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {_TEXTS.get(self.kind, f'{self.kind} {{}}').format(self.name)}"


def left_out(dropped: Sequence[Dropped], sources: Sequence[str]) -> str:
    """Return the sentence that says of which files host code is left out without being asked, and why.

    ``sources`` are the files that are compiled; the others are headers.
    """
    places = dict.fromkeys(found.path for found in dropped)
    named = [path for path in sources if path in places]
    others = len(places) - len(named)
    files = [*named, *([counted(others, "header")] if others else [])]
    first = min(dropped, key=lambda found: (found.kind != "function", found.path not in sources, found))
    why = "is a header of the host's" if first.kind == "include" else "has no device mark"
    place = f"{first.path}:{first.line}"
    return f"host code left out of {' and '.join(files)}: {first.name} ({place}) {why}; host_code: keep turns this off"
