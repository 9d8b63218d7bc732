"""Checks of the images themselves: each is for the architecture that the index says, and can be loaded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.compiler.output.cubin import Cubin
from hatch_cuda_kernels.compiler.output.ptx import Ptx
from hatch_cuda_kernels.verify.model import Outcome
from hatch_cuda_kernels.versions import version_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hatch_cuda_kernels.verify.subject import StoredImage, Subject

__all__ = ["check_architectures"]

_LTO_IR: Final = bytes.fromhex("ed434e7f")


def check_architectures(subject: Subject) -> Outcome:
    """Check that every CUBIN is ELF for CUDA and its SM, and that every PTX has its target and its ISA."""
    problems = [image.problem(message) for image in subject.images for message in _arch_differences(image)]
    return Outcome.of(len(subject.images), "images", problems)


def _arch_differences(image: StoredImage) -> Iterator[str]:
    record, tools = image.record, _writers(image)
    try:
        contents = image.contents
    except ValueError as error:
        yield str(error)
        return
    match contents:
        case Cubin(relocatable=True):
            yield "the CUBIN has not been linked: no driver loads it"
        case Cubin(sm=sm) if sm != record.arch.number:
            yield f"the CUBIN is for sm_{sm}, but the index says {record.arch}"
        case Cubin(arch=arch) if arch not in {None, str(record.arch)}:
            yield f"the CUBIN is for {arch}, but the index says {record.arch}"
        case Ptx(target=target) if target != str(record.arch.real):
            yield f"the PTX has .target {target}, but the index says {record.arch}"
        case Ptx(isa=isa) if isa != record.ptx_isa:
            yield f"the PTX has .version {version_text(isa)}, but the index says {version_text(record.ptx_isa)}"
        case Cubin(tool=tool) | Ptx(tool=tool) if tool and tool not in tools:
            yield f"written by CUDA {tool}, which the index does not have in its toolchain"
        case None if image.data is not None and not image.data.startswith(_LTO_IR):
            yield "not LTO-IR"


def _writers(image: StoredImage) -> set[str]:
    """Return the versions of the tools that may have written an image, by its module's toolchain."""
    toolchain, is_cubin = image.index.toolchain, image.record.kind == "cubin"
    names = {"ptxas"} if is_cubin and "ptxas" in toolchain else {"nvrtc", "nvjitlink"}
    return {toolchain[name].partition("+")[0] for name in names & toolchain.keys()}
