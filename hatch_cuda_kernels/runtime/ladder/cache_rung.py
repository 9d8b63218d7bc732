"""Rung 3: what the disk cache recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hatch_cuda_kernels.cache import open_cache
from hatch_cuda_kernels.errors import InputError, StoreError, ToolchainError, reason_of
from hatch_cuda_kernels.image import Candidate, Image

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hatch_cuda_kernels.cache import Entry
    from hatch_cuda_kernels.image import Origin
    from hatch_cuda_kernels.runtime.ladder.request import Request


def cached_candidates(request: Request) -> Iterator[Candidate]:
    """Yield the recorded compile of the source for this device, or why none is recorded."""
    try:
        recalled = request.source.recalled_key(request.arch, request.instance)
        found = None if recalled is None else recorded_candidate(request, recalled)
        candidate = found or _search(request)
    except (InputError, StoreError, ToolchainError) as error:
        candidate = _refused(request, f"cannot be looked up: {reason_of(error)}")
    yield candidate


def recorded_candidate(request: Request, *keys: str) -> Candidate | None:
    """Return the candidate recorded under the first of these keys that has an entry, or None."""
    entry = next((entry for key in keys if (entry := open_cache().get(key)) is not None), None)
    if entry is None:
        return None
    image = image_of(entry, "cached")
    refusal = request.refused(image.sha256)
    reason = f"compiled on {entry.created} in {entry.seconds:.2f} s"
    return Candidate("cached", entry.arch, "cubin", refusal is None, refusal or reason, lambda: image)


def image_of(entry: Entry, origin: Origin) -> Image:
    """Return the loadable image of a cache entry."""
    return Image(
        module=entry.module,
        origin=origin,
        arch=entry.arch,
        kind=entry.kind,
        data=entry.image,
        sha256=entry.sha256,
        path=open_cache().path_of(entry),
        kernels=entry.kernels,
    )


def _search(request: Request) -> Candidate:
    """Return what a toolchain known here has compiled, or the reason that there is nothing."""
    from hatch_cuda_kernels.compiler.toolchain import known_toolchains  # where no key is remembered

    toolchains = known_toolchains()
    keys = [request.source.key(request.arch, request.instance, toolchain) for toolchain in toolchains]
    found = recorded_candidate(request, *keys)
    if found is not None:
        request.source.remember_key()
        return found
    versions = dict.fromkeys(toolchain.nvrtc for toolchain in toolchains)
    return _refused(request, f"nothing recorded for NVRTC {' or '.join(versions)}")


def _refused(request: Request, reason: str) -> Candidate:
    return Candidate("cached", request.arch, "cubin", accepted=False, reason=reason)
