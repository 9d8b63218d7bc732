"""Reads NVRTC's, nvJitLink's and ptxas's logs: the diagnostics, and the name expressions that were refused."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from hatch_cuda_kernels.names import VIRTUAL_ROOT

_LOCATED: Final = re.compile(r"(.+)\((\d+)\): (catastrophic error|error|warning)(?: #\d+(?:-D)?)?: (.*)")
_INDENT: Final = "  "
_MARK: Final = re.compile(r"[ \t]*\^")
#: What stands between a message about overloads and the line of the source: the candidates, and the types given.
_CANDIDATE: Final = re.compile(r" {8,}(?:function|built-in operator|member function|candidate)\b.*")

#: What NVRTC calls the file that holds the name expressions.
_NAMES: Final = "__nv_name_map"
_NAME: Final = re.compile(r" *#pragma nv_mangled_name ?(.*)")
#: How it ends what it has to say of an expression.
_CONCLUSION: Final = re.compile(r"(.*?)(?: for lowered name lookup)?\. Input name expression was: ")
_UNDEFINED: Final = re.compile(r'identifier "(\w+)" is undefined')
_WORD: Final = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One message of a log. ``file`` is project-relative, as in the manifest, and empty where the log has no place."""

    file: str
    line: int
    severity: str
    """``warning``, ``error`` or ``catastrophic error``."""
    message: str
    excerpt: tuple[str, ...] = ()
    """The line of the source, and the mark below it."""

    @property
    def column(self) -> int:
        """Where the mark is, from 1; 0 if there is none."""
        return self.excerpt[1].index("^") + 1 if len(self.excerpt) > 1 else 0

    @property
    def place(self) -> str:
        """``file:line:column``, as far as these are known."""
        return ":".join(map(str, filter(None, (self.file, self.line if self.file else 0, self.column))))


def parse_log(log: str) -> list[Diagnostic]:
    """Return a log's messages in order, each by its first line."""
    found: list[Diagnostic] = []
    for line in log.splitlines():
        diagnostic = _diagnostic(line)
        if diagnostic is not None:
            found.append(diagnostic)
        elif found and line.startswith(_INDENT):
            found[-1] = _with_excerpt(found[-1], line.removeprefix(_INDENT))
    return found


def _diagnostic(line: str) -> Diagnostic | None:
    if match := _LOCATED.fullmatch(line):
        return Diagnostic(match[1].removeprefix(VIRTUAL_ROOT), int(match[2]), match[3], match[4])
    if match := re.fullmatch(r"ptxas (.+), line (\d+); (error|warning)\s*: (.*)", line):
        return Diagnostic("", int(match[2]), match[3], match[4])
    if match := re.fullmatch(r"(?:ptxas|nvlink|nvrtc:|Command-line) (fatal|error|warning)\s*: (.*)", line):
        return Diagnostic("", 0, "catastrophic error" if match[1] == "fatal" else match[1], match[2])
    return None


def _with_excerpt(found: Diagnostic, line: str) -> Diagnostic:
    if not found.excerpt:
        if found.message.endswith(":") and _CANDIDATE.fullmatch(line):
            return found
        if given := re.fullmatch(r" {8,}(?:argument|operand|object) types? (?:are|is): (.+)", line):
            return replace(found, message=f"{found.message.rstrip(':')}: {given[1]}")
        return replace(found, excerpt=(line,))
    if len(found.excerpt) > 1 or not _MARK.fullmatch(line):
        return found
    if unopened := re.match(r'cannot open source file "(.+?)"', found.message):  # NVRTC marks the end of the line
        at = found.excerpt[0].find(unopened[1])
        line = " " * (at - 1) + "^" * (len(unopened[1]) + 2) if at > 0 else line
    return replace(found, excerpt=(*found.excerpt, line))


def bad_names(found: Sequence[Diagnostic], names: Sequence[str]) -> dict[str, str]:
    """Return the names that NVRTC rejects, with the reasons. NVRTC quotes the first line of each below its errors."""
    reasons: dict[str, str] = {}
    rejected: dict[str, str] = {}
    for diagnostic in found:
        quote = _NAME.match(diagnostic.excerpt[0]) if diagnostic.file == _NAMES and diagnostic.excerpt else None
        if quote is None:
            continue
        quoted = " ".join(quote[1].split())
        if conclusion := _CONCLUSION.match(diagnostic.message):
            rejected[quoted] = reasons.get(quoted, conclusion[1])
        else:
            reasons.setdefault(quoted, diagnostic.message)
    undefined = {match[1]: match[0] for reason in rejected.values() if (match := _UNDEFINED.match(reason))}
    for quoted, reason in rejected.items():  # NVRTC calls an identifier undefined once; used again, it has other words
        known = (undefined[word] for word in _WORD.findall(quoted) if word in undefined)
        rejected[quoted] = next(known, reason)
    spelled = {name: " ".join(name.partition("\n")[0].split()) for name in names}
    return {name: rejected[quoted] for name, quoted in spelled.items() if quoted in rejected}
