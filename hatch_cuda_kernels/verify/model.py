"""The words of a verification: what is asked, what a check finds, and the report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from hatch_cuda_kernels.arch import ComputeCapability
    from hatch_cuda_kernels.store.index import ImageRecord, ModuleIndex

__all__ = ["Demands", "Finding", "Line", "Outcome", "Report", "Result", "StoreFiles"]


class Line(Protocol):
    """One line of ``kernels.tsv``."""

    @property
    def key(self) -> str:
        """The name for look-ups, ``&`` before a variable's."""

    @property
    def module(self) -> str:
        """The module."""

    @property
    def lowered(self) -> str:
        """The lowered name."""

    @property
    def params(self) -> tuple[str, ...]:
        """Parameter types."""

    @property
    def name(self) -> str:
        """The name as written."""


class StoreFiles(Protocol):
    """A store as the run side reads it: what is verified is what a user's process will see."""

    @property
    def folder(self) -> Path:
        """Where the files are."""

    def lines(self) -> Sequence[Line]:
        """Return every line of ``kernels.tsv``. Raises StoreError."""

    def whole_module(self, name: str, /) -> ModuleIndex:
        """Return a module's index with its details. Raises StoreError."""

    def read_image(self, module: str, record: ImageRecord, /) -> bytes:
        """Return an image's bytes. Raises StoreError when they are missing or not those of the digest."""

    def image_path(self, module: str, record: ImageRecord, /) -> Path:
        """Return the file that holds an image."""

    def source_root(self, module: str, /) -> Path:
        """Return the folder of the shipped source and headers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Demands:
    """What is asked beyond the promises that the store records, or in their place."""

    devices: tuple[ComputeCapability, ...] = ()
    driver: tuple[int, int] | None = None
    max_spill_bytes: int | None = None
    """For every module."""
    max_size: int | None = None
    """Bytes of the wheel file; of the store's files where there is no wheel."""
    rebuild: bool = False
    skip: frozenset[str] = frozenset()
    """Names of checks."""


class Finding(NamedTuple):
    """One thing that is wrong, and the change that closes it. Module and image are empty where none is at fault."""

    problem: str
    fix: str
    module: str = ""
    image: str = ""
    """The image's name in the index."""

    def to_json(self) -> dict[str, str]:
        """Return the JSON object of ``verify --json``."""
        return {"module": self.module, "image": self.image, "problem": self.problem, "fix": self.fix}


class Outcome(NamedTuple):
    """What a check looked at and found."""

    checked: int
    """How many."""
    what: str
    """Of what, as a plural."""
    findings: tuple[Finding, ...]
    skipped: str = ""
    """Why there was nothing to check."""

    @classmethod
    def of(cls, checked: int, what: str, findings: Iterable[Finding]) -> Outcome:
        """Return the outcome of a check that ran."""
        return cls(checked, what, tuple(findings))

    @classmethod
    def skip(cls, reason: str) -> Outcome:
        """Return the outcome of a check that has nothing to do."""
        return cls(0, "", (), reason)


class Result(NamedTuple):
    """A check by name with its outcome."""

    check: str
    outcome: Outcome

    @property
    def state(self) -> str:
        """``ok``, ``failed`` or ``skipped``."""
        if self.outcome.findings:
            return "failed"
        return "skipped" if self.outcome.skipped else "ok"

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object of ``verify --json``."""
        checked, what, findings, skipped = self.outcome
        return {
            "check": self.check,
            "state": self.state,
            "checked": checked,
            "what": what,
            "skipped": skipped,
            "findings": [finding.to_json() for finding in findings],
        }


class Report(NamedTuple):
    """Every check's result, in the order they ran."""

    results: tuple[Result, ...]

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Everything that is wrong."""
        return tuple(finding for result in self.results for finding in result.outcome.findings)

    @property
    def ok(self) -> bool:
        """Whether no check found anything."""
        return not self.findings
