"""One rule of the manifest's ``launch:``: how a kernel, or each instance of a template, is launched."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from hatch_cuda_kernels.names import base_name, normalize_name
from hatch_cuda_kernels.patterns import match, placeholders
from hatch_cuda_kernels.store.launch_rules.expressions import ExpressionError, python_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["LaunchRule", "find_rule"]


class LaunchRule(NamedTuple):
    """How a kernel is launched: its sizes as expressions of its parameters."""

    kernel: str
    """A kernel, a template for all its instances, or a pattern of instances."""
    grid: tuple[str, ...]
    block: tuple[str, ...]
    shared_mem: str = "0"
    attributes: dict[str, Any] = {}  # noqa: RUF012 - never changed
    """``cluster``, ``cooperative``, ``pdl``, ``priority`` and ``carveout``, if they are stated."""
    names: tuple[str, ...] = ()
    """The parameters as the source calls them; empty for one without a name."""

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object of the index."""
        return {
            **self._asdict(), "grid": list(self.grid), "block": list(self.block), "names": list(self.names),
        }  # fmt: skip

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> LaunchRule:
        """Read what ``to_json`` wrote, and an index's shape holds."""
        values = {field: data[field] for field in cls._fields}
        return cls(**values | {name: tuple(values[name]) for name in ("grid", "block", "names")})

    def values(self, name: str) -> dict[str, str] | None:
        """Return the template arguments that its placeholders stand for in a kernel's name; None if it is another's."""
        if placeholders(self.kernel):
            return match(self.kernel, name)
        return {} if normalize_name(self.kernel) in {normalize_name(name), base_name(name)} else None

    def python_texts(self, spelled: Sequence[str], values: dict[str, str]) -> tuple[str, ...]:
        """Return grid, block and shared memory as Python text, the parameters ``spelled`` in their order.

        Raises ExpressionError for what no build writes.
        """
        names = dict(zip(self.names, spelled, strict=True))
        if not 1 <= min(len(self.grid), len(self.block)) <= max(len(self.grid), len(self.block)) <= 3:
            raise ExpressionError("one to three sizes belong to a grid and to a block")
        sizes = [[python_text(text, names, values) for text in part] for part in (self.grid, self.block)]
        joined = (part[0] if len(part) == 1 else f"({', '.join(part)})" for part in sizes)
        return *joined, python_text(self.shared_mem, names, values)

    def __str__(self) -> str:
        shared = {} if self.shared_mem == "0" else {"shared_mem": self.shared_mem}
        stated = {"grid": _sizes(self.grid), "block": _sizes(self.block), **shared, **self.attributes}
        return ", ".join(f"{key} {value}" for key, value in stated.items())


def find_rule(rules: Iterable[LaunchRule], name: str) -> LaunchRule | None:
    """Return the rule for a kernel: its own, its pattern's, or its template's."""
    fitting = [rule for rule in rules if rule.values(name) is not None]
    return max(fitting, key=lambda rule: _rank(rule, name), default=None)


def _rank(rule: LaunchRule, name: str) -> int:
    """Return how much a rule is meant for a kernel."""
    return 2 if normalize_name(rule.kernel) == normalize_name(name) else 1 if placeholders(rule.kernel) else 0


def _sizes(texts: tuple[str, ...]) -> str:
    return texts[0] if len(texts) == 1 else f"({', '.join(texts)})"
