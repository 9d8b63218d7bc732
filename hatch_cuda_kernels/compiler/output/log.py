"""Reads NVRTC's, nvJitLink's and ptxas's logs: the diagnostics, and the name expressions that were refused."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.names import VIRTUAL_ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["Diagnostic", "bad_name_expressions", "name_errors", "parse_log"]

_LOCATED: Final = re.compile(r"(.+)\((\d+)\): (catastrophic error|error|warning)(?: #\d+(?:-D)?)?: (.*)")
_ASSEMBLER: Final = re.compile(r"ptxas (.+), line (\d+); (error|warning)\s*: (.*)")
_TOOL: Final = re.compile(r"(?:ptxas|nvlink|nvrtc:|Command-line) (fatal|error|warning)\s*: (.*)")

_NAME_ERROR: Final = re.compile(r"^__nv_name_map\((\d+)\): (?:catastrophic error|error): (.*)$", re.MULTILINE)
_BAD_NAME: Final = re.compile(r"Input name expression was: .*\n *#pragma nv_mangled_name ?(.*)")


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One message of a log. ``file`` is project-relative, as in the manifest, and empty where the log has no place."""

    file: str
    line: int
    severity: str
    """``warning``, ``error`` or ``catastrophic error``."""
    message: str


def parse_log(log: str) -> list[Diagnostic]:
    """Return a log's messages in order, each by its first line."""
    return list(_diagnostics(log))


def _diagnostics(log: str) -> Iterator[Diagnostic]:
    for line in log.splitlines():
        if match := _LOCATED.fullmatch(line):
            yield Diagnostic(match[1].removeprefix(VIRTUAL_ROOT), int(match[2]), match[3], match[4])
        elif match := _ASSEMBLER.fullmatch(line):
            yield Diagnostic("", int(match[2]), match[3], match[4])
        elif match := _TOOL.fullmatch(line):
            yield Diagnostic("", 0, "catastrophic error" if match[1] == "fatal" else match[1], match[2])


def name_errors(log: str) -> dict[int, tuple[str, ...]]:
    """Return the errors of name expressions by NVRTC's number: 2 plus the rank in the sorted, distinct expressions."""
    found: dict[int, tuple[str, ...]] = {}
    for number, message in _NAME_ERROR.findall(log):
        found[int(number)] = (*found.get(int(number), ()), message)
    return found


def bad_name_expressions(log: str, names: Sequence[str]) -> tuple[str, ...]:
    """Return which of ``names`` the log of a failed compile rejects, in the order given.

    NVRTC quotes the first line of each below its error, as it was given.
    """
    rejected = {_spaced(quoted) for quoted in _BAD_NAME.findall(log)}
    return tuple(name for name in names if _spaced(name.partition("\n")[0]) in rejected)


def _spaced(text: str) -> str:
    return " ".join(text.split())
