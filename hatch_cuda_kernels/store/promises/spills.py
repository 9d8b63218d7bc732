"""The manifest's limit on spills: local memory that the assembler uses where a kernel runs out of registers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hatch_cuda_kernels.store.promises.model import Gap

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hatch_cuda_kernels.image import Symbol
    from hatch_cuda_kernels.store.index import ImageRecord

__all__ = ["find_spills"]


def find_spills(limit: int, kernels: Sequence[Symbol], images: Sequence[ImageRecord]) -> Iterator[Gap]:
    """Yield a gap for each kernel that a CUBIN spills more bytes of, stores and loads together, than the limit.

    PTX and LTO-IR have no spills before they are assembled.
    """
    names = {symbol.lowered: symbol.name for symbol in kernels}
    for image in images:
        for lowered, used in image.resources.items() if image.kind == "cubin" else ():
            name = repr(names.get(lowered, lowered))
            stores, loads = used.get("spill_stores"), used.get("spill_loads")
            if stores is None or loads is None:
                problem = f"what the kernel {name} spills for {image.arch} is not recorded, the limit is {limit} bytes"
                yield Gap(problem, "build the module with an NVRTC that says it", image.file)
            elif stores + loads > limit:
                spilled = f"spills {stores + loads} bytes a thread for {image.arch} ({stores} stored, {loads} loaded)"
                yield Gap(f"the kernel {name} {spilled}, the limit is {limit}", _advice(stores + loads), image.file)


def _advice(spilled: int) -> str:
    return (
        "give it more registers (options: maxrregcount, or __launch_bounds__ in the source), make it smaller, or write "
        f"max_spill_bytes: {spilled}"
    )
