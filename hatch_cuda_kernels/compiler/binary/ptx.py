"""PTX texts: ISA and target, entry points with parameter types, module variables; without what no kernel uses.

Grammar: PTX ISA, "Directives". Written for what NVVM prints (one declaration a line, module scope unindented).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from math import prod
from typing import Final

_VERSION: Final = re.compile(r"^\.version\s+(\d+)\.(\d+)\s*\n", re.MULTILINE)
_TARGET: Final = re.compile(r"^\.target\s+(\w+)[^\n]*\n", re.MULTILINE)
_TOOL: Final = re.compile(r"^// Cuda compilation tools, release .*, V(\d+\.\d+\.\d+)$", re.MULTILINE)
_NAME: Final = r"[A-Za-z_$%][\w$]*"
# Each begins with a newline: a literal first makes the search fast, and neither can stand on the first line.
_ENTRY: Final = re.compile(rf"\n\.(?:(?:visible|weak)\s+\.)?entry\s+({_NAME})\s*(?:\(([^()]*)\)|(?=[.{{])|(?P<cut>))")
_VARIABLE: Final = re.compile(r"\n\.(?:(?:visible|weak|common)\s+\.)?(?:const|global)\s+([^=;\n]*)(?:[=;]|(?P<cut>))")
#: What no other module can refer to, as it is neither ``.visible`` nor ``.weak``: a variable, a function, a prototype.
_INTERNAL: Final = re.compile(
    rf"\n\.(?:(?:const|global)\s+[^=;\n]*?({_NAME})(?:\[\d+\])*(?:\s*=[^;]*)?;"
    rf"|func\s+(?:\([^()]*\)\s*)?({_NAME})\s*\([^()]*\)[^;{{}}]*(?:;|\{{\n.*?\n\}}))(?=\n)",
    re.DOTALL,
)
#: What the source states of launches, by PTX's words and by the names that a CUBIN's reader has for it.
_STATED: Final = {"maxntid": "max_threads", "reqntid": "block_size", "reqnctapercluster": "cluster_size"}
_EXTENTS: Final = re.compile(rf"\.({'|'.join(_STATED)})\s+(\d+)(?:,\s*(\d+))?(?:,\s*(\d+))?")
_WORD: Final = re.compile(_NAME)
#: A variable of any kind, whoever defines it, and a word that may name one.
_ANY_VARIABLE: Final = re.compile(
    r"^\s*(?:\.(?:visible|weak|extern|common)\s+)*\.(?:global|const|shared)\s[^;={]*?([A-Za-z_$][\w$]*)(?:\[\d*\])*\s*[;=]",
    re.MULTILINE,
)
_SYMBOL: Final = re.compile(r"(?<![\w$.%])[A-Za-z_$][\w$]*")
_UNREADABLE: Final = "cannot read this {} of a PTX text: {!r}"
_DECLARATION: Final = re.compile(
    rf"(?:\.v(?P<lanes>[24])\s+)?\.[a-z]+(?P<bits>\d+)(?P<pair>x2)?\s+(?P<name>{_NAME})(?P<dimensions>(?:\[\d+\])*)\s*$"
)
_PARAM: Final = re.compile(
    r"\.param\s+(?:\.align\s+(?P<align>\d+)\s+)?\.(?P<type>\w+)\s+"
    rf"(?:(?P<pointer>\.ptr)\s+(?:\.[a-z]+\s+)?(?:\.align\s+\d+\s+)?)?{_NAME}(?:\[(?P<size>\d+)\])?"
)


@dataclass(frozen=True, slots=True)
class Ptx:
    """What one PTX text declares."""

    isa: tuple[int, int]
    """The PTX ISA version, which a driver must know."""
    target: str
    """``sm_90a``: PTX spells its virtual architecture this way."""
    entries: dict[str, tuple[str, ...]]
    """Parameter types by lowered name, in the order of the text."""
    variables: dict[str, int]
    """Bytes of each ``.const`` and ``.global`` variable that the text defines, by lowered name."""
    tool: str = ""
    """The version of the compiler, ``13.0.88``, as its comment says; empty without one."""
    stated: dict[str, tuple[tuple[str, tuple[int, ...]], ...]] = field(default_factory=dict)
    """What the source states of launches, as ``KernelSection`` has it, by the entries of which it states something."""


def read_ptx(text: str) -> Ptx:
    """Read a PTX text. Raises ValueError, with the reason, when it has no version or target or breaks its grammar.

    A parameter type is PTX's own word (``u64``, ``f32``, ``u8``), ``ptr`` for a pointer that NVVM marked as one (it
    does for sm_100 and newer), ``b8[16]:8`` for 16 bytes aligned to 8, which is how a struct passes by value.
    """
    version, target = _VERSION.search(text), _TARGET.search(text)
    if version is None or target is None:
        raise ValueError("not PTX: no .version or no .target line")
    entries, stated = {}, {}
    for found in _ENTRY.finditer(text):
        if found["cut"] is not None:
            raise ValueError(_UNREADABLE.format("entry point", found[0].strip()))
        params = (found[2] or "").strip()
        entries[found[1]] = tuple(_param(param.strip()) for param in params.split(",")) if params else ()
        head = _EXTENTS.findall(text, found.end(), max(text.find("{", found.end()), found.end()))
        if head:
            sizes = {_STATED[word]: tuple(int(one or 1) for one in texts) for word, *texts in head}
            stated[found[1]] = tuple(sorted(sizes.items()))
    return Ptx(
        isa=(int(version[1]), int(version[2])),
        target=target[1],
        entries=entries,
        variables=dict(map(_variable, _VARIABLE.finditer(text))),
        tool=tool[1] if (tool := _TOOL.search(text, 0, version.start())) else "",
        stated=stated,
    )


def drop_unused(text: str, keep: Collection[str]) -> str:
    """Return a PTX text without the variables and functions that no kernel leads to, other than ``keep``.

    NVRTC, unlike nvcc, keeps every constant of the headers: with CUB over 1,000, whose names are most of a CUBIN.
    """
    users: dict[str, str] = {}
    for found in _INTERNAL.finditer(text):
        name = found[1] or found[2]
        users[name] = users.get(name, "") + found[0]
    used = {*keep, *_WORD.findall(_INTERNAL.sub("", text))}
    waiting = [name for name in users if name in used]
    while waiting:
        fresh = users.keys() & {*_WORD.findall(users[waiting.pop()])} - used
        used |= fresh
        waiting += fresh
    unused = users.keys() - used
    if not unused:
        return text
    return _INTERNAL.sub(lambda found: "" if (found[1] or found[2]) in unused else found[0], text)


def used_variables(text: str) -> list[str]:
    """Return the variables, by symbol, that the code of a PTX text refers to."""
    declared = {*_ANY_VARIABLE.findall(text)}
    counts = Counter(filter(declared.__contains__, _SYMBOL.findall(text)))
    return [symbol for symbol, count in counts.items() if count > 1]


def _param(text: str) -> str:
    found = _PARAM.fullmatch(text)
    if found is None:
        raise ValueError(_UNREADABLE.format("parameter", text))
    if found["pointer"]:
        return "ptr"
    return f"{found['type']}[{found['size']}]:{found['align'] or 1}" if found["size"] else found["type"]


def _variable(line: re.Match[str]) -> tuple[str, int]:
    found = _DECLARATION.search(line[1])
    if found is None or line["cut"] is not None:
        raise ValueError(_UNREADABLE.format("variable", line[0].strip()))
    bits = int(found["bits"]) * (2 if found["pair"] else 1) * int(found["lanes"] or 1)
    return found["name"], bits // 8 * prod(int(size) for size in re.findall(r"\d+", found["dimensions"]))
