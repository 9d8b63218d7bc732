"""The manifest's limit on spills: local memory that the assembler uses when a kernel runs out of registers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hatch_cuda_kernels.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hatch_cuda_kernels.image import Symbol
    from hatch_cuda_kernels.store.image_record import ImageRecord

__all__ = ["find_spills"]


def find_spills(limit: int, kernels: Sequence[Symbol], images: Sequence[ImageRecord]) -> Iterator[Problem]:
    """Yield a problem for each kernel whose spill stores and loads together exceed the limit in a CUBIN.

    PTX and LTO-IR have no spills before they are assembled.
    """
    names = {symbol.lowered: symbol.name for symbol in kernels}
    for image in images:
        for lowered, used in image.resources.items() if image.kind == "cubin" else ():
            name = repr(names.get(lowered, lowered))
            stores, loads = used.get("spill_stores"), used.get("spill_loads")
            if stores is None or loads is None:
                message = (
                    f"the spills of the kernel {name} for {image.arch} are not recorded; the limit is {limit} bytes"
                )
                yield Problem(message, "build the module with an NVRTC that reports spills", image.file)
            elif stores + loads > limit:
                spilled = f"spills {stores + loads} bytes per thread for {image.arch} ({stores} stored, {loads} loaded)"
                yield Problem(f"the kernel {name} {spilled}, the limit is {limit}", _fix(stores + loads), image.file)


def _fix(spilled: int) -> str:
    return (
        "give it more registers (options: maxrregcount, or __launch_bounds__ in the source), make it smaller, or write "
        f"max_spill_bytes: {spilled}"
    )
