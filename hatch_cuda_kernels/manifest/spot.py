"""A place in a manifest: the value there, the keys that lead to it, and where problems with it are noted."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from hatch_cuda_kernels.manifest.yaml_tree import Mark, Marked, Node, Pair, describe, join
from hatch_cuda_kernels.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from hatch_cuda_kernels.includes import ProjectFiles

__all__ = ["ManifestReading", "RefusedError", "Spot", "suggest", "wrong_type"]


class RefusedError(Exception):
    """A value cannot be used; the reader of what contains it notes the problem and goes on."""


@dataclass(frozen=True, slots=True)
class ManifestReading:
    """What all places of one manifest share while it is read."""

    filename: str
    files: ProjectFiles
    version: Callable[[], str]
    """Returns the project's version. Raises RefusedError if it is not known."""
    problems: list[Marked] = field(default_factory=list)

    def locate(self, mark: Mark, path: str) -> str:
        """Return a place as problems name it."""
        return f"{self.filename}:{mark.line}:{mark.column}: {path or 'manifest'}"

    def messages(self) -> list[str]:
        """Return the problems in the order of the file."""
        ordered = sorted(self.problems, key=lambda marked: marked[0])
        located = (str(problem._replace(where=self.locate(mark, problem.where))) for mark, problem in ordered)
        return list(dict.fromkeys(located))  # modules of one entry have its problems in common


class Spot(NamedTuple):
    """A value and its path. ``mark`` is what problems point at: the value, or the key that names it."""

    node: Node
    path: str
    mark: Mark
    reading: ManifestReading

    @property
    def where(self) -> str:
        """This place as problems name it."""
        return self.reading.locate(self.mark, self.path)

    def report(self, message: str) -> None:
        """Note a problem at this place."""
        self.reading.problems.append((self.mark, Problem(message, where=self.path)))

    def report_missing(self, key: str, fix: str) -> None:
        """Note that a key this place must have is missing."""
        self.reading.problems.append((self.mark, Problem("missing", fix, join(self.path, key))))

    def item(self, index: int, node: Node) -> Spot:
        """Return the place of a list's item."""
        return Spot(node, f"{self.path}[{index}]", node.mark, self.reading)

    def value(self, pair: Pair) -> Spot:
        """Return the place of a key's value."""
        return Spot(pair.value, join(self.path, pair.key), pair.value.mark, self.reading)

    def key(self, pair: Pair) -> Spot:
        """Return the place of a key."""
        return Spot(pair.value, join(self.path, pair.key), pair.mark, self.reading)


def suggest(word: str, known: Iterable[str], otherwise: str = "") -> str:
    """Return " (did you mean 'x'?)" for the closest known word, ``otherwise`` if none is close."""
    near = difflib.get_close_matches(word, list(known), n=1)
    return f" (did you mean {near[0]!r}?)" if near else otherwise


def wrong_type(expected: str, spot: Spot, hint: str = "") -> RefusedError:
    """Return the refusal of a value that is not what was expected."""
    return RefusedError(f"expected {expected}, found {describe(spot.node)}{hint}")
