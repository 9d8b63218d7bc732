"""Kernels of the package beside nvcc's where both go through nvJitLink: what its back end makes of two LTO-IRs.

NVRTC addresses shared memory with 64 bits and nvcc with 32, so that most kernels that use it have other machine code.
After a link of LTO-IR, nvJitLink's assembler has undone that in many. Of the others, the operations are counted that
have nothing to do with the width of an address.
"""

from __future__ import annotations

import re
import tempfile
from collections import Counter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from golden_kernels import entries, machine, names
from golden_measure import measured
from golden_nvcc import command
from machine_code import code

from hatch_cuda_kernels.arch import SmArch
from hatch_cuda_kernels.compiler.finish import LinkInput, link
from hatch_cuda_kernels.errors import CompileError
from hatch_cuda_kernels.options import NvrtcOptions

if TYPE_CHECKING:
    from pathlib import Path

    from golden_package import Package

#: What has nothing to do with the width of an address: numbers with a fraction, memory, barriers, exchange.
_OPERATION: Final = re.compile(
    r"^\s*(?:@!?%p\d+ )?((?:ld|st)\.(?!param)[\w.:]+|\w+(?:\.\w+)*\.(?:f16|f16x2|bf16|bf16x2|f32|f64)"
    r"|(?:bar|barrier|atom|red|shfl|vote|membar|fence|mma|wmma|wgmma|ldmatrix|cp|mbarrier|call)\b[\w.:]*)",
    re.MULTILINE,
)


class _Made(NamedTuple):
    """One kernel: digests of its machine code and of that without addresses, and operations of its PTX by number."""

    text: str
    code: str
    operations: Counter[str]


def linked(
    package: Package, root: Path, line: dict[str, Any], flags: list[str], include: list[Path], limit: float
) -> dict[str, Any]:
    """Return, of each kernel that both have, whether its machine code is the same once linked."""
    ported = line["port"] | {name: line["port"].get(f"{name}_text", "") for name in ("patch", "manifest")}
    own = package.lto_ir(root, line, line["way"], ported)
    if isinstance(own, str):
        return {"outcome": "package", "message": own}
    theirs = _by_nvcc(root, line, flags, include, limit)
    if isinstance(theirs, str):
        return {"outcome": "nvcc", "message": theirs}
    try:
        ours, others = (_kernels(data, line["arch"]) for data in (own, theirs))
    except CompileError as error:
        return {"outcome": "link", "message": f"{error} {error.log}"[:200]}
    return {"outcome": "linked", "kernels": {name: _beside(one, others.get(name)) for name, one in ours.items()}}


def operations(ptx: str) -> Counter[str]:
    """Return how often a kernel does what has nothing to do with the width of an address."""
    return Counter(_OPERATION.findall(ptx))


def _beside(one: _Made, other: _Made | None) -> str:
    if other is None:
        return "absent"
    if one.text == other.text:
        return "equal"
    if one.code == other.code:
        return "addresses"
    return "operations" if one.operations == other.operations else "different"


def _by_nvcc(root: Path, line: dict[str, Any], flags: list[str], include: list[Path], limit: float) -> bytes | str:
    with tempfile.NamedTemporaryFile(suffix=".ltoir") as made:
        given = ["-dc", "-dlto", "-ltoir", *flags, "-o", made.name]
        done = measured(command(root, line, include, given), root, limit)
        if done.status != 0:
            return (done.err or "time")[:200]
        return made.read()


def _kernels(data: bytes, arch: str) -> dict[str, _Made]:
    cubin, ptx = (
        link(LinkInput(data, "ltoir", "m"), arch=SmArch.parse(arch), options=NvrtcOptions(), name="m", to_ptx=to_ptx)
        for to_ptx in (False, True)
    )
    sections = code(cubin.image)
    texts = entries(ptx.image.decode(errors="replace"))
    return {
        name: _Made(*machine(sections.get(f".text.{symbol}")), operations(texts[symbol]))
        for symbol, name in zip(texts, names(texts), strict=True)
    }
