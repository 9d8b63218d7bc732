"""Climb the ladder and load: an image counts as loaded only when its kernel handle was obtained.

``cuLibraryLoadData`` succeeds for images that cannot run, because loading is lazy; ``cuLibraryGetKernel`` then says 209
or 222 (seen on driver 580.159).
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, TypeVar

from hatch_cuda_kernels.digest import sha256
from hatch_cuda_kernels.driver import check, cuda
from hatch_cuda_kernels.errors import (
    CompileError,
    DriverError,
    ImageRefusedError,
    InputError,
    StoreError,
    ToolchainError,
)
from hatch_cuda_kernels.image import Image
from hatch_cuda_kernels.runtime.context import current_context_id, current_device
from hatch_cuda_kernels.runtime.resolve import ladder

if TYPE_CHECKING:
    from collections.abc import Callable

    from hatch_cuda_kernels.image import Symbol
    from hatch_cuda_kernels.runtime.kernel import Kernel
    from hatch_cuda_kernels.runtime.resolve import Candidate, Request
    from hatch_cuda_kernels.standalone import CompiledSource

__all__ = ["LOADER", "LoadedKernel", "Loader", "climb", "load_compiled", "try_candidate"]

_NOT_IN_IMAGE: Final = 500
#: INVALID_IMAGE, NO_BINARY_FOR_GPU, NOT_FOUND: another image of the same kind may do.
_NEXT_IMAGE: Final = frozenset({200, 209, _NOT_IN_IMAGE})
#: INVALID_PTX, JIT_COMPILER_NOT_FOUND, UNSUPPORTED_PTX_VERSION, JIT_COMPILATION_DISABLED: no PTX will do.
_NEXT_RUNG: Final = frozenset({218, 221, 222, 223})

T = TypeVar("T")


class LoadedKernel(NamedTuple):
    """A kernel the driver accepted: handles of the kernel and of the library it is in."""

    image: Image
    lowered: str
    library: Any
    handle: Any


class Attempt(NamedTuple, Generic[T]):
    """What came of one candidate: as it stands now, what was loaded, and whether the rest of its rung is in vain."""

    candidate: Candidate
    loaded: T | None = None
    leave_rung: bool = False


def climb(request: Request, load: Callable[[Image], T], considered: list[Candidate]) -> T | None:
    """Return the first image that ``load`` takes, or None; every candidate met is appended to ``considered``.

    ``load`` raises ImageRefusedError to send the climb on. A compile that fails sends it on too; where nothing else
    serves, its CompileError is raised.
    """
    failures: list[CompileError] = []
    for rung in ladder(request.policy, tier_up=request.tier_up):
        for candidate in rung(request):
            attempt = try_candidate(candidate, load, failures)
            considered.append(attempt.candidate)
            if attempt.loaded is not None:
                return attempt.loaded
            if attempt.leave_rung:
                break
    if failures:
        raise failures[0]
    return None


def try_candidate(candidate: Candidate, load: Callable[[Image], T], failures: list[CompileError]) -> Attempt[T]:
    """Read or compile an accepted candidate and load it; what keeps it from that becomes its reason."""
    if not candidate.accepted or candidate.get is None:
        return Attempt(candidate)
    try:
        return Attempt(candidate, load(candidate.get()))
    except ToolchainError as error:
        return Attempt(candidate.refuse(error.message))
    except (InputError, StoreError) as error:
        return Attempt(candidate.refuse(str(error)))
    except CompileError as error:
        failures.append(error)
        return Attempt(candidate.refuse(error.message))
    except ImageRefusedError as refusal:
        return Attempt(candidate.refuse(str(refusal)), leave_rung=refusal.whole_rung)


class Loader:
    """The libraries of this process and what its driver refused. Thread-safe; handles serve every context."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._libraries: dict[tuple[str, str], Any] = {}
        self._refused: dict[tuple[str, tuple[int, int]], str] = {}

    def refusal(self, sha256: str, capability: tuple[int, int]) -> str | None:
        """Return why the driver refused an image on such a device earlier, or None."""
        return self._refused.get((sha256, capability))

    def load(self, image: Image, lowered: str, capability: tuple[int, int], scope: str) -> LoadedKernel:
        """Return the kernel of that lowered name for the current context.

        ``scope`` names whose image it is: equal images of two modules are two libraries, as each has its variables.

        Raises ImageRefusedError when the driver cannot use the image, DriverError for any other failure.
        """
        with self._lock:
            try:
                library = self._library(image, scope)
                handle = check("cuLibraryGetKernel", cuda().cuLibraryGetKernel(library, lowered.encode()))
            except DriverError as error:
                raise self._refuse(error, image, lowered, capability) from error
            return LoadedKernel(image, lowered, library, handle)

    def _library(self, image: Image, scope: str) -> Any:  # an opaque handle
        library = self._libraries.get((scope, image.sha256))
        if library is None:
            call = cuda().cuLibraryLoadData(image.data, [], [], 0, [], [], 0)
            library = self._libraries[scope, image.sha256] = check("cuLibraryLoadData", call)
        return library

    def _refuse(self, error: DriverError, image: Image, lowered: str, capability: tuple[int, int]) -> Exception:
        if error.code not in _NEXT_IMAGE | _NEXT_RUNG:
            return error
        reason = f"refused by the driver: {error.name} ({error.code})"
        if error.code == _NOT_IN_IMAGE:
            reason = f"the kernel is not in this image ({lowered})"
        else:
            self._refused[image.sha256, capability] = reason
        return ImageRefusedError(reason, whole_rung=error.code in _NEXT_RUNG)


def load_compiled(compiled: CompiledSource, symbol: Symbol) -> Kernel:
    """Return a kernel of a stand-alone compile for the current context. Raises ImageRefusedError, DriverError."""
    from hatch_cuda_kernels.runtime.kernel import Kernel  # of no use to the ladder

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


#: The libraries of this process: one image is loaded once, whoever asks for it.
LOADER: Final = Loader()
