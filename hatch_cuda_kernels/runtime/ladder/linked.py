"""Rung 4: prebuilt PTX or LTO-IR finished to a CUBIN by nvJitLink, so that no driver is too old for it."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING

from hatch_cuda_kernels.arch import isa_refusal
from hatch_cuda_kernels.cache import Entry, open_cache
from hatch_cuda_kernels.compiler.key import link_key
from hatch_cuda_kernels.errors import ToolchainError
from hatch_cuda_kernels.image import Candidate
from hatch_cuda_kernels.runtime.ladder.recorded import image_of, recorded
from hatch_cuda_kernels.versions import version_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hatch_cuda_kernels.arch import SmArch
    from hatch_cuda_kernels.image import Image
    from hatch_cuda_kernels.runtime.ladder.request import Request
    from hatch_cuda_kernels.store.index import ImageRecord

__all__ = ["linked_candidates"]


def linked_candidates(request: Request) -> Iterator[Candidate]:
    """Yield the CUBIN that nvJitLink made, or would make, of each prebuilt PTX or LTO-IR that suits the device."""
    for record, arch in _inputs(request):
        known = recorded(request, _key(request, record, arch))
        if known is not None:
            yield known
            continue
        refusal = _refusal(request, record)
        reason = f"{record.arch} {record.kind} finished by nvJitLink"
        get = partial(_link, request, record, arch)
        yield Candidate("jitted", arch, "cubin", refusal is None, refusal or reason, get)


def _inputs(request: Request) -> Iterator[tuple[ImageRecord, SmArch]]:
    """Yield each image that nvJitLink could start from, LTO-IR first, and the architecture of the result."""
    if not request.listed or request.source.stale:
        return
    records = [record for record in request.module.images if record.kind != "cubin"]
    for record in sorted(records, key=lambda record: (record.kind, record.arch.preference(request.capability))):
        if record.arch.refusal(request.capability) is None and request.kernel.lowered not in record.lacks:
            # A suffix freezes the code to its device or family, so the result keeps it.
            exact = record.arch.capability == request.capability
            yield record, record.arch.real if exact else request.arch.plain


def _refusal(request: Request, record: ImageRecord) -> str | None:
    if request.compile_refusal is not None:
        return request.compile_refusal
    unknown = record.kind != "ptx" or isa_refusal(record.ptx_isa, request.driver, "the driver") is not None
    if not unknown and request.refused(record.sha256) is None:
        return "the driver assembles this PTX itself"
    from hatch_cuda_kernels.compiler.toolchain.libraries import nvjitlink_version  # a large library

    try:
        version = nvjitlink_version()
    except ToolchainError as error:
        return error.message
    return isa_refusal(record.ptx_isa, version, f"nvJitLink {version_text(version)}")


def _link(request: Request, record: ImageRecord, arch: SmArch) -> Image:
    """Finish an image and record it, unless another process is doing so. Raises CompileError."""
    key = _key(request, record, arch)
    entry, made = open_cache().get_or_make(key, lambda: _link_now(request, record, arch, key))
    return image_of(entry, "jitted" if made else "cached")


def _link_now(request: Request, record: ImageRecord, arch: SmArch, key: str) -> Entry:
    from hatch_cuda_kernels.compiler.nvjitlink import link  # a large library
    from hatch_cuda_kernels.compiler.toolchain.libraries import nvjitlink_version
    from hatch_cuda_kernels.runtime.ladder.notices import compiling

    options = request.source.recipe().options
    start = time.perf_counter()
    with compiling(request, arch, "nvJitLink"):
        done = link(request.read(record).data, record.kind, arch=arch, options=options, name=request.module.module)
    return Entry(
        key=key,
        module=request.module.module,
        kind="cubin",
        arch=arch,
        image=done.image,
        kernels=(),
        globals=(),
        resources={},
        ptx_isa=record.ptx_isa,
        toolchain={"nvjitlink": version_text(nvjitlink_version()), "headers": ""},
        log="",
        created=Entry.now(),
        seconds=time.perf_counter() - start,
        wanted=request.kernel.name,
    )


def _key(request: Request, record: ImageRecord, arch: SmArch) -> str:
    """Return the key of a finished image. It covers input and target; nvJitLink's version is only recorded."""
    return link_key(image_sha256=record.sha256, arch=arch, options=request.module.options)
