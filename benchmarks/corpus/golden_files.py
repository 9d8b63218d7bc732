"""Files of goldens: one JSON line a source, with what it is compiled with and what became of it.

An entry has ``repository``, ``commit``, ``path``, ``arch`` and ``options``; once it is chosen, also its ``way`` and its
``module``. A result adds ``outcome``, ``kernels`` (digests of text section, of that without addresses, and of PTX, by
name), ``port``, ``seconds`` and ``nvcc``.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

Line = dict[str, Any]
#: Digits of a digest in a file that is kept.
DIGITS: Final = 10
_FOLDERS: Final = re.compile(r"(?<![\w.])/\S*/(?=[^/\s])")
_ENTRY: Final = ("repository", "commit", "path", "arch", "options", "way", "module")


def read_lines(path: Path) -> dict[str, Line]:
    """Return the lines by repository and path; of several for one source, the last."""
    if not path.is_file():
        return {}
    lines = (json.loads(line) for line in path.read_text().splitlines() if line)
    return {key(line): line for line in lines}


def write_lines(path: Path, lines: Iterable[Line]) -> None:
    path.write_text("".join(f"{_text(line)}\n" for line in lines))


def append_line(path: Path, line: Line) -> None:
    with path.open("a") as file:
        file.write(f"{_text(line)}\n")


def key(line: Line) -> str:
    return f"{line['repository']}/{line['path']}"


def entry_of(line: Line) -> Line:
    """Return what is compiled, and how, without what became of it."""
    return {name: line[name] for name in _ENTRY if name in line}


def brief(line: Line, nvcc: Line | None) -> Line:
    """Return a result as it is kept: digests cut, texts left out, nvcc's beside."""
    port = line["port"]
    kept = entry_of(line) | {"outcome": line["outcome"]}
    kept |= {"message": line["message"]} if line["message"] else {}
    kept |= {"kernels": {name: _cut(found) for name, found in line["kernels"].items()}} if line["kernels"] else {}
    kept["dropped"] = len(line["dropped"])
    kept["port"] = {name: port[name][:DIGITS] for name in ("outcome", "patch", "manifest") if name in port}
    kept["seconds"] = {name: cost["seconds"] for name, cost in line["cost"].items()} | {"port": port["seconds"]}
    kept["peak"] = max(cost["peak"] for cost in line["cost"].values())
    return kept | ({"nvcc": _brief_nvcc(nvcc, line)} if nvcc else {})


def _brief_nvcc(nvcc: Line, line: Line) -> Line:
    """Return nvcc's outcome, and its kernels in the order of the package's: ``=`` is the same, empty is none."""
    own, made = line["kernels"], nvcc.get("kernels", {})
    found = ["=" if made.get(name) == digests else _cut(made.get(name, "")) for name, digests in own.items()]
    kept = {"outcome": nvcc["outcome"], "message": plain(nvcc.get("message", ""))[:120]}
    return {name: value for name, value in kept.items() if value} | ({"kernels": found} if any(found) else {})


def plain(text: str) -> str:
    """Return a message without folders that depend on the machine."""
    return _FOLDERS.sub("", text)


def _cut(digests: str) -> str:
    if not digests:
        return ""
    text, code, ptx = (found[:DIGITS] for found in digests.split(","))
    return ",".join((text, "" if code == text else code, ptx))


def _text(line: Line) -> str:
    return json.dumps(line, ensure_ascii=False, separators=(",", ":"))
