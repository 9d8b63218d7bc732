"""The kernels of an image as digests: machine code, machine code without addresses, PTX."""

from __future__ import annotations

import hashlib
import re
import struct
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

sys.path.append(str(Path(__file__).parents[1]))

from machine_code import code, without_addresses

if TYPE_CHECKING:
    from collections.abc import Iterable

_ENTRY: Final = re.compile(r"^(?:\.\w+ )*\.entry (\w+)\((.*?)^\}", re.MULTILINE | re.DOTALL)
_NOISE: Final = (
    (re.compile(r"//.*"), ""),
    (re.compile(r"\$L__BB\d+_"), "$L__BB_"),
    (re.compile(r"__local_depot\d+"), "__local_depot"),
    (re.compile(r"callseq \d+"), "callseq"),
    (re.compile(r"\$str\$?\d*"), "$str"),
    (re.compile(r"\d+_GLOBAL__N__[0-9a-f]{8}_\d+_\w+?_[0-9a-f]{8}(?:_\d+)?"), "UNNAMED"),
    (re.compile(r"_INTERNAL_[0-9a-f]{8}_\d+_\w+?_[0-9a-f]{8}(?:_\d+)?"), "INTERNAL"),
)
_OWN: Final = re.compile(r"(?:_INTERNAL|__nv_static)_\w+|_GLOBAL__N__\w+|\(anonymous namespace\)")
#: What the device's linker puts before the symbol of what one translation unit alone has.
_STATIC: Final = re.compile(r"^__nv_static_\d+__[0-9a-f]{8}_\d+_\w+?_[0-9a-f]{8}_(?=\w)")
_LONG_NAME: Final = 90


class Kernel(NamedTuple):
    """Digests of one kernel; ``text`` and ``code`` are empty where the CUBIN has no section of it."""

    text: str
    code: str
    """Of the machine code without the offsets of variables' addresses."""
    ptx: str


def kernels(cubin: bytes, ptx: str) -> dict[str, Kernel]:
    """Return the kernels of an image by a name that does not tell NVRTC from nvcc."""
    sections = code(cubin)
    texts = entries(ptx)
    found: dict[str, Kernel] = {}
    for symbol, name in zip(texts, names(texts), strict=True):
        made = Kernel(*machine(sections.get(f".text.{symbol}")), digest(_plain(texts[symbol], symbol)))
        found[short(f"{name} again" if short(name) in found else name)] = made
    return found


def entries(ptx: str) -> dict[str, str]:
    """Return the text of each kernel by its symbol."""
    return {found[1]: found[2] for found in _ENTRY.finditer(ptx)}


def names(symbols: Iterable[str]) -> list[str]:
    """Return demangled names without what tells translation units apart; ``long long`` is ``long``."""
    listed = [_STATIC.sub("", symbol) for symbol in symbols]
    done = subprocess.run(["c++filt"], input="\n".join(listed), capture_output=True, text=True, check=True)
    shown = (name.removeprefix("void ") for name in done.stdout.splitlines()[: len(listed)])
    plain = (_OWN.sub("", name).replace("::::", "::").removeprefix("::") for name in shown)
    return [name.replace("long long", "long") for name in plain]


def short(name: str) -> str:
    """Return a name that is not long: the rest of a long one is a digest."""
    return name if len(name) <= _LONG_NAME else f"{name[: _LONG_NAME - 9]}~{digest(name)[:8]}"


def digest(content: str | bytes) -> str:
    """Return the beginning of a SHA-256."""
    return hashlib.sha256(content.encode(errors="replace") if isinstance(content, str) else content).hexdigest()[:16]


def machine(section: bytes | None) -> tuple[str, str]:
    """Return digests of machine code, and of the same without addresses."""
    if section is None:
        return "", ""
    blanked = b"".join(struct.pack("<QQ", *pair) for pair in without_addresses(section))
    return digest(section), digest(blanked)


def _plain(body: str, symbol: str) -> str:
    for pattern, instead in ((re.compile(rf"\b{re.escape(symbol)}"), "KERNEL"), *_NOISE):
        body = pattern.sub(instead, body)
    return " ".join(body.split())
