"""The driver's libraries in this process: the images that it loaded, and those that it refused.

An image counts as loaded only when its kernel handle was obtained: ``cuLibraryLoadData`` succeeds for images that
cannot run, because loading is lazy; ``cuLibraryGetKernel`` then says 209 or 222 (seen on driver 580.159).
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakValueDictionary, finalize

from hatch_cuda_kernels.driver import check, cuda, outside_captures
from hatch_cuda_kernels.errors import DriverError, ImageRefusedError

if TYPE_CHECKING:
    from hatch_cuda_kernels.image import Image

__all__ = ["LIBRARIES", "LoadedLibrary"]

_NOT_IN_IMAGE: Final = 500
#: INVALID_IMAGE, NO_BINARY_FOR_GPU, NOT_FOUND: another image of the same kind may work.
_NEXT_IMAGE: Final = frozenset({200, 209, _NOT_IN_IMAGE})
#: INVALID_PTX, JIT_COMPILER_NOT_FOUND, UNSUPPORTED_PTX_VERSION, JIT_COMPILATION_DISABLED: no PTX will work.
_NEXT_RUNG: Final = frozenset({218, 221, 222, 223})
#: Refusals remembered; a process that keeps compiling what its driver refuses starts over.
_MOST_REFUSED: Final = 1024


class LoadedLibrary:
    """An image that the driver holds, for all contexts, as long as a kernel of it is held here."""

    __slots__ = ("__weakref__", "handle")

    def __init__(self, handle: Any) -> None:
        self.handle = handle


class Libraries:
    """Images as libraries of the driver, each loaded once. Thread-safe.

    One that is no longer used is unloaded when the next one is loaded, and not when Python finds it unused: that may be
    within any other call of the driver.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._libraries: WeakValueDictionary[tuple[str, str], LoadedLibrary] = WeakValueDictionary()
        self._unused: list[Any] = []
        self._refused: dict[tuple[tuple[int, int], str], str] = {}

    def refusal(self, capability: tuple[int, int], sha256: str) -> str | None:
        """Return why the driver refused an image (by digest) on such a device earlier, or None."""
        return self._refused.get((capability, sha256))

    def load(
        self, image: Image, lowered: str, capability: tuple[int, int], scope: str
    ) -> tuple[LoadedLibrary, Any, Any]:
        """Return an image's library, its kernel with that lowered name, and the kernel's function in this context.

        ``scope`` says whose image it is: equal images of two modules are two libraries, each with its own variables.
        Raises ImageRefusedError when the driver cannot use the image, DriverError for any other failure.
        """
        with self._lock, outside_captures():
            try:
                library = self._library(image, scope)
                call = cuda().cuLibraryGetKernel(library.handle, lowered.encode())
                kernel = check("cuLibraryGetKernel", call)
                # The bindings would make it of the kernel at each launch; and a kernel goes to any context of a stream.
                return library, kernel, check("cuKernelGetFunction", cuda().cuKernelGetFunction(kernel))
            except DriverError as error:
                raise self._refuse(error, image, lowered, capability) from error

    def _library(self, image: Image, scope: str) -> LoadedLibrary:
        library = self._libraries.get((scope, image.sha256))
        if library is None:
            self._unload_unused()
            call = cuda().cuLibraryLoadData(image.data, [], [], 0, [], [], 0)
            library = LoadedLibrary(check("cuLibraryLoadData", call))
            self._libraries[scope, image.sha256] = library
            finalize(library, self._unused.append, library.handle).atexit = False
        return library

    def _unload_unused(self) -> None:
        while self._unused:
            cuda().cuLibraryUnload(self._unused.pop())

    def _refuse(self, error: DriverError, image: Image, lowered: str, capability: tuple[int, int]) -> Exception:
        if error.code not in _NEXT_IMAGE | _NEXT_RUNG:
            return error
        reason = f"refused by the driver: {error.name} ({error.code})"
        if error.code == _NOT_IN_IMAGE:
            reason = f"the kernel is not in this image ({lowered})"
        else:
            if len(self._refused) >= _MOST_REFUSED:
                self._refused.clear()
            self._refused[capability, image.sha256] = reason
        return ImageRefusedError(reason, whole_rung=error.code in _NEXT_RUNG)


#: The libraries of this process.
LIBRARIES: Final = Libraries()
