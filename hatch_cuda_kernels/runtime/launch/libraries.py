"""The driver's libraries in this process: the images that it loaded, their kernels in a context, and those it refused.

An image counts as loaded once the driver has returned the kernel's handle. Loading is lazy, so ``cuLibraryLoadData``
succeeds for images that cannot run; ``cuLibraryGetKernel`` then returns 209 or 222 (seen with driver 580.159).
"""

from __future__ import annotations

import threading
from _weakref import ref  # the rest of weakref takes half a millisecond to import
from typing import TYPE_CHECKING, Any, Final

from hatch_cuda_kernels.driver import (
    REFUSED,
    allow_during_capture,
    call,
    cuda,
    current_context_id,
    current_device,
    device_attribute,
    remember,
)
from hatch_cuda_kernels.errors import DriverError, ImageRefusedError, LaunchError
from hatch_cuda_kernels.records import NamedTuple

if TYPE_CHECKING:
    from hatch_cuda_kernels.image import Image, Symbol
    from hatch_cuda_kernels.runtime.launch.shapes import Shape

_NOT_IN_IMAGE: Final = 500
#: INVALID_IMAGE, NO_BINARY_FOR_GPU, NOT_FOUND: another image of the same kind may work.
_NEXT_IMAGE: Final = frozenset({200, 209, _NOT_IN_IMAGE})
#: INVALID_PTX, JIT_COMPILER_NOT_FOUND, UNSUPPORTED_PTX_VERSION, JIT_COMPILATION_DISABLED: no PTX will work.
_NEXT_RUNG: Final = frozenset({218, 221, 222, 223})


class LoadedLibrary:
    """An image that the driver holds, for all contexts, as long as a kernel of it is held here."""

    __slots__ = ("__weakref__", "handle")

    def __init__(self, handle: Any) -> None:
        self.handle = handle


class Libraries:
    """Images as libraries of the driver, each loaded once. Thread-safe.

    An unused library is unloaded when the next one is loaded, because Python may find it unused within any other call
    of the driver.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._libraries: dict[tuple[str, str], ref[LoadedLibrary]] = {}
        self._unused: list[tuple[tuple[str, str], Any]] = []

    def load(
        self, image: Image, lowered: str, capability: tuple[int, int], scope: str
    ) -> tuple[LoadedLibrary, Any, Any]:
        """Return an image's library, its kernel with that lowered name, and the kernel's function in this context.

        ``scope`` says whose image it is: equal images of two modules are two libraries, each with its own variables.
        Raises ImageRefusedError when the driver cannot use the image, DriverError for any other failure.
        """
        with self._lock, allow_during_capture():
            try:
                library = self._library(image, scope)
                kernel = call("cuLibraryGetKernel", library.handle, lowered.encode())
                # The bindings would make it of the kernel at each launch; and a kernel goes to any context of a stream.
                return library, kernel, call("cuKernelGetFunction", kernel)
            except DriverError as error:
                if error.code not in _NEXT_IMAGE | _NEXT_RUNG:
                    raise
                reason = f"refused by the driver: {error.name} ({error.code})"
                if error.code == _NOT_IN_IMAGE:
                    reason = f"the kernel is not in this image ({lowered})"
                else:
                    remember(REFUSED, (capability, image.sha256), reason)
                raise ImageRefusedError(reason, whole_rung=error.code in _NEXT_RUNG) from error

    def _library(self, image: Image, scope: str) -> LoadedLibrary:
        key, unused = (scope, image.sha256), self._unused
        known = self._libraries.get(key)
        library = None if known is None else known()
        if library is None:
            while unused:
                old, handle = unused.pop()
                cuda().cuLibraryUnload(handle)
                if self._libraries[old]() is None:
                    del self._libraries[old]
            handle = call("cuLibraryLoadData", image.data, [], [], 0, [], [], 0)
            library = LoadedLibrary(handle)
            self._libraries[key] = ref(library, lambda _: unused.append((key, handle)))
        return library


#: The libraries of this process.
LIBRARIES: Final = Libraries()


#: Bytes of shared memory without opting in (CUDA C++ Programming Guide, "Shared memory" of each architecture).
_FREE_SHARED: Final = 48 << 10
#: Blocks of a cluster that every device with clusters takes.
_PORTABLE_CLUSTER: Final = 8
#: One thread at a time reads and raises a kernel's limits: all contexts and stores share them.
_ALLOWING: Final = threading.Lock()


class Loaded(NamedTuple):
    """One kernel, loaded for one context."""

    image: Image
    symbol: Symbol
    library: LoadedLibrary
    handle: Any
    """CUkernel."""
    function: Any
    """The same as CUfunction of the context, which is what launches take."""
    context_id: int
    ordinal: int

    def attribute(self, name: str) -> int:
        """Return an attribute of the kernel on its device, such as NUM_REGS."""
        return int(call("cuKernelGetAttribute", _attribute(name), self.handle, cuda().CUdevice(self.ordinal)))

    def device_attribute(self, name: str) -> int:
        """Return an attribute of the kernel's device, such as MULTIPROCESSOR_COUNT."""
        return device_attribute(name, self.ordinal)

    def allow(self, shape: Shape) -> None:
        """Opt in to what a shape needs: much shared memory, clusters that not every device takes.

        A limit is never lowered, because another launch may need it. Raises LaunchError if the driver refuses.
        """
        if shape.shared_mem:
            with _ALLOWING:
                self._allow_shared(shape.shared_mem)
        if shape.cluster is not None and shape.cluster[0] * shape.cluster[1] * shape.cluster[2] > _PORTABLE_CLUSTER:
            self.set_attribute("NON_PORTABLE_CLUSTER_SIZE_ALLOWED", 1, f"a cluster of {shape.cluster}")

    def _allow_shared(self, wanted: int) -> None:
        static = self.attribute("SHARED_SIZE_BYTES")
        if wanted + static <= _FREE_SHARED or wanted <= self.attribute("MAX_DYNAMIC_SHARED_SIZE_BYTES"):
            return
        most = self.device_attribute("MAX_SHARED_MEMORY_PER_BLOCK_OPTIN")
        if wanted + static > most:
            sizes = f"{wanted} bytes of dynamic shared memory" + f" and {static} static ones" * bool(static)
            limit = "CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN"
            raise LaunchError(f"{self.symbol.name}: {sizes}: a block has at most {most} on this device ({limit})")
        self.set_attribute("MAX_DYNAMIC_SHARED_SIZE_BYTES", wanted, f"{wanted} bytes of dynamic shared memory")

    def set_attribute(self, name: str, value: int, what: str) -> None:
        """Set an attribute of the kernel on its device. Raises LaunchError, which says ``what`` the driver refused."""
        try:
            call("cuKernelSetAttribute", _attribute(name), value, self.handle, cuda().CUdevice(self.ordinal))
        except DriverError as error:
            raise LaunchError(f"{self.symbol.name}: {what}: {error}") from error


def _attribute(name: str) -> Any:  # CUfunction_attribute
    return getattr(cuda().CUfunction_attribute, f"CU_FUNC_ATTRIBUTE_{name}")


def load_image(image: Image, symbol: Symbol, scope: str) -> Loaded:
    """Return a kernel of an image, loaded for the current context. The rest is as in ``Libraries.load``."""
    context_id, device = current_context_id(), current_device()
    library, handle, function = LIBRARIES.load(image, symbol.lowered, device.capability, scope)
    return Loaded(image, symbol, library, handle, function, context_id, device.ordinal)
