"""Checks of the images themselves: each is for the architecture, and holds the kernels, that the index says."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.compiler.output.cubin import Cubin
from hatch_cuda_kernels.compiler.output.ptx import Ptx
from hatch_cuda_kernels.names import listed_module
from hatch_cuda_kernels.verify.model import Outcome
from hatch_cuda_kernels.versions import version_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hatch_cuda_kernels.problem import Problem
    from hatch_cuda_kernels.verify.subject import StoredImage, Subject

__all__ = ["check_architectures", "check_kernels"]

_STRUCT: Final = re.compile(r"b8\[(\d+)\]:\d+")
_SCALAR: Final = re.compile(r"[a-z]+(\d+)")
_LTO_IR: Final = bytes.fromhex("ed434e7f")


def check_architectures(subject: Subject) -> Outcome:
    """Check that every CUBIN is ELF for CUDA and its SM, and that every PTX has its target and its ISA."""
    problems = [image.problem(message) for image in subject.images for message in _arch_differences(image)]
    return Outcome.of(len(subject.images), "images", problems)


def _arch_differences(image: StoredImage) -> Iterator[str]:
    record = image.record
    try:
        contents = image.contents
    except ValueError as error:
        yield str(error)
        return
    match contents:
        case Cubin(sm=sm) if sm != record.arch.number:
            yield f"the CUBIN is for sm_{sm}, but the index says {record.arch}"
        case Cubin(arch=arch) if arch not in {None, str(record.arch)}:
            yield f"the CUBIN is for {arch}, but the index says {record.arch}"
        case Ptx(target=target) if target != str(record.arch.real):
            yield f"the PTX has .target {target}, but the index says {record.arch}"
        case Ptx(isa=isa) if isa != record.ptx_isa:
            yield f"the PTX has .version {version_text(isa)}, but the index says {version_text(record.ptx_isa)}"
        case None if image.data is not None and not image.data.startswith(_LTO_IR):
            yield "not LTO-IR"


def check_kernels(subject: Subject) -> Outcome:
    """Check that every listed kernel and variable is in every image that should have it, with the same parameters."""
    problems = [problem for image in subject.images for problem in _kernel_problems(subject, image)]
    return Outcome.of(sum(not line.key.startswith("&") for line in subject.lines), "kernels", problems)


def _kernel_problems(subject: Subject, image: StoredImage) -> Iterator[Problem]:
    contents = image.readable
    if contents is None:
        return
    found, lines, own = _entry_points(contents), subject.module_lines(image.index.module), image.record.lowered
    kernels = {own.get(line.key, line.lowered): line for line in lines if not line.key.startswith("&")}
    for lowered, line in kernels.items():
        if lowered not in found and line.lowered not in image.record.lacks:
            fix = f"find out what removed it from the {image.record.arch} image, then build the wheel again"
            yield image.problem(f"the kernel {line.name!r} ({lowered}) is not in the image", fix)
        elif lowered in found and line.lowered in image.record.lacks:
            yield image.problem(f"the index says that the kernel {line.name!r} is not in the image, but it is")
        elif lowered in found and not _same(line.params, found[lowered]):
            declared = ", ".join(map(str, found[lowered]))
            listed = ", ".join(line.params)
            yield image.problem(f"the kernel {line.name!r} takes ({declared}), but kernels.tsv says ({listed})")
    unlisted = (name for name in found if name not in kernels and not _is_another_chunks(name, subject, image))
    yield from (image.problem(f"the kernel {name} is not in kernels.tsv") for name in unlisted)
    for line in lines:
        lowered = own.get(line.key, line.lowered)
        if line.key.startswith("&") and lowered not in contents.variables:
            yield image.problem(f"the variable {line.name!r} ({lowered}) is not in the image")
    if isinstance(contents, Cubin):
        yield from _resource_problems(image, contents, {lowered: line.lowered for lowered, line in kernels.items()})


def _is_another_chunks(lowered: str, subject: Subject, image: StoredImage) -> bool:
    """Return whether the first chunk lists a kernel: kernels that are not instances are in every chunk, listed once."""
    first = listed_module(image.index.module)
    return first != image.index.module and any(line.lowered == lowered for line in subject.module_lines(first))


def _resource_problems(image: StoredImage, cubin: Cubin, listed: dict[str, str]) -> Iterator[Problem]:
    if image.record.resources != {listed.get(name, name): used for name, used in cubin.resources.items()}:
        yield image.problem("the index lists other registers or kernels under 'resources' than the CUBIN has")


def _entry_points(contents: Cubin | Ptx) -> dict[str, Sequence[str | int]]:
    """Return each kernel's parameters by lowered name: types for PTX, sizes in bytes for a CUBIN."""
    if isinstance(contents, Ptx):
        return dict(contents.entries)
    return {name: [size for _, size in kernel.params] for name, kernel in contents.kernels.items()}


def _same(listed: Sequence[str], found: Sequence[str | int]) -> bool:
    """Return whether two lists of parameters agree; only some architectures' PTX tells pointers from integers."""
    if any(isinstance(param, int) for param in found):
        return [_size(param) for param in listed] == list(found)
    return [_plain(param) for param in listed] == [_plain(str(param)) for param in found]


def _plain(param: str) -> str:
    return "u64" if param == "ptr" else param


def _size(param: str) -> int:
    """Return the size of a parameter type in bytes, -1 if it is not a parameter type."""
    struct, scalar = _STRUCT.fullmatch(param), _SCALAR.fullmatch(_plain(param))
    if struct is not None:
        return int(struct[1])
    return int(scalar[1]) // 8 if scalar is not None else -1
