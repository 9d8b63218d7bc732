"""What one look at this machine found; probes in other processes send it as JSON."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from hatch_cuda_kernels.problem import Problem

__all__ = ["Finding"]


class Finding(NamedTuple):
    """One thing that was looked at: what is known of it, and what is wrong with it, if anything."""

    facts: dict[str, Any]
    problem: Problem | None = None
    missing: bool = False
    """Whether the problem is that the thing is not there, as opposed to broken."""

    @property
    def state(self) -> Literal["ok", "missing", "broken"]:
        """``ok``, ``missing`` or ``broken``."""
        if self.problem is None:
            return "ok"
        return "missing" if self.missing else "broken"

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object of ``doctor --json``."""
        message, fix, _ = self.problem or Problem("")
        return {"state": self.state, "problem": message, "fix": fix, **self.facts}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Finding:
        """Read what ``to_json`` wrote. Raises KeyError on other data."""
        facts = dict(data)
        state, message, fix = (facts.pop(name) for name in ("state", "problem", "fix"))
        return cls(facts, Problem(message, fix) if message else None, missing=state == "missing")
