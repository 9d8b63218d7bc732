"""From a request to a loaded kernel: climb the ladder with the driver's word."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, TypeVar

from hatch_cuda_kernels.digest import sha256
from hatch_cuda_kernels.errors import NoImageError
from hatch_cuda_kernels.image import Image
from hatch_cuda_kernels.runtime.context import current_context_id, current_device
from hatch_cuda_kernels.runtime.ladder.climb import climb
from hatch_cuda_kernels.runtime.ladder.request import symbol_of
from hatch_cuda_kernels.runtime.launch.kernel import Kernel
from hatch_cuda_kernels.runtime.libraries import LOADER

if TYPE_CHECKING:
    from collections.abc import Callable

    from hatch_cuda_kernels.image import Candidate, Symbol
    from hatch_cuda_kernels.runtime.ladder.rungs import Request
    from hatch_cuda_kernels.runtime.libraries import LoadedKernel
    from hatch_cuda_kernels.standalone import CompiledSource

__all__ = ["climb_or_raise", "load_compiled", "load_image", "load_kernel"]

T = TypeVar("T")


def load_kernel(request: Request, context_id: int) -> Kernel:
    """Return the request's kernel, loaded for the current context. Raises NoImageError, CompileError or DriverError."""
    loaded = climb_or_raise(request, partial(load_image, request))
    image = loaded.image
    if request.tier_up and image.origin == "prebuilt" and not _is_exact(request, image):
        from hatch_cuda_kernels.runtime.ahead import tier_up  # off the usual path

        tier_up(request)
    params = symbol_of(request, image)[1]
    return Kernel(request.kernel.name, params, loaded, context_id=context_id, ordinal=current_device().ordinal)


def climb_or_raise(request: Request, load: Callable[[Image], T]) -> T:
    """Return what ``load`` makes of the first image it takes. Raises NoImageError with every candidate's reason."""
    considered: list[Candidate] = []
    loaded = climb(request, load, considered)
    if loaded is None:
        from hatch_cuda_kernels.runtime.ladder.fixes import suggest_fixes  # only for the error

        arch = f"sm_{request.capability.major}{request.capability.minor}"
        raise NoImageError(request.kernel.name, arch, considered, suggest_fixes(request, considered))
    return loaded


def load_image(request: Request, image: Image) -> LoadedKernel:
    """Load an image's kernel. Raises ImageRefusedError where the driver refuses the image, else DriverError."""
    return LOADER.load(image, symbol_of(request, image)[0], request.capability, request.source.scope)


def _is_exact(request: Request, image: Image) -> bool:
    return image.kind == "cubin" and image.arch.capability == request.capability


def load_compiled(compiled: CompiledSource, symbol: Symbol) -> Kernel:
    """Return a kernel of a stand-alone compile for the current context. Raises ImageRefusedError, DriverError."""
    context_id, device = current_context_id(), current_device()
    image = Image(
        module="source",
        origin="cached" if compiled.cached else "jitted",
        arch=compiled.arch,
        kind=compiled.kind,
        data=compiled.image,
        sha256=sha256(compiled.image).hexdigest(),
    )
    loaded = LOADER.load(image, symbol.lowered, device.capability, "stand-alone")
    return Kernel(symbol.name, symbol.params, loaded, context_id=context_id, ordinal=device.ordinal)
