"""The manifest's promise: every kernel runs on these devices, under this driver, without a JIT."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.arch import SmArch, cuda_release_for_arch, ptx_isa_of_driver
from hatch_cuda_kernels.plugin.promises.model import Gap, version_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hatch_cuda_kernels.arch import ComputeCapability
    from hatch_cuda_kernels.image import ImageRecord, Symbol
    from hatch_cuda_kernels.plugin.promises.model import Supports

__all__ = ["find_gaps"]

#: The oldest toolkit release whose NVRTC takes every option of a build.
_OLDEST_RELEASE: Final = (12, 9)


def find_gaps(supports: Supports, kernels: Sequence[Symbol], images: Sequence[ImageRecord]) -> Iterator[Gap]:
    """Yield a gap for each promised device that a module's images leave out.

    The rules are the run side's: a CUBIN by architecture, PTX also by the ISA the driver knows, LTO-IR never.
    """
    for device in supports.devices:
        fitting = [image for image in images if image.kind != "ltoir" and image.arch.refusal(device) is None]
        usable = [image for image in fitting if image.kind == "cubin" or _isa_refusal(image, supports.driver) is None]
        lacking = [symbol.name for symbol in kernels if all(symbol.lowered in image.lacks for image in usable)]
        if not lacking:
            continue
        refused = [image for image in fitting if image not in usable]
        too_new = [refusal for image in refused if (refusal := _isa_refusal(image, supports.driver))]
        what = f"the kernel {', '.join(map(repr, lacking))} is in no image" if usable else "there is no image"
        why = f" ({'; '.join(too_new)})" if too_new and not usable else ""
        older = _older_release(refused, supports.driver)
        yield Gap(f"{what} for the promised device {device}{why}", f"{_advice(device, images)}{older}")


def _isa_refusal(image: ImageRecord, driver: tuple[int, int] | None) -> str | None:
    known = None if driver is None else ptx_isa_of_driver(driver)
    if image.kind != "ptx" or driver is None or known is None or image.ptx_isa <= known:
        return None
    isa = f"{image.arch} PTX has ISA {version_text(image.ptx_isa)}"
    return f"{isa}, a driver for CUDA {version_text(driver)} knows up to {version_text(known)}"


def _older_release(refused: Sequence[ImageRecord], driver: tuple[int, int] | None) -> str:
    """Return the advice to compile with the driver's own release, where that compiles the PTX and is supported."""
    if driver is None or driver < _OLDEST_RELEASE:
        return ""
    first = [cuda_release_for_arch(image.arch, major=driver[0]) for image in refused]
    known = any(release is not None and release <= driver for release in first)
    return f', or state cuda: "{version_text(driver)}" in the manifest' if known else ""


def _advice(device: ComputeCapability, images: Sequence[ImageRecord]) -> str:
    """Say which architecture to add; a module of suffixed architectures is taken to need the suffix."""
    suffix = min((image.arch.suffix for image in images), default="")
    archs = [SmArch.of_device(device, suffix), SmArch.of_device(device)]
    arch = next(filter(_release_major, archs), None)
    if arch is None:
        return f"take it out of 'supports:': no CUDA release known here compiles {archs[-1]}"
    if any(image.arch == arch for image in images):
        return f"compile it for {arch} too, or take {device} out of 'supports:'"
    release = "" if _release_major(arch) == 13 else ', with cuda: "12.9"'
    return f"add {arch} to the module's 'arches:'{release}"


def _release_major(arch: SmArch) -> int | None:
    """Return the newest CUDA major that compiles an architecture, None when none known does."""
    return next((major for major in (13, 12) if cuda_release_for_arch(arch, major=major)), None)
