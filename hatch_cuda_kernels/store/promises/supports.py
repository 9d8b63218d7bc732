"""The manifest's promise: every kernel runs on these devices, under this driver, without JIT."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.arch import SmArch, cuda_release_for_arch, ptx_isa_of_driver
from hatch_cuda_kernels.problem import Problem
from hatch_cuda_kernels.versions import version_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hatch_cuda_kernels.arch import ComputeCapability
    from hatch_cuda_kernels.image import Symbol
    from hatch_cuda_kernels.store.image_record import ImageRecord
    from hatch_cuda_kernels.store.promises.model import Supports

__all__ = ["find_gaps"]

#: The oldest toolkit release whose NVRTC takes every option of a build.
_OLDEST_RELEASE: Final = (12, 9)


def find_gaps(supports: Supports, kernels: Sequence[Symbol], images: Sequence[ImageRecord]) -> Iterator[Problem]:
    """Yield a problem for each promised device that a module's images do not serve.

    The rules are those of the run side: a CUBIN counts by its architecture, PTX also by the ISA the driver knows, and
    LTO-IR never. A CUBIN of a newer CUDA major than the driver's may load, but CUDA only promises that within a major.
    """
    for device in supports.devices:
        fitting = [image for image in images if image.kind != "ltoir" and image.arch.refusal(device) is None]
        usable = [image for image in fitting if not _refusal(image, supports.driver)]
        lacking = [symbol.name for symbol in kernels if all(symbol.lowered in image.lacks for image in usable)]
        if not lacking:
            continue
        refused = [image for image in fitting if image not in usable]
        too_new = [_refusal(image, supports.driver) for image in refused]
        what = f"the kernel {', '.join(map(repr, lacking))} is in no image" if usable else "there is no image"
        why = f" ({'; '.join(too_new)})" if too_new and not usable else ""
        advice = _advice(device, images)
        if supports.driver is not None and any(_cuda_major(image) > supports.driver[0] for image in images):
            advice = _older_major(device, supports.driver, "" if fitting else f"{advice}, and ")
        else:
            advice += _older_release(refused, supports.driver)
        yield Problem(f"{what} for the promised device {device}{why}", advice, supports.where.get(device, ""))


def _refusal(image: ImageRecord, driver: tuple[int, int] | None) -> str:
    """Return why a driver may fail to load an image; empty if it is sure to load it."""
    if driver is None:
        return ""
    if image.kind == "cubin":
        wrote = _cuda_major(image)
        newer = wrote > driver[0]
        return f"the {image.arch} CUBIN is of CUDA {wrote} and needs a driver for CUDA {wrote}" if newer else ""
    known = ptx_isa_of_driver(driver)
    if known is None or image.ptx_isa <= known:
        return ""
    isa = f"{image.arch} PTX has ISA {version_text(image.ptx_isa)}"
    return f"{isa}, a driver for CUDA {version_text(driver)} knows up to {version_text(known)}"


def _cuda_major(image: ImageRecord) -> int:
    """Return the CUDA major that wrote an image: PTX ISA 8 is CUDA 12's, 9 is CUDA 13's."""
    return image.ptx_isa[0] + 4


def _older_release(refused: Sequence[ImageRecord], driver: tuple[int, int] | None) -> str:
    """Return the advice to compile with the driver's own release, if that is supported and compiles the PTX."""
    if driver is None or driver < _OLDEST_RELEASE:
        return ""
    first = [cuda_release_for_arch(image.arch, major=driver[0]) for image in refused]
    known = any(release is not None and release <= driver for release in first)
    return f', or state cuda: "{version_text(driver)}" in the manifest' if known else ""


def _older_major(device: ComputeCapability, driver: tuple[int, int], besides: str) -> str:
    """Say how to compile with the major of an older driver: an architecture alone does not help."""
    release = max(driver, _OLDEST_RELEASE)
    first = cuda_release_for_arch(SmArch.of_device(device), major=driver[0])
    if driver[0] != _OLDEST_RELEASE[0] or first is None or first > release:
        return f"promise a newer driver, or take {device} out of 'supports:'"
    return f'{besides}state cuda: "{version_text(release)}" in the manifest'


def _advice(device: ComputeCapability, images: Sequence[ImageRecord]) -> str:
    """Say which architecture to add, with a suffix if all of the module's architectures have one."""
    suffix = min((image.arch.suffix for image in images), default="")
    archs = [SmArch.of_device(device, suffix), SmArch.of_device(device)]
    arch = next(filter(_release_major, archs), None)
    if arch is None:
        return f"take it out of 'supports:': no known CUDA release compiles {archs[-1]}"
    if any(image.arch == arch for image in images):
        return f"compile it for {arch} too, or take {device} out of 'supports:'"
    release = "" if _release_major(arch) == 13 else ', with cuda: "12.9"'
    return f"add {arch} to the module's 'arches:'{release}"


def _release_major(arch: SmArch) -> int | None:
    """Return the newest CUDA major that compiles an architecture; None if no known one does."""
    return next((major for major in (13, 12) if cuda_release_for_arch(arch, major=major)), None)
